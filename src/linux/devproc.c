/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /dev and /proc of the sandbox.
 *
 * /dev is a directory of a small tmpfs with six harmless nodes of the host (bound, since a user
 * namespace may not make nodes), its own pseudo terminals and its own shm. /proc is new, of the new
 * pid namespace, and read-only: what can be written there changes the host (sysctl, sysrq) or
 * belongs to nobody's work. The limit on pids is written while it can still be.
 */
#include <linux/mount.h>
#include <linux/prctl.h>
#include <linux/securebits.h>
#include <linux/stat.h>
#include <linux/utsname.h>

#include "linux/launch.h"

/* Only pid 1 writes it: at most PLAN_MAX_WRAPS copies of the wrapper, and little else. */
#define SOURCE_BYTES ((uint64_t)32 << 20)
#define OOM_SCORE    500                  /* as if it used half of the machine's memory besides */
#define DEV_LEN      (sizeof "/dev/" - 1) /* the name in it follows */

static const char *const dev_paths[DEV_NODE_COUNT] = { "/dev/null",   "/dev/zero",    "/dev/full",
                                                       "/dev/random", "/dev/urandom", "/dev/tty" };
static const char *const dev_links[][2] = {
    { "fd", "/proc/self/fd" },       { "stdin", "/proc/self/fd/0" },
    { "stdout", "/proc/self/fd/1" }, { "stderr", "/proc/self/fd/2" },
    { "ptmx", "pts/ptmx" },
};

/*
 * The host's nodes, before its /dev is closed to us. They are the same files outside: read-only, or
 * root's command could change their mode and owner. Devices are read and written all the same.
 */
static long open_nodes(struct launch *l)
{
    for (size_t i = 0; i < DEV_NODE_COUNT; i++) {
        struct file_id id;

        l->object = dev_paths[i];
        long tree = mountapi_clone_at(SYS_AT_FDCWD, dev_paths[i]);
        if (tree < 0)
            return tree;
        l->dev_nodes[i] = (int)tree;
        long r = file_identify((int)tree, &id);
        if (r < 0 || (id.mode & S_IFMT) != S_IFCHR)
            return r < 0 ? r : -ENODEV;
        r = mountapi_set((int)tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
                         false);
        if (r < 0)
            return r;
    }
    return 0;
}

/* By the old calls: bwrap is for hosts that lack the new ones, too. */
long dev_close(struct launch *l)
{
    const unsigned long bind = 4096, closed = 1 | 2 | 8 | 32; /* ro, nosuid, noexec; remount */
    long r = 0;

    for (size_t i = 0; i < DEV_NODE_COUNT && r >= 0; i++) {
        l->object = dev_paths[i];
        r = SYS5(__NR_mount, l->object, l->object, 0, bind, 0);
        if (r >= 0)
            r = SYS5(__NR_mount, 0, l->object, 0, bind | closed, 0);
    }
    return r;
}

/* The directory that becomes /dev: its links, and names for everything that is mounted there. */
static long make_dev(struct launch *l)
{
    l->object = "/dev";
    long r = SYS3(__NR_mkdirat, l->source_fd, "dev", 0755);
    long dev = r < 0 ? r
                     : SYS4(__NR_openat, l->source_fd, "dev",
                            SYS_O_PATH | SYS_O_DIRECTORY | SYS_O_CLOEXEC, 0);

    if (dev < 0)
        return dev;
    /* One file with as many names: each is covered by a node. */
    r = SYS4(__NR_mknodat, dev, dev_paths[0] + DEV_LEN, S_IFREG | 0666, 0);
    for (size_t i = 1; i < DEV_NODE_COUNT && r >= 0; i++)
        r = SYS5(__NR_linkat, dev, dev_paths[0] + DEV_LEN, dev, dev_paths[i] + DEV_LEN, 0);
    for (size_t i = 0; i < ARRAY_LEN(dev_links) && r >= 0; i++)
        r = SYS3(__NR_symlinkat, dev_links[i][1], dev, dev_links[i][0]);
    if (r >= 0)
        r = SYS3(__NR_mkdirat, dev, "pts", 0755);
    if (r >= 0)
        r = SYS3(__NR_mkdirat, dev, "shm", 0755);
    file_close((int)dev);
    return r;
}

/* The nodes and the terminals, below a /dev that is attached or, since 6.15, still detached. */
static long furnish(struct launch *l, int dev)
{
    long r = 0;

    for (size_t i = 0; i < DEV_NODE_COUNT && r >= 0; i++) {
        l->object = dev_paths[i];
        r = mountapi_attach_at(l->dev_nodes[i], dev, dev_paths[i] + DEV_LEN);
    }
    l->object = r < 0 ? l->object : "/dev/pts";
    return r < 0 ? r : mountapi_attach_at(l->devpts_fd, dev, "pts");
}

/* A /dev that only needs its place. Before 6.15 there is no copy of what has no place itself. */
static long furnish_early(struct launch *l)
{
    l->dev_fd = (int)TRY3(__NR_open_tree, l->source_fd, "dev",
                          OPEN_TREE_CLONE | SYS_O_CLOEXEC | SYS_AT_NOFOLLOW);
    return l->dev_fd < 0 ? 0 : furnish(l, l->dev_fd);
}

/* Private since 4.7: every devpts mount is an instance of its own. */
static long new_devpts(void)
{
    long fs = SYS2(__NR_fsopen, "devpts", FSOPEN_CLOEXEC);

    if (fs < 0)
        return fs;
    long r = SYS5(__NR_fsconfig, fs, FSCONFIG_SET_STRING, "ptmxmode", "0666", 0);
    if (r >= 0)
        r = SYS5(__NR_fsconfig, fs, FSCONFIG_SET_STRING, "mode", "0620", 0);
    if (r >= 0)
        r = SYS5(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
    if (r >= 0)
        r = SYS3(__NR_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    file_close((int)fs);
    return r;
}

static long mount_shm(int dev, uint64_t bytes)
{
    long tree = mountapi_tmpfs(bytes, "1777", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    return tree < 0 ? tree : mountapi_attach_at((int)tree, dev, "shm");
}

long dev_mount(struct launch *l, const struct mount_op *op)
{
    const bool early = l->dev_fd >= 0;
    long dev = early ? l->dev_fd : mountapi_clone_at(l->source_fd, "dev");

    if (dev < 0)
        return dev;
    long target = file_open_path(op->path);
    if (target < 0)
        return target;
    long r = mountapi_attach((int)dev, (int)target);
    file_close((int)target);
    if (r >= 0 && !early)
        r = furnish(l, (int)dev);
    if (r >= 0) {
        l->object = "/dev/shm";
        r = mount_shm((int)dev, op->size);
    }
    l->object = op->path;
    if (r >= 0)
        r = mountapi_set((int)dev, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, false);
    file_close((int)dev);
    return r;
}

static int open_sysctl(int proc, const char *path)
{
    return (int)TRY4(__NR_openat, proc, path, SYS_O_WRONLY | SYS_O_CLOEXEC, 0);
}

/* Since 6.14 each pid namespace has a pid_max; before, the file is the whole host's. */
static bool has_own_pid_max(void)
{
    const uint64_t major = 6, minor = 14;
    struct new_utsname name;

    if (TRY1(__NR_uname, &name) < 0)
        return false;
    const char *s = name.release;
    const uint64_t first = text_to_u64(s);
    while (*s && *s != '.')
        s++;
    return first > major || (first == major && *s && text_to_u64(s + 1) >= minor);
}

/*
 * The host's root may write the host's sysctls by his number alone, without any capability. In a
 * user namespace that number may be any, so it is tried, on a file that is always the host's. One
 * who has all ids is the root that he seems to be, and knows (limit_pids, plan/mounts.c).
 */
static bool is_hosts_root(const struct launch *l)
{
    int fd = l->plan.map_all_ids ? -1 : open_sysctl(l->proc_fd, "sys/kernel/threads-max");

    file_close(fd);
    return fd >= 0;
}

static long new_proc(void)
{
    long fs = SYS2(__NR_fsopen, "proc", FSOPEN_CLOEXEC);

    if (fs < 0)
        return fs;
    long r = SYS5(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
    if (r >= 0)
        r = SYS3(__NR_fsmount, fs, FSMOUNT_CLOEXEC,
                 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    file_close((int)fs);
    return r;
}

static bool write_number(int fd, uint64_t value)
{
    char text[24] = "";

    if (fd < 0)
        return false;
    text_append_u64(text, sizeof text, value);
    return TRY3(__NR_write, fd, text, text_len(text)) > 0;
}

/*
 * Without a control group nothing bounds shared memory: where it is used up, the kernel is to look
 * here first. Everything inside has what pid 1 has, and cannot change it, for /proc is read-only.
 */
static void volunteer(const struct launch *l)
{
    char text[16] = "";

    if (l->grouped)
        return;
    int fd = (int)TRY4(__NR_openat, l->proc_fd, "self/oom_score_adj", SYS_O_RDWR | SYS_O_CLOEXEC,
                       0);
    if (fd >= 0 && TRY3(__NR_read, fd, text, sizeof text - 1) > 0 && text_to_u64(text) < OOM_SCORE)
        (void)write_number(fd, OOM_SCORE);
    file_close(fd);
}

/* The count starts behind PLAN_FIRST_PIDS: then there is no first round that allows more. */
static void write_pid_max(const struct launch *l)
{
    if (write_number(l->pid_max_fd, l->plan.pid_max))
        (void)write_number(l->last_pid_fd, PLAN_FIRST_PIDS);
}

/*
 * Where pid_max is the host's (before 6.14), an ordinary user is refused when he writes it, but the
 * host's root is let through. So root writes as another effective uid, with its capabilities kept:
 * they count in our own namespace and nowhere else. One who has no other does not write. Where the
 * write is refused, RLIMIT_NPROC is the limit; `doctor` says which one a run gets.
 */
static void limit_pids(const struct launch *l)
{
    const struct plan *p = &l->plan;
    const unsigned nobody = 65534;

    if (!p->pid_max || !(p->layers & LAYER_BIT(LAYER_LIMITS)))
        return;
    if (!p->map_all_ids) {
        write_pid_max(l);
        return;
    }
    if (TRY2(__NR_prctl, PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) < 0 ||
        TRY3(__NR_setresuid, -1, nobody, -1) < 0)
        return;
    write_pid_max(l);
    (void)TRY3(__NR_setresuid, -1, 0, -1); /* the saved uid is 0: cannot be refused */
}

long proc_mount(struct launch *l, const struct mount_op *op)
{
    int proc = l->proc_fd;

    limit_pids(l);
    file_close(l->pid_max_fd);
    file_close(l->last_pid_fd);
    long r = 0;
    if (!(op->flags & MOUNT_WRITABLE) || l->hosts_root)
        r = mountapi_set(proc, MOUNT_ATTR_RDONLY, false);
    long target = r < 0 ? r : file_open_path(op->path);
    if (target < 0)
        return target;
    r = mountapi_attach(proc, (int)target);
    file_close((int)target);
    file_close(proc);
    return r;
}

/*
 * What every view needs and no plan changes: file systems of our own, detached, and the host's
 * nodes. Made while the host still looks at files, so it costs no time.
 */
long view_prepare(struct launch *l)
{
    long r = open_nodes(l);

    if (r < 0)
        return r;
    l->pid_max_fd = -1;
    l->object = "devpts";
    r = new_devpts();
    l->devpts_fd = (int)r;
    if (r >= 0) {
        l->object = "/proc";
        r = new_proc();
        l->proc_fd = (int)r;
        l->hosts_root = r >= 0 && is_hosts_root(l);
        if (!l->hosts_root || has_own_pid_max())
            l->pid_max_fd = open_sysctl(l->proc_fd, "sys/kernel/pid_max"); /* or not: limit_pids */
        l->last_pid_fd = open_sysctl(l->proc_fd, "sys/kernel/ns_last_pid");
        if (r >= 0)
            volunteer(l);
    }
    if (r >= 0) {
        l->object = "tmpfs";
        r = mountapi_tmpfs(SOURCE_BYTES, "000", MOUNT_ATTR_NOSUID);
        l->source_fd = (int)r;
    }
    if (r >= 0)
        r = SYS3(__NR_mkdirat, l->source_fd, MASK_DIR_NAME, 0);
    if (r >= 0)
        r = SYS4(__NR_mknodat, l->source_fd, MASK_FILE_NAME, S_IFREG, 0);
    if (r >= 0)
        r = make_dev(l);
    return r < 0 ? r : furnish_early(l);
}
