/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical paths, found component by component with descriptors, of any length. */
#ifndef ABX_PROBE_RESOLVE_H
#define ABX_PROBE_RESOLVE_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "plan/facts.h"
#include "probe/names.h"

#define RESOLVE_MAX_LINKS 40
#define RESOLVE_MAX_PATH  ((size_t)1 << 20)

/* A directory to start from. */
struct resolve_base {
    int fd;                    /* O_PATH */
    const char *path;          /* canonical */
    const struct names *names; /* what is in it, or NULL: not read */
};

struct resolved {
    const char *path; /* canonical; absent components as written, without "." and ".." */
    bool exists, is_dir;
    bool denied; /* it ends at a directory that cannot be entered: what lies below is unknown */
    uint64_t dev, ino;
    /* Absent: the deepest directory that exists; NULL: it cannot come to exist. */
    const char *ancestor;
    const struct pin_fact *pins; /* symlinks on the way, and a file where a directory was meant */
    uint32_t pin_count;
};

/*
 * text is absolute, or relative to base. That a path is absent, or leads in circles, is a result;
 * an error is only what the system or memory refuses.
 */
int32_t resolve_path(struct arena *arena, const struct resolve_base *base, const char *text,
                     struct resolved *ret, abx_error **err);

/* For rules that say nothing about what is absent: one look is enough to drop them. */
bool resolve_is_absent(const struct resolve_base *base, const char *text);

#endif
