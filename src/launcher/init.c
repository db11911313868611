/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pid 1 of the sandbox. It applies the plan, starts the command, shuts itself in (Landlock without
 * any rule or, where it is the monitor, the command's rules; a seccomp filter of a few calls) and
 * then only reaps, relays, and ends things:
 *
 *   the command has ended            everything else inside is killed and reaped; the host is told
 *   SIGTERM, SIGINT, SIGHUP outside  to the command's group; grace; a second one kills
 *   other signals from outside       to the command's group
 *   time is up, or the host is gone  everything is killed
 *   a call of the command is watched it is looked at and goes on (watch.c)
 *
 * Signals that come from inside (their sender has a pid here and is not the keeper) are ignored:
 * the command cannot make pid 1 do anything. It is not dumpable and in another Landlock domain, so
 * it cannot be traced.
 */
#include <asm/poll.h>
#include <asm/signal.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/time.h>
#include <linux/time_types.h>

#include "launcher/launcher.h"
#include "launcher/steps.h"

#define WUNTRACED_FLAG      2
#define WCONTINUED_FLAG     8
#define RUSAGE_CHILDREN_WHO (-1)
#define REAP_BATCH          64
#define REAP_REST           1024

struct init {
    const struct launch *l;
    int command;      /* pid, also its group */
    int notify_fd;    /* -1: not watched, or nobody is left to watch */
    int64_t deadline; /* 0: none */
    bool ended, killed, timed_out, warned;
    bool behind; /* more children may wait to be reaped */
    int status;  /* of the command */
};

static bool kills_at_once(const struct init *in)
{
    return (in->l->plan.layers & LAYER_BIT(LAYER_PIDNS)) || in->l->enclosed;
}

static void kill_all(struct init *in)
{
    in->killed = true;
    if (kills_at_once(in))
        (void)TRY2(__NR_kill, -1, SIGKILL); /* all of the run but ourselves, at one stroke */
    else
        /* -1 would be every process of the user; a group that was reaped may be another's. */
        stray_kill(in->ended ? 0 : in->command);
}

static void on_signal(struct init *in, int sig)
{
    bool ends = sig == SIGTERM || sig == SIGINT || sig == SIGHUP;

    if (ends && in->warned) {
        kill_all(in);
        return;
    }
    (void)TRY2(__NR_kill, -in->command, sig);
    if (!ends)
        return;
    in->warned = true;
    (void)TRY2(__NR_kill, -in->command, SIGCONT); /* a stopped command must hear it too */
    int64_t grace_end = now_ns() + in->l->plan.grace_ns;
    if (!in->deadline || grace_end < in->deadline)
        in->deadline = grace_end;
}

static void on_child(struct init *in, int pid, int status)
{
    if (pid != in->command)
        return; /* an orphan */
    if ((status & 0xff) == 0x7f)
        report_state(STATUS_STOPPED, status >> 8 & 0xff);
    else if (status == 0xffff)
        report_state(STATUS_CONTINUED, 0);
    else {
        in->status = status;
        in->ended = true;
    }
}

/*
 * True when there is nobody to reap: without children nothing lives in the namespace. Some at a
 * time: many processors together make orphans faster than one reaps them, and the time limit and
 * the host have to be looked at meanwhile.
 */
static bool reap(struct init *in)
{
    const int how = SYS_WNOHANG | WUNTRACED_FLAG | WCONTINUED_FLAG;
    long pid = 1;
    int status;

    for (int i = 0; i < REAP_BATCH && pid > 0; i++) {
        pid = TRY4(__NR_wait4, -1, &status, how, 0);
        if (pid > 0)
            on_child(in, (int)pid, status);
    }
    in->behind = pid > 0;
    return pid == -ECHILD;
}

/*
 * What is left when the command has ended: killed, and waited for until there is none. To kill all
 * takes the longer the more there are, the dead among them: many are reaped in between, where none
 * can have come since. Returns how many were alive.
 */
static int64_t reap_rest(struct init *in)
{
    const int most = kills_at_once(in) ? REAP_REST : 1;
    int64_t alive = 0;
    int status;
    long pid;

    do {
        kill_all(in);
        pid = TRY4(__NR_wait4, -1, &status, 0, 0);
        for (int i = 1; pid > 0; i++) {
            alive += (status & 0x7f) == SIGKILL;
            on_child(in, (int)pid, status);
            pid = i < most ? TRY4(__NR_wait4, -1, &status, SYS_WNOHANG, 0) : 0;
        }
    } while (pid == 0 || pid == -EINTR);
    return alive;
}

static void on_watched(struct init *in, short events)
{
    if (events & POLLIN) {
        (void)watch_serve(in->notify_fd);
        if (watch_detach(in->notify_fd))
            in->notify_fd = -1;
    } else if (events) {
        /* Nobody has the filter any more. Our end frees it, when the host has heard of all this. */
        in->notify_fd = -1;
    }
}

/* Host or keeper are gone. In a pid namespace the kernel kills everything inside with us. */
static ATTR_NORETURN void give_up(struct init *in)
{
    if (in->l->keeper)
        (void)reap_rest(in);
    launcher_exit(EXIT_SETUP);
}

/* What the keeper would send to a pid 1 that is its own child. */
static void on_relay(struct init *in)
{
    char byte;

    if (TRY3(__NR_read, LAUNCH_FD_RELAY, &byte, 1) != 1)
        give_up(in); /* it is gone */
    on_signal(in, byte);
}

/* True: there are signals, children among them. */
static bool wait_for_work(struct init *in)
{
    struct pollfd fds[4] = {
        { .fd = LAUNCH_FD_SIGNALS, .events = POLLIN },
        { .fd = LAUNCH_FD_LIFELINE },
        { .fd = in->notify_fd, .events = POLLIN },
        { .fd = in->l->bwrapped ? LAUNCH_FD_RELAY : -1, .events = POLLIN },
    };
    struct __kernel_timespec left = { 0 };
    bool timed = in->deadline && !in->killed;

    if (timed && !in->behind) {
        int64_t ns = in->deadline - now_ns();
        ns = ns < 0 ? 0 : ns;
        left.tv_sec = ns / NSEC_PER_SEC;
        left.tv_nsec = ns % NSEC_PER_SEC;
    }
    (void)TRY5(__NR_ppoll, fds, 4, timed || in->behind ? &left : 0, 0, 0);
    if (fds[1].revents)
        give_up(in);
    if (timed && now_ns() >= in->deadline) {
        in->timed_out = !in->warned;
        kill_all(in);
    }
    on_watched(in, fds[2].revents);
    if (fds[3].revents)
        on_relay(in);
    return fds[0].revents || in->killed || in->behind;
}

static int supervise(struct init *in)
{
    bool alone = false;

    while (!in->ended) {
        uint32_t sender;
        int sig;

        if (!wait_for_work(in))
            continue;
        while ((sig = signals_next(&sender)) != 0)
            if (sig != SIGCHLD && sender == (uint32_t)in->l->keeper)
                on_signal(in, sig);
        if (in->l->keeper && TRY0(__NR_getppid) != in->l->keeper)
            give_up(in);
        alone = reap(in);
    }
    const bool by_itself = !in->killed && !in->warned;
    /* killing all means looking at every process of the machine */
    const int64_t alive = alone ? 0 : reap_rest(in);
    watch_end();
    streams_give_back(in->l);

    struct rusage usage = { 0 };
    (void)TRY2(__NR_getrusage, RUSAGE_CHILDREN_WHO, &usage);
    struct status_msg msg = {
        .user_ns = usage.ru_utime.tv_sec * NSEC_PER_SEC + usage.ru_utime.tv_usec * 1000,
        .system_ns = usage.ru_stime.tv_sec * NSEC_PER_SEC + usage.ru_stime.tv_usec * 1000,
        .max_rss = usage.ru_maxrss * 1024,
        .left = by_itself ? alive : 0,
    };
    report_exited(in->status, in->timed_out ? 1 : 0, &msg);
    if (in->timed_out)
        return EXIT_TIMED_OUT;
    return exit_code_of(in->status);
}

static void release_stacks(void)
{
    stack_leave();
    command_release_stack();
    netns_release_stack();
}

/* Pid 1 is done with files, programs and its parent's descriptors. */
static long shut_in(struct launch *l)
{
    const struct plan *p = &l->plan;
    long r = 0;

    for (int fd = l->input_fd >= 0 ? 1 : 0; fd < 3; fd++)
        file_close(fd);
    file_close(l->tty_fd);
    file_close(l->cwd_fd);
    if (!(p->layers & LAYER_BIT(LAYER_PIDNS)))
        return 0; /* it has to look for its children in /proc */
    release_stacks();
    if (layer_is_due(p, LAYER_LANDLOCK) && l->notify_fd < 0)
        r = landlock_close_all();
    if (r >= 0 && layer_is_due(p, LAYER_SECCOMP))
        r = seccomp_apply(&p->init_filter);
    plan_release(l);
    return r;
}

static int exec_code(const char *step, long err)
{
    if (!text_eq(step, "exec"))
        return EXIT_SETUP;
    return err == -ENOENT || err == -ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE;
}

void init_run(struct launch *l)
{
    const char *step;

    (void)TRY2(__NR_prctl, PR_SET_NAME, "agentbox-init"); /* for ps */
    long r = steps_apply(l, &step);

    if (r < 0) {
        report_failed(step, r, l->object);
        launcher_exit(EXIT_SETUP);
    }
    int64_t started = now_ns();
    long pid = command_start(l);
    if (pid < 0) {
        if (pid == -ENOENT && text_eq(l->command_step, "exec"))
            l->object = command_interpreter(l);
        report_failed(l->command_step, pid, l->object);
        launcher_exit(exec_code(l->command_step, pid));
    }
    sys_fault_disarm();
    l->enforced = l->plan.layers;
    report_started(l);
    if (l->notify_fd >= 0)
        watch_begin(l);

    struct init in = {
        .l = l,
        .command = (int)pid,
        .notify_fd = l->notify_fd,
        .deadline = l->plan.timeout_ns ? started + l->plan.timeout_ns : 0,
    };
    if (shut_in(l) < 0)
        launcher_exit(EXIT_SETUP); /* and with us the command: a pid 1 in the open is not kept */
    launcher_exit(supervise(&in));
}
