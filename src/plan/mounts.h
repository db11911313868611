/* SPDX-License-Identifier: Apache-2.0 */
/* The mount view, the Landlock rules and the placeholders of a plan. Pure. */
#ifndef ABX_PLAN_MOUNTS_H
#define ABX_PLAN_MOUNTS_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "plan/facts.h"
#include "plan/plan.h"
#include "policy/policy.h"

/* Fills mounts, rules and holds of plan, with their counts. */
int32_t mounts_compile(const struct policy *policy, const struct facts *facts, struct arena *arena,
                       struct plan *plan, abx_error **err);

#endif
