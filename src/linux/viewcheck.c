/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both ways to make a view (mount.c, bubblewrap) ask about it in the end. The tree may be
 * written by others meanwhile, and nothing that its names say is believed.
 */
#include <linux/stat.h>

#include "linux/launch.h"

bool mount_is_unmakeable(const struct plan *p, const struct mount_op *op, int parent)
{
    const int writable = 2; /* W_OK */
    struct statx st;

    if (!(op->flags & MOUNT_HELD))
        return false;
    long r = SYS3(__NR_faccessat, parent, ".", writable);
    if (r == -EROFS)
        return true;
    return r == -EACCES && SYS5(__NR_statx, parent, "", SYS_AT_EMPTY_PATH, STATX_UID, &st) == 0 &&
           st.stx_uid != p->uid;
}

/*
 * Whoever writes the tree while it is looked at can show one mount under two names, by a rename
 * in between; what was meant for the other name then lies somewhere else, on a file of his choice.
 * If as many mounts are seen as were made, none does.
 */
long seen_init(struct launch *l, struct seen *s)
{
    uint32_t slots = 16;

    while (slots < 2 * l->plan.mount_count)
        slots *= 2;
    s->mounts = launch_alloc(l, slots, sizeof *s->mounts);
    s->last = slots - 1;
    return s->mounts ? 0 : -ENOMEM;
}

bool seen_before(struct seen *s, uint64_t mount)
{
    uint32_t at = (uint32_t)mount & s->last;

    for (; s->mounts[at]; at = (at + 1) & s->last)
        if (s->mounts[at] == mount)
            return true;
    s->mounts[at] = mount;
    return false;
}
