/* SPDX-License-Identifier: Apache-2.0 */
/* What a wrapper knows, in the form in which it lies in its program. Pure; also in the launcher. */
#ifndef ABX_PLAN_SLOT_H
#define ABX_PLAN_SLOT_H

#include "plan/plan.h"

/* The words of op, a MOUNT_WRAP of the plan, each with its NUL. -errno: they are none, or too long.
 */
int slot_fill(const struct plan *plan, const struct mount_op *op, struct wrap_slot *slot);

#endif
