/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack of regions, and how a rule's access comes about: a protection only narrows what holds
 * without it, a ceiling caps whatever a rule says, and names that are protected in writable roots
 * only do not count elsewhere. Mounts and Seatbelt profiles both come from here, so they agree.
 */
#include "plan/regions.h"

#include <string.h>

#include "base/path.h"
#include "base/str.h"

bool regions_push(struct regions *r, struct arena *arena, const struct region *region)
{
    struct region *list = arena_grow(arena, r->list, r->count, sizeof *list, 32, &r->room);

    if (!list)
        return false;
    r->list = list;
    r->list[r->count++] = *region;
    return true;
}

struct region *regions_top(const struct regions *r)
{
    return &r->list[r->count - 1];
}

void regions_leave(struct regions *r, const char *path)
{
    while (r->count > 1 && !path_is_beneath(path, regions_top(r)->path))
        r->count--;
}

bool regions_name_counts(const struct regions *r, const char *name_root)
{
    if (!name_root)
        return true;
    for (size_t i = r->count; i-- > 0;)
        if (r->list[i].is_root && str_eq(r->list[i].path, name_root))
            return true;
    return false;
}

bool regions_open(const struct regions *r, const struct node *n, struct region *ret,
                  const struct policy_rule **ret_rule)
{
    struct region new = *regions_top(r);
    bool counts = regions_name_counts(r, n->name_root);
    const struct policy_rule *rule = counts ? n->rule : n->without;
    bool protects = rule && (rule->flags & RULE_PROTECT) && !n->without;

    if (!n->exists || (!counts && !rule))
        return false;
    new.path = n->path;
    if (n->kind == NODE_RULE && rule)
        new.uncapped = protects ? MIN_OF(rule->access, new.uncapped) : rule->access;
    new.cap = MIN_OF(new.cap, n->cap);
    new.access = MIN_OF(new.uncapped, new.cap);
    new.is_root = new.access == ACCESS_RW &&rule && rule->access == ACCESS_RW;
    *ret = new;
    *ret_rule = rule;
    return true;
}
