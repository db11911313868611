/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this host can do, found out by doing it: each layer is tried in a child of its own, which
 * then ends. One STATUS_PROBE message a try. Kernel versions are not looked at.
 */
#include <asm/signal.h>
#include <linux/mount.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#include "launcher/launcher.h"

struct attempt {
    const char *name;
    unsigned long flags;
    long (*run)(struct launch *l);
};

static long try_nothing(struct launch *l)
{
    (void)l;
    return 0;
}

static long try_mounts(struct launch *l)
{
    (void)l;
    long r = file_open_at(SYS_AT_FDCWD, "/dev");
    if (r >= 0)
        r = mountapi_clone_at(SYS_AT_FDCWD, "/dev/null");
    if (r >= 0)
        r = mountapi_close_view();
    if (r < 0)
        return r;
    long fd = mountapi_tmpfs(65536, "0755", MOUNT_ATTR_NOSUID);
    long target = fd < 0 ? fd : file_open_path("/dev");
    return target < 0 ? target : mountapi_attach((int)fd, (int)target);
}

/* Pid 1 joins what a helper has made. A descriptor that is none: a filter may speak first. */
static long try_network(struct launch *l)
{
    long r = SYS2(__NR_setns, -1, 0);

    return r == -EBADF ? netns_loopback(l) : r;
}

/* What every back end needs. */
static long try_close_range(struct launch *l)
{
    (void)l;
    return SYS3(__NR_close_range, LAUNCH_FD_FREE, ~0u, 0);
}

static long try_pidfd(struct launch *l)
{
    (void)l;
    return SYS2(__NR_pidfd_open, TRY0(__NR_getpid), 0);
}

static long try_proc(struct launch *l)
{
    const struct mount_op op = { .kind = MOUNT_PROC, .path = "/proc" };
    long r = view_prepare(l);

    return r < 0 ? r : proc_mount(l, &op);
}

/* Is pid_max the namespace's own? limit_pids (linux/devproc.c) takes care that it is not the
 * host's. */
static long try_pid_limit(struct launch *l)
{
    char text[16] = "";

    l->plan.pid_max = 4000;
    l->plan.layers = LAYER_BIT(LAYER_LIMITS);
    long r = try_proc(l);
    if (r < 0)
        return r;
    long fd = SYS4(__NR_openat, SYS_AT_FDCWD, "/proc/sys/kernel/pid_max",
                   SYS_O_RDONLY | SYS_O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    (void)TRY3(__NR_read, fd, text, sizeof text - 1);
    return text_eq(text, "4000\n") ? 0 : -EACCES;
}

/* A filter that lets everything through, with a listener: an outer one may be in the way. */
static long try_notify(struct launch *l)
{
    static const uint64_t allow_all[] = { 0x7fff000000000006 };
    const struct plan_filter filter = { ARRAY_LEN(allow_all), allow_all };

    (void)l;
    long r = SYS5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return r < 0 ? r : notify_listen(&filter);
}

static const struct attempt attempts[] = {
    { "userns", CLONE_NEWUSER, try_nothing },
    { "mounts", CLONE_NEWUSER | CLONE_NEWNS, try_mounts },
    { "pidns", CLONE_NEWUSER | CLONE_NEWPID, try_nothing },
    { "proc", CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, try_proc },
    { "netns", CLONE_NEWUSER | CLONE_NEWNET, try_network },
    { "ipcns", CLONE_NEWUSER | CLONE_NEWIPC, try_nothing },
    { "utsns", CLONE_NEWUSER | CLONE_NEWUTS, try_nothing },
    { "cgroupns", CLONE_NEWUSER | CLONE_NEWCGROUP, try_nothing },
    { "notify", 0, try_notify },
    { "pidlimit", CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, try_pid_limit },
    { "close_range", 0, try_close_range },
    { "pidfd_open", 0, try_pidfd },
};

static ATTR_NORETURN void attempt_child(struct launch *l, const struct attempt *a)
{
    long r = a->flags & CLONE_NEWUSER ? userns_map_self(l) : 0;

    if (r >= 0)
        r = a->run(l);
    launcher_exit(r < 0 ? (int)-r : 0); /* the exit code is the errno */
}

static long attempt_run(struct launch *l, const struct attempt *a)
{
    int sync[2], status = 0;
    long r = SYS2(__NR_pipe2, sync, SYS_O_CLOEXEC);

    if (r < 0)
        return r;
    l->sync_fd = sync[0];
    long pid = SYS5(__NR_clone, a->flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        file_close(sync[1]);
        attempt_child(l, a);
    }
    r = pid;
    if (pid > 0 && l->plan.map_all_ids && (a->flags & CLONE_NEWUSER))
        r = userns_map_child(l, (int)pid);
    if (r >= 0)
        r = SYS3(__NR_write, sync[1], "m", 1);
    file_close(sync[0]);
    file_close(sync[1]);
    if (pid < 0)
        return pid;
    long waited = SYS4(__NR_wait4, pid, &status, 0, 0);
    if (r < 0 || waited < 0)
        return r < 0 ? r : waited;
    return (status & 0x7f) ? -EIO : -(status >> 8 & 0xff);
}

int probe_run(void)
{
    struct launch l = {
        .plan = {
            .uid = (uint32_t)TRY0(__NR_geteuid),
            .gid = (uint32_t)TRY0(__NR_getegid),
            .map_all_ids = TRY0(__NR_geteuid) == 0 && userns_has_all_ids(),
        },
    };

    for (size_t i = 0; i < ARRAY_LEN(attempts); i++)
        report_probe(attempts[i].name, attempt_run(&l, &attempts[i]), 0);

    long abi = landlock_abi();
    report_probe("landlock", abi < 0 ? abi : 0, abi < 0 ? 0 : (int)abi);

    uint32_t action = SECCOMP_RET_ERRNO;
    report_probe("seccomp", SYS3(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action), 0);
    return 0;
}
