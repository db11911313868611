/* SPDX-License-Identifier: Apache-2.0 */
/* Wrapped programs of a plan: what their covers know, and where the real ones are. Pure. */
#ifndef ABX_PLAN_WRAPS_H
#define ABX_PLAN_WRAPS_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "plan/facts.h"
#include "plan/plan.h"
#include "policy/policy.h"

#define WRAPS_NO_OP UINT32_MAX

/*
 * wraps: for each target of the facts the number of its MOUNT_WRAP among plan->mounts, or
 * WRAPS_NO_OP. Gives these operations their words, and adds the real programs and the scripts
 * behind the other operations.
 */
int32_t wraps_compile(const struct policy *policy, const struct facts *facts, const uint32_t *wraps,
                      struct arena *arena, struct plan *plan, abx_error **err);

#endif
