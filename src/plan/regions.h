/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a walk over the sorted nodes (nodes.h) stands: the directories above it at which the access
 * changes. A region's access holds below it until a deeper node says otherwise. Pure.
 */
#ifndef ABX_PLAN_REGIONS_H
#define ABX_PLAN_REGIONS_H

#include "base/arena.h"
#include "base/defs.h"
#include "plan/nodes.h"

struct region {
    const char *path;
    uint32_t access;        /* enum access: the lesser of the next two */
    uint32_t uncapped, cap; /* by the rules; by the ceilings on the way */
    bool is_root;           /* a writable root */
    uint32_t state;         /* mounts.c: what the mounts make of it */
    uint32_t mask;          /* mounts.c: the MASK_DIR that may have to become a tmpfs */
};

struct regions {
    struct region *list; /* the first one, "/", is always there */
    size_t count, room;
};

/* false: out of memory. */
bool regions_push(struct regions *r, struct arena *arena, const struct region *region);
struct region *regions_top(const struct regions *r);
/* Drops those that path does not lie in; never the first. */
void regions_leave(struct regions *r, const char *path);
/* Whether a name that counts only in this writable root (NULL: everywhere) counts here. */
bool regions_name_counts(const struct regions *r, const char *name_root);
/*
 * The region that a NODE_RULE or NODE_TOP opens below the top one, otherwise as that is; *ret_rule
 * (may be NULL afterwards) is the rule that counts. false: the node says nothing.
 */
bool regions_open(const struct regions *r, const struct node *n, struct region *ret,
                  const struct policy_rule **ret_rule);

#endif
