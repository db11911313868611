/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that the user has approved for good, by their keys (classify/key.h). The records lie in
 * `approvals` in the state directory, which is hidden from every sandbox; each says which command
 * it is about.
 */
#ifndef ABX_PROBE_APPROVALS_H
#define ABX_PROBE_APPROVALS_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/sha256.h"

/* What a record tells; texts as they were shown, cut to APPROVAL_MAX_TEXT bytes, "" if unknown. */
#define APPROVAL_MAX_TEXT ((size_t)4096)
struct approval {
    char key[SHA256_HEX_BYTES];
    int64_t time; /* when it was given, in seconds since 1970 */
    const char *command, *part, *rule, *cwd;
};

/* state_dirs: as state_directories gives them. */
bool approvals_has(const char *const *state_dirs, const char *key);
/* about: lines for people. */
int32_t approvals_add(const char *const *state_dirs, const char *key, const char *about,
                      abx_error **err);
/* All of them, the newest first. */
int32_t approvals_list(const char *const *state_dirs, struct arena *arena,
                       const struct approval **ret, size_t *ret_count, abx_error **err);
/* Takes one back, wherever it is kept. */
int32_t approvals_take(const char *const *state_dirs, const char *key, abx_error **err);

#endif
