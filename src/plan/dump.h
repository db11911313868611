/* SPDX-License-Identifier: Apache-2.0 */
/* A plan for people and for programs. Pure. */
#ifndef ABX_PLAN_DUMP_H
#define ABX_PLAN_DUMP_H

#include "base/buf.h"
#include "base/err.h"
#include "plan/plan.h"

/*
 * format is "text" (sections in the order of enforcement, one line an item, with its reason) or
 * "json" (everything but filter programs and values of variables; keys are stable). Appends to out.
 */
int32_t plan_dump(const struct plan *plan, const char *format, struct buf *out, abx_error **err);

/* "mounts", "landlock", …; "?" beyond LAYER_NAME_COUNT. */
const char *plan_layer_name(uint32_t layer);
/* "bind-rw", "mask-dir", … */
const char *plan_mount_name(uint32_t kind);

#endif
