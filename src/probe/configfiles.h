/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration files: where they are, and their bytes, read once. What is decided about a file is
 * decided about these bytes.
 */
#ifndef ABX_PROBE_CONFIGFILES_H
#define ABX_PROBE_CONFIGFILES_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/sha256.h"
#include "policy/settings.h"

#define CONFIGFILES_MAX_BYTES ((size_t)1 << 20)
#define CONFIGFILES_MAX_DEPTH 128 /* directories looked at for a project's file */

struct configfile {
    enum origin origin;    /* SYSTEM, GLOBAL or PROJECT */
    const char *path;      /* canonical; if there is none: where it was looked for */
    const char *directory; /* of the file */
    const char *hides;     /* the project's: the file further up that counts without it, or NULL */
    const char *text;      /* NULL: there is no file */
    size_t len;
    uint8_t digest[SHA256_BYTES];
};

struct configfiles_request {
    const char *cwd;  /* NULL: the process's own */
    const char *file; /* instead of a project's file; relative to cwd. NULL: it is looked for */
    bool system_only;
};

#define CONFIGFILES_COUNT 3
/* In the order of their strength. */
int32_t configfiles_find(const struct configfiles_request *request, struct arena *arena,
                         struct configfile ret[CONFIGFILES_COUNT], abx_error **err);

/* One file by name, with the same checks: for `config validate`. */
int32_t configfiles_read(const char *cwd, const char *file, enum origin origin, struct arena *arena,
                         struct configfile *ret, abx_error **err);

/* Whose it is, by the directory that it lies in. */
int32_t configfiles_origin(const char *cwd, const char *file, struct arena *arena, enum origin *ret,
                           abx_error **err);

/* The canonical path that such a file has or would have. */
int32_t configfiles_name(const char *cwd, const char *file, struct arena *arena, const char **ret,
                         abx_error **err);

/* $HOME, else what the account says; NULL: unknown. */
const char *configfiles_home(struct arena *arena);

#endif
