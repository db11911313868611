/* SPDX-License-Identifier: Apache-2.0 */
/* A repository that a command made, and what git would run on entering it. */
#ifndef ABX_PROBE_REMAINS_REPO_H
#define ABX_PROBE_REMAINS_REPO_H

#include <sys/stat.h>
#include <time.h>

#include "base/arena.h"
#include "base/defs.h"

/* What was there before the command. */
struct remains_known {
    uint64_t dev, ino; /* of a .git */
};
struct remains_before {
    struct timespec time;
    const struct remains_known *known;
    size_t known_count;
};

/* Made, moved or changed since; no command can set that time back. */
bool remains_is_newer(const struct remains_before *b, const struct stat *st);
/*
 * What git in this directory would run because of a repository that is new there, for people
 * ("core.fsmonitor", "hooks/pre-commit"); NULL: nothing, or there is no new one. bare: the
 * directory may also be one itself.
 */
const char *remains_runs(const struct remains_before *b, const char *path, bool bare,
                         struct arena *arena);

#endif
