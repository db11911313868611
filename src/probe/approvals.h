/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that the user has approved for good, by their keys (classify/key.h). The records lie in
 * `approvals` in the state directory, which is hidden from every sandbox; to take one back, remove
 * its file: it says which command it is about.
 */
#ifndef ABX_PROBE_APPROVALS_H
#define ABX_PROBE_APPROVALS_H

#include "base/defs.h"
#include "base/err.h"

/* state_dirs: as state_directories gives them. */
bool approvals_has(const char *const *state_dirs, const char *key);
/* about: lines for people. */
int32_t approvals_add(const char *const *state_dirs, const char *key, const char *about,
                      abx_error **err);

#endif
