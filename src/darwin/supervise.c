/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher while the command runs: a kqueue of the command's end, the lifeline, signals and two
 * timers; watch.c decides, this acts. Signals and lifeline are watched before there is a command:
 * one that comes early must neither be lost nor end the launcher and leave the command alone.
 *
 * macOS has no pid namespace. What belongs to a run is found by its session: the command is its
 * leader, and what it starts stays in it, in whatever process group, unless it makes a session of
 * its own. Such a process outlives the run, still in its profile (docs/macos.md). Pids are only
 * signalled while their session is ours, asked right before.
 */
#include <errno.h>
#include <libproc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/event.h>
#include <sys/wait.h>
#include <unistd.h>

#include "darwin/launch.h"
#include "darwin/watch.h"

enum { TIMER_TIMEOUT = 1, TIMER_GRACE };

static const int relayed[] = { SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                               SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT };

static int add_event(int queue, uintptr_t ident, int16_t filter, uint16_t flags, uint32_t fflags,
                     int64_t data)
{
    struct kevent event;

    EV_SET(&event, ident, filter, EV_ADD | flags, fflags, data, NULL);
    return kevent(queue, &event, 1, NULL, 0, NULL) < 0 ? -errno : 0;
}

int supervise_prepare(struct launch *l)
{
    l->object = "kqueue";
    l->queue = kqueue();
    int r = l->queue < 0 ? -errno : add_event(l->queue, DARWIN_FD_LIFELINE, EVFILT_READ, 0, 0, 0);

    for (size_t i = 0; i < ARRAY_LEN(relayed) && r == 0; i++) {
        (void)signal(relayed[i], SIG_IGN); /* kqueue hears of it all the same */
        r = add_event(l->queue, (uintptr_t)relayed[i], EVFILT_SIGNAL, 0, 0, 0);
    }
    return r;
}

static int watch_command(int queue, const struct launch *l, int pid)
{
    int r = 0;

    if (l->plan.timeout_ns > 0)
        r = add_event(queue, TIMER_TIMEOUT, EVFILT_TIMER, EV_ONESHOT, NOTE_NSECONDS,
                      l->plan.timeout_ns);
    if (r == 0)
        r = add_event(queue, (uintptr_t)pid, EVFILT_PROC, EV_ONESHOT, NOTE_EXIT, 0);
    return r;
}

/* All of the session but ourselves, until there is nobody left or somebody cannot be killed. */
static void kill_session(int leader)
{
    for (int round = 0; round < 100; round++) {
        int room = proc_listallpids(NULL, 0), killed = 0;
        pid_t *pids = room > 0 ? calloc((size_t)room + 64, sizeof *pids) : NULL;
        int count = pids ? proc_listallpids(pids, (room + 64) * (int)sizeof *pids) : 0;

        for (int i = 0; i < count; i++)
            if (pids[i] > 1 && pids[i] != getpid() && pids[i] != leader &&
                getsid(pids[i]) == leader)
                killed += kill(pids[i], SIGKILL) == 0;
        free(pids);
        if (killed == 0)
            return;
    }
}

/* The leader is not reaped before: its pid, and so the session's number, stays taken. */
static void act(const struct launch *l, int queue, int pid, unsigned actions, int signal_number)
{
    if (actions & WATCH_FORWARD)
        (void)kill(-pid, signal_number);
    if (actions & WATCH_TERMINATE)
        (void)kill(-pid, SIGTERM);
    if (actions & WATCH_KILL) {
        (void)kill(pid, SIGKILL);
        (void)kill(-pid, SIGKILL);
        kill_session(pid);
    }
    if (actions & WATCH_START_GRACE)
        (void)add_event(queue, TIMER_GRACE, EVFILT_TIMER, EV_ONESHOT, NOTE_NSECONDS,
                        l->plan.grace_ns);
}

static enum watch_event event_of(const struct kevent *k)
{
    switch (k->filter) {
    case EVFILT_PROC:
        return WATCH_EXITED;
    case EVFILT_READ:
        return WATCH_HOST_GONE; /* nothing is ever sent: readable means closed */
    case EVFILT_TIMER:
        return k->ident == TIMER_TIMEOUT ? WATCH_TIMEOUT : WATCH_GRACE_OVER;
    default:
        return WATCH_SIGNAL;
    }
}

int supervise(const struct launch *l, int pid)
{
    struct watch w = { 0 };
    struct rusage usage = { 0 };
    int status = 0, queue = l->queue;
    int r = watch_command(queue, l, pid);
    unsigned actions = 0;

    if (r == -ESRCH) { /* it has ended already: there is no process to watch */
        actions = watch_decide(&w, WATCH_EXITED, 0);
        act(l, queue, pid, actions, 0);
    } else if (r < 0) {
        act(l, queue, pid, WATCH_KILL, 0); /* without events nobody would end it */
    }
    while (r == 0 && !w.is_over) {
        struct kevent k;
        int n = kevent(queue, NULL, 0, &k, 1, NULL);
        if (n < 0 && errno != EINTR)
            r = -errno;
        if (n != 1)
            continue;
        actions = watch_decide(&w, event_of(&k), (int)k.ident);
        act(l, queue, pid, actions, (int)k.ident);
    }
    if (r < 0 && r != -ESRCH)
        act(l, queue, pid, WATCH_KILL, 0);
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    if (!(actions & WATCH_LEAVE))
        report_exited(status, w.timed_out, &usage);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
