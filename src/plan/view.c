/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan's mounts, sorted and searchable. The launcher applies the list from top to bottom with
 * parents first, so the deepest mount at or above a path decides it; of two at one path (a mount
 * point made in a tmpfs, then what is mounted there) the later one. Where there is none, the one
 * recursive mount_setattr has made the host's file read-only.
 */
#include "plan/view.h"

#include <stdlib.h>

#include "base/path.h"
#include "policy/policy.h"
#include "policy/precedence.h"

static int compare_entries(const void *left, const void *right)
{
    const struct view_entry *a = left, *b = right;
    int r = precedence_path_order(a->op->path, b->op->path);

    return r != 0 ? r : (a->op > b->op) - (a->op < b->op); /* one array: its order is theirs */
}

int32_t view_make(const struct plan *plan, struct arena *arena, struct view *ret, abx_error **err)
{
    struct view_entry *entries = arena_alloc(arena, plan->mount_count, sizeof *entries);
    uint32_t above = 0;

    if (!entries)
        return err_nomem(err);
    for (uint32_t i = 0; i < plan->mount_count; i++)
        entries[i].op = &plan->mounts[i];
    if (plan->mount_count)
        qsort(entries, plan->mount_count, sizeof *entries, compare_entries);
    for (uint32_t i = 0; i < plan->mount_count; i++) {
        while (above != i && !path_is_beneath(entries[i].op->path, entries[above].op->path))
            above = entries[above].parent != above ? entries[above].parent : i;
        entries[i].parent = above;
        above = i;
    }
    *ret = (struct view){ entries, plan->mount_count };
    return ABX_OK;
}

const struct mount_op *view_find(const struct view *view, const char *path)
{
    size_t low = 0, high = view->count;

    while (low < high) { /* the first entry behind path */
        size_t middle = low + (high - low) / 2;
        if (precedence_path_order(view->entries[middle].op->path, path) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i-- > 0;) {
        if (path_is_beneath(path, view->entries[i].op->path))
            return view->entries[i].op;
        if (view->entries[i].parent == i)
            return NULL;
        i = (size_t)view->entries[i].parent + 1;
    }
    return NULL;
}

uint32_t view_access(const struct view *view, const char *path)
{
    const struct mount_op *op = view_find(view, path);

    if (!op || op->kind == MOUNT_BIND_RO || op->kind == MOUNT_WRAP)
        return ACCESS_RO;
    return op->kind == MOUNT_BIND_RW || op->kind == MOUNT_PIN ? ACCESS_RW : ACCESS_EXCLUDE;
}
