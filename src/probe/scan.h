/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the machine for a policy: the only part of deciding that makes system calls. Changes
 * nothing, opens nothing that could block, follows no link in a place that a pattern is searched
 * in.
 *
 * What is found: who we are and where; each rule's canonical path, pattern by pattern; the git
 * repository around the working directory; the names of names.def in every writable root (absent
 * ones are protected in the first SCAN_MAX_NAME_ROOTS roots that are named by an exact path, the
 * working directory first); second mounts that would show what a rule hides.
 */
#ifndef ABX_PROBE_SCAN_H
#define ABX_PROBE_SCAN_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/facts.h"
#include "policy/policy.h"

#define SCAN_MAX_ENTRIES    200000u /* looked at for all patterns together */
#define SCAN_MAX_DEPTH      128u
#define SCAN_MAX_NAME_ROOTS 24u

/* cwd NULL: the process's own. The facts refer to the rules of policy: same arena, or as long. */
int32_t scan_facts(const struct policy *policy, const char *cwd, struct arena *arena,
                   const struct facts **ret, abx_error **err);

#endif
