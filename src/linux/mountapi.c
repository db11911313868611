/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's mount interface by descriptors (open_tree, move_mount, mount_setattr, fsopen…;
 * kernel 5.12). No path is looked up twice: a mount lands on the very directory entry that was
 * opened.
 */
#include <linux/mount.h>

#include "linux/launch.h"

#define MS_PRIVATE_PROPAGATION (1u << 18)
#define BYTES_PER_ENTRY        2048 /* half a page: files have one, directories and links none */
#define ENTRIES_LEAST          1024

static long set_number(long fs, const char *key, uint64_t value)
{
    char text[24] = "";

    text_append_u64(text, sizeof text, value);
    return SYS5(__NR_fsconfig, fs, FSCONFIG_SET_STRING, key, text, 0);
}

long mountapi_tmpfs(uint64_t bytes, const char *mode, uint64_t attr)
{
    long fs = SYS2(__NR_fsopen, "tmpfs", FSOPEN_CLOEXEC);

    if (fs < 0)
        return fs;

    long r = set_number(fs, "size", bytes);
    if (r >= 0) /* empty ones are the kernel's memory, too */
        r = set_number(fs, "nr_inodes", bytes / BYTES_PER_ENTRY + ENTRIES_LEAST);
    if (r >= 0)
        r = SYS5(__NR_fsconfig, fs, FSCONFIG_SET_STRING, "mode", mode, 0);
    if (r >= 0)
        r = SYS5(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
    if (r >= 0)
        r = SYS3(__NR_fsmount, fs, FSMOUNT_CLOEXEC, attr);
    file_close((int)fs);
    return r;
}

#define CLONE_FLAGS (OPEN_TREE_CLONE | SYS_O_CLOEXEC /* OPEN_TREE_CLOEXEC */)

long mountapi_clone(int fd)
{
    return SYS3(__NR_open_tree, fd, "", CLONE_FLAGS | SYS_AT_EMPTY_PATH | SYS_AT_RECURSIVE);
}

long mountapi_clone_at(int fd, const char *name)
{
    return SYS3(__NR_open_tree, fd, name, CLONE_FLAGS | SYS_AT_NOFOLLOW);
}

/* Private as well: a copy would follow what the host mounts below its original. */
long mountapi_set(int fd, uint64_t set, bool recursive)
{
    struct mount_attr attr = { .attr_set = set, .propagation = MS_PRIVATE_PROPAGATION };

    return SYS5(__NR_mount_setattr, fd, "", SYS_AT_EMPTY_PATH | (recursive ? SYS_AT_RECURSIVE : 0),
                &attr, sizeof attr);
}

long mountapi_close_view(void)
{
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        .propagation = MS_PRIVATE_PROPAGATION,
    };

    return SYS5(__NR_mount_setattr, SYS_AT_FDCWD, "/", SYS_AT_RECURSIVE, &attr, sizeof attr);
}

long mountapi_attach_at(int tree, int dir, const char *name)
{
    return SYS5(__NR_move_mount, tree, "", dir, name, MOVE_MOUNT_F_EMPTY_PATH);
}

long mountapi_attach(int tree, int target)
{
    return SYS5(__NR_move_mount, tree, "", target, "",
                MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}
