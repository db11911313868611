/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: the host's child, outside of everything that it starts. It holds what must outlive
 * the sandbox by a moment (placeholders), and it is the one whose death takes the sandbox along
 * (PDEATHSIG in pid 1: this process has one thread, so that signal is exact).
 *
 *   host gone (lifeline closes)   -> pid 1 is killed, and with it every process inside; without a
 *                                    pid namespace it has some time to end them itself, which it
 *                                    can do better; what it leaves comes to us and is killed
 *   pid 1 gone                    -> placeholders are removed, and the control group once the host
 *                                    has read it; its exit code is passed on
 *   a signal for the command      -> passed to pid 1, which knows whom it is for
 */
#include <asm/poll.h>
#include <asm/signal.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/time_types.h>

#include "launcher/launcher.h"

#define PATIENCE_SECONDS 10
#define HOST_SECONDS     2

/* All but the network's, which pid 1 has made for it (linux/netns.c). */
static unsigned long namespace_flags(const struct plan *p)
{
    static const struct {
        uint32_t layer;
        unsigned long flag;
    } table[] = {
        { LAYER_USERNS, CLONE_NEWUSER }, { LAYER_MOUNTS, CLONE_NEWNS },
        { LAYER_PIDNS, CLONE_NEWPID },   { LAYER_IPCNS, CLONE_NEWIPC },
        { LAYER_UTSNS, CLONE_NEWUTS },   { LAYER_CGROUPNS, CLONE_NEWCGROUP },
    };
    unsigned long flags = SIGCHLD;

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (p->layers & LAYER_BIT(table[i].layer))
            flags |= table[i].flag;
    return flags;
}

/* Into the run's control group, if it has one, at birth. */
static long clone_init(const struct plan *p, bool cgroup)
{
    struct clone_args args = {
        .flags = (namespace_flags(p) & ~(unsigned long)SIGCHLD) | CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .cgroup = LAUNCH_FD_CGROUP,
    };

    if (!cgroup)
        return SYS5(__NR_clone, namespace_flags(p), 0, 0, 0, 0);
    return SYS2(__NR_clone3, &args, sizeof args);
}

/* Pid 1 and the keeper part here. In the keeper: pid 1's pid; in pid 1: does not return. */
static long start_init(struct launch *l, bool cgroup)
{
    int sync[2] = { -1, -1 };
    bool root = l->plan.map_all_ids && (l->plan.layers & LAYER_BIT(LAYER_USERNS));

    if (root) {
        long r = SYS2(__NR_pipe2, sync, SYS_O_CLOEXEC);
        if (r < 0)
            return r;
    }
    l->object = "namespaces";
    l->keeper = l->plan.layers & LAYER_BIT(LAYER_PIDNS) ? 0 : (int)TRY0(__NR_getpid);
    l->grouped = cgroup;
    long pid = clone_init(&l->plan, cgroup);
    if (pid == 0) {
        sys_fault_role(ROLE_INIT);
        file_close(cgroup ? LAUNCH_FD_PARENT : -1);
        file_close(cgroup ? LAUNCH_FD_CGROUP : -1);
        file_close(sync[1]);
        l->sync_fd = sync[0];
        init_run(l);
    }
    file_close(sync[0]);
    if (pid < 0 || !root)
        return pid;

    long r = userns_map_child(l, (int)pid);
    if (r >= 0)
        r = SYS3(__NR_write, sync[1], "m", 1) == 1 ? 0 : -EPIPE;
    file_close(sync[1]);
    if (r < 0)
        (void)TRY2(__NR_kill, pid, SIGKILL);
    return r < 0 ? r : pid;
}

/* Waits for the end of pid 1; returns its exit code. */
static int watch(const struct launch *l, int init, struct holds *holds)
{
    struct pollfd fds[2] = {
        { .fd = LAUNCH_FD_SIGNALS, .events = POLLIN },
        { .fd = LAUNCH_FD_LIFELINE, .events = POLLIN },
    };

    struct __kernel_timespec left = { .tv_sec = l->keeper ? PATIENCE_SECONDS : 0 }, *timeout = 0;

    for (;;) {
        uint32_t sender;
        int status, sig;

        long ready = TRY5(__NR_ppoll, fds, 2, timeout, 0, 0); /* which counts *timeout down */
        if (timeout && ready == 0) {
            (void)TRY2(__NR_kill, init, SIGKILL);
            timeout = 0;
        }
        if (fds[1].revents & POLLIN)
            hold_receive(holds);
        if (fds[1].revents & (POLLHUP | POLLERR)) {
            fds[1].fd = -1;
            timeout = &left;
        }
        while ((sig = signals_next(&sender)) != 0)
            if (sig != SIGCHLD && l->bwrap)
                bwrap_relay(l, sig);
            else if (sig != SIGCHLD)
                (void)TRY2(__NR_kill, init, sig);
        if (TRY4(__NR_wait4, init, &status, SYS_WNOHANG, 0) == init)
            return exit_code_of(status);
    }
}

/* What the group has counted is the host's to read; when it has, it hangs up. */
static void await_host(void)
{
    struct pollfd lifeline = { .fd = LAUNCH_FD_LIFELINE };
    struct __kernel_timespec most = { .tv_sec = HOST_SECONDS };

    (void)TRY5(__NR_ppoll, &lifeline, 1, &most, 0, 0);
}

/* Nothing lives in it any more; where it is gone already, the host was faster. */
static void remove_cgroup(const char *name)
{
    if (name[0])
        (void)TRY3(__NR_unlinkat, LAUNCH_FD_PARENT, name, SYS_AT_REMOVEDIR);
}

/* Without a pid namespace: orphans come to pid 1, and to us when that is gone. */
static long adopt(const struct plan *p)
{
    if (p->layers & LAYER_BIT(LAYER_PIDNS))
        return 0;
    return SYS5(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

static void end_strays(const struct plan *p)
{
    int status;
    long pid;

    if (p->layers & LAYER_BIT(LAYER_PIDNS))
        return;
    do {
        stray_kill(0);
        pid = TRY4(__NR_wait4, -1, &status, 0, 0);
    } while (pid > 0 || pid == -EINTR);
}

int keeper_run(struct launch *l, const char *cgroup_given)
{
    struct holds holds = { .registry = -1 };
    char cgroup[LAUNCH_CGROUP_MAX] = "";
    const char *step = "keeper";
    /* Nothing that the host leaked to us by accident goes on. */
    long r = sys_skips("descriptors") ? 0 : SYS3(__NR_close_range, LAUNCH_FD_FREE, ~0u, 0);
    (void)text_append(cgroup, sizeof cgroup, cgroup_given);
    if (r >= 0)
        r = signals_open();
    if (r >= 0)
        r = adopt(&l->plan);

    (void)TRY0(__NR_setsid); /* fails for a group leader; pid 1 makes its own session anyway */
    if (r >= 0) {
        step = l->bwrap ? "bwrap" : "namespaces";
        r = l->bwrap ? bwrap_start(l, cgroup[0] != '\0', &holds) : start_init(l, cgroup[0] != '\0');
    }
    if (r < 0) {
        report_failed(step, r, l->object);
        hold_release(&holds);
        remove_cgroup(cgroup);
        return EXIT_SETUP;
    }
    sys_fault_disarm();
    /* Not before: a process that is not dumpable may not write its own id maps. */
    (void)TRY5(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (!l->bwrap)
        file_close(LAUNCH_FD_STATUS);
    for (int fd = 0; fd < 3; fd++)
        file_close(fd);
    if (!l->bwrap)
        stack_leave();

    int code = watch(l, (int)r, &holds);
    if (l->bwrap)
        bwrap_told(l);
    end_strays(&l->plan);
    hold_release(&holds);
    if (cgroup[0])
        await_host();
    remove_cgroup(cgroup);
    return code;
}
