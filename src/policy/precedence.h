/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rule decides a path. Pure.
 *
 * A claim is a rule with its canonical path; it speaks about that path and all below. For a path:
 *   1. the claim with the longest path wins;
 *   2. at equal length an exact path beats a pattern;
 *   3. then the later origin wins;
 *   4. then names.def yields to any other rule, and exclude beats ro beats rw.
 * A claim with RULE_PROTECT only narrows: where it wins, it counts as the stricter of itself and
 * what would hold without it, by another claim at the same path or else at its parent. Claims with
 * RULE_FINAL take no part in this: they are ceilings, and the strictest one that matches caps the
 * result. Where no claim matches, ACCESS_RO holds: readable, not writable.
 */
#ifndef ABX_POLICY_PRECEDENCE_H
#define ABX_POLICY_PRECEDENCE_H

#include "base/defs.h"
#include "policy/policy.h"

struct access_claim {
    const char *path; /* clean */
    const struct policy_rule *rule;
};

/* Order of paths in which a directory comes right before all that lies below it. */
int precedence_path_order(const char *a, const char *b);

/* > 0 if a beats b at the same path, < 0 if b does, 0 if they say the same. Neither is final. */
int precedence_compare(const struct policy_rule *a, const struct policy_rule *b);

/* The access at a path, and the rule that decides (NULL: none does). Takes time in claim_count. */
uint32_t precedence_verdict(const struct access_claim *claims, size_t claim_count, const char *path,
                            const struct policy_rule **ret_rule);

#endif
