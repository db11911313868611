/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks that tell who looked: two file systems of FUSE, one whose root is a directory and one whose
 * root is a file, each the source of all masks of its kind. Launcher/masks.c serves them.
 *
 * Nothing depends on them: where /dev/fuse cannot be opened (many hosts keep it for root) or the
 * kernel refuses the mount, the plain masks take their place. Until the server runs nobody may ask
 * them anything: the asker would wait for itself. So set-up only ever mounts them, and compares
 * what the kernel knows without asking (file_identify_cached_at).
 */
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/stat.h>

#include "linux/launch.h"

#define OPEN_NONBLOCK 04000

static const char *const root_modes[MASK_KINDS] = { "40000", "100000" };
static const char *const mount_points[MASK_KINDS] = { MASK_DIR_NAME, MASK_FILE_NAME };

uint32_t mask_kind(const struct mount_op *op)
{
    return op->kind == MOUNT_MASK_DIR ? 0 : 1;
}

static bool is_wanted(const struct plan *p, uint32_t kind)
{
    for (uint32_t i = 0; p->reads && i < p->mount_count; i++)
        if ((p->mounts[i].flags & MOUNT_TELLS) && mask_kind(&p->mounts[i]) == kind)
            return true;
    return false;
}

static long set_number(long fs, const char *key, uint64_t value)
{
    char text[24] = "";

    (void)text_append_u64(text, sizeof text, value);
    return TRY5(__NR_fsconfig, fs, FSCONFIG_SET_STRING, key, text, 0);
}

static long make_tree(const struct plan *p, int device, uint32_t kind)
{
    const unsigned attrs = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                           MOUNT_ATTR_NOEXEC;
    long fs = TRY2(__NR_fsopen, "fuse", FSOPEN_CLOEXEC);

    if (fs < 0)
        return fs;
    long r = set_number(fs, "fd", (uint64_t)device);
    if (r >= 0)
        r = TRY5(__NR_fsconfig, fs, FSCONFIG_SET_STRING, "rootmode", root_modes[kind], 0);
    if (r >= 0)
        r = set_number(fs, "user_id", p->uid);
    if (r >= 0)
        r = set_number(fs, "group_id", p->gid);
    if (r >= 0)
        r = TRY5(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
    if (r >= 0)
        r = TRY3(__NR_fsmount, fs, FSMOUNT_CLOEXEC, attrs);
    file_close((int)fs);
    return r;
}

static void close_teller(struct mask_teller *t)
{
    file_close(t->device);
    file_close(t->tree);
    *t = (struct mask_teller){ .device = -1, .tree = -1 };
}

/* Above the numbers that have a meaning: which of them are free by now is chance. */
static int open_device(void)
{
    long fd = TRY4(__NR_openat, SYS_AT_FDCWD, "/dev/fuse",
                   SYS_O_RDWR | SYS_O_CLOEXEC | OPEN_NONBLOCK, 0);

    if (fd < 0 || fd > LAUNCH_FD_CWD)
        return (int)fd;
    long high = TRY3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, LAUNCH_FD_CWD + 1);
    file_close((int)fd);
    return (int)high;
}

/* The device is the host's: its nodes can be opened until the view is closed. */
long masks_open(struct launch *l)
{
    long r = 0;

    l->object = "masks";
    for (uint32_t kind = 0; kind < MASK_KINDS && r >= 0; kind++) {
        struct mask_teller *t = &l->tellers[kind];

        *t = (struct mask_teller){ .device = -1, .tree = -1 };
        if (!is_wanted(&l->plan, kind))
            continue;
        t->device = open_device();
        if (t->device >= 0)
            t->tree = (int)make_tree(&l->plan, t->device, kind);
        if (t->tree < 0)
            close_teller(t);
        else
            r = file_identify_cached_at(t->tree, "", &t->id);
    }
    return r;
}

/* Copies can only be taken from what is mounted somewhere: on the plain masks, below the new /dev.
 */
long masks_attach(struct launch *l)
{
    long r = 0;

    for (uint32_t kind = 0; kind < MASK_KINDS && r >= 0; kind++)
        if (l->tellers[kind].device >= 0)
            r = mountapi_attach_at(l->tellers[kind].tree, l->source_fd, mount_points[kind]);
    return r;
}

/* Of what mount_close keeps: their devices, in places of their own. */
long masks_keep(struct launch *l)
{
    for (uint32_t kind = 0; kind < MASK_KINDS; kind++) {
        struct mask_teller *t = &l->tellers[kind];
        const int place = LAUNCH_FD_MASKS + (int)kind;

        if (t->device < 0) {
            file_close(place);
            continue;
        }
        long r = SYS3(__NR_dup3, t->device, place, SYS_O_CLOEXEC);
        if (r < 0)
            return r;
        t->device = place;
        t->tree = -1;
    }
    return 0;
}
