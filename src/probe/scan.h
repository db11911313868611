/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the machine for a policy: the only part of deciding that makes system calls. Changes
 * nothing, opens nothing that could block, follows no link in a place that a pattern is searched
 * in.
 *
 * What is found: who we are and where; each rule's canonical path, and every match of its patterns;
 * the git repository around the working directory; in every writable root the names of names.def
 * and repositories, name_depth levels deep (absent names are protected at the top of the first
 * SCAN_MAX_NAME_ROOTS roots that are named by an exact path, the working directory first); second
 * mounts that would show what a rule hides.
 */
#ifndef ABX_PROBE_SCAN_H
#define ABX_PROBE_SCAN_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/facts.h"
#include "policy/policy.h"

#define SCAN_MAX_ENTRIES    2000000u /* of directories, looked at in one scan */
#define SCAN_MAX_SECONDS    10       /* for one walk */
#define SCAN_MAX_DEPTH      128u
#define SCAN_MAX_NAME_ROOTS 24u

/* cwd NULL: the process's own. The facts refer to the rules of policy: same arena, or as long. */
int32_t scan_facts(const struct policy *policy, const char *cwd, struct arena *arena,
                   const struct facts **ret, abx_error **err);

/* The same within other limits than SCAN_MAX_ENTRIES and SCAN_MAX_SECONDS: for tests. */
struct scan_budget {
    uint32_t entries;
    int32_t seconds;
};
int32_t scan_facts_within(const struct scan_budget *budget, const struct policy *policy,
                          const char *cwd, struct arena *arena, const struct facts **ret,
                          abx_error **err);

/*
 * Whether dir answers to its name in another case, too, and that is a second name to the kernel: a
 * share whose server does not tell cases apart. What is covered can be reached by other spellings.
 */
bool scan_has_spellings(const char *dir);

#endif
