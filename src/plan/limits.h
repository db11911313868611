/* SPDX-License-Identifier: Apache-2.0 */
/* Resource limits of a plan. Pure. */
#ifndef ABX_PLAN_LIMITS_H
#define ABX_PLAN_LIMITS_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/facts.h"
#include "plan/plan.h"
#include "policy/policy.h"

/* Fills limits, limit_count and pid_max of plan. */
int32_t limits_compile(const struct policy *policy, const struct facts *facts, struct arena *arena,
                       struct plan *plan, abx_error **err);

#endif
