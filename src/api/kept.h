/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of a plan to explain refusals with (plan/explain_keep.c), once for all runs of a
 * manager whose plans say the same: a host may have hundreds in one project.
 */
#ifndef ABX_API_KEPT_H
#define ABX_API_KEPT_H

#include "api/internal.h"
#include "plan/explain.h"

struct kept;

/* A copy, or the one that the manager made last, if that is the same. NULL when out of memory. */
struct kept *kept_plan(abx_manager *manager, const struct explain_context *context);
const struct explain_context *kept_context(const struct kept *kept);
void kept_release(struct kept *kept); /* NULL: nothing */

#endif
