/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrappers: a program that is covered by ours (src/wrapper). Each cover is a copy of that in the
 * sandbox's tmpfs, with what it has to know written into its slot: read-only, executable and not
 * even readable, so that nothing inside can change or imitate it, and there is no file to look for.
 */
#include <linux/mount.h>

#include "linux/launch.h"
#include "plan/slot.h"

#define WRAP_ATTRS (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static long copy_program(const struct launch *l, int to)
{
    struct file_id id;
    int64_t from = 0;
    long r = file_identify(l->wrapper_fd, &id);

    while (r >= 0 && (uint64_t)from < id.size) {
        r = SYS4(__NR_sendfile, to, l->wrapper_fd, &from, id.size - (uint64_t)from);
        if (r == 0)
            r = -EIO;
    }
    return r < 0 ? r : 0;
}

long wrap_make(struct launch *l, const struct mount_op *op, uint32_t number)
{
    struct wrap_slot *slot = launch_alloc(l, 1, sizeof *slot);
    char name[24] = "w";

    if (!slot)
        return -ENOMEM;
    text_append_u64(name, sizeof name, number);
    long r = slot_fill(&l->plan, op, slot);
    if (r < 0)
        return r;
    long fd = SYS4(__NR_openat, l->source_fd, name,
                   SYS_O_WRONLY | SYS_O_CREAT | SYS_O_EXCL | SYS_O_CLOEXEC, WRAP_MODE);
    if (fd < 0)
        return fd;
    r = copy_program(l, (int)fd);
    if (r >= 0)
        r = SYS4(__NR_pwrite64, fd, slot, sizeof *slot, l->wrapper_slot);
    file_close((int)fd); /* nothing can be executed that is open for writing */
    if (r < 0)
        return r;
    long tree = mountapi_clone_at(l->source_fd, name);
    r = tree < 0 ? tree : mountapi_set((int)tree, WRAP_ATTRS, false);
    return r < 0 ? r : tree;
}
