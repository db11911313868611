/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock rules for a plan without mounts. */
#ifndef ABX_PROBE_ENUMERATE_H
#define ABX_PROBE_ENUMERATE_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/facts.h"
#include "plan/plan.h"

/*
 * Replaces plan->rules by rules that alone say what the plan's mounts would: whatever is read-only
 * or hidden below a grant is left out by granting everything beside it, entry by entry. Programs
 * that facts' commands block are left out of what may be executed.
 */
int32_t enumerate_rules(const struct facts *facts, struct arena *arena, struct plan *plan,
                        abx_error **err);
/* The same within another time than SCAN_MAX_SECONDS: for tests. */
int32_t enumerate_rules_within(int32_t seconds, const struct facts *facts, struct arena *arena,
                               struct plan *plan, abx_error **err);

#endif
