/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about the mounts of a plan: what lies at a path, once they are applied. Pure. */
#ifndef ABX_PLAN_VIEW_H
#define ABX_PLAN_VIEW_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "plan/plan.h"

struct view_entry {
    const struct mount_op *op;
    uint32_t parent; /* index of the nearest entry above it; its own: there is none */
};

struct view {
    const struct view_entry *entries; /* a directory comes before what lies below it */
    size_t count;
};

int32_t view_make(const struct plan *plan, struct arena *arena, struct view *ret, abx_error **err);

/* The operation that decides path (canonical): the deepest one at or above it; NULL: none. */
const struct mount_op *view_find(const struct view *view, const char *path);

/* How much of the host's own path is within reach: enum access. */
uint32_t view_access(const struct view *view, const char *path);

#endif
