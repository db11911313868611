/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the launcher of macOS asks of its system, played on Linux, so that its own code can run: a
 * kqueue of epoll, the list of processes, and a Seatbelt that writes down what it was given into
 * the file $ABX_SHIM_LOG, or `profile` in the run's directory for temporary files. A profile that
 * begins with "(refuse" is refused.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "darwin/undeclared.h"
#include "lib/darwin/libproc.h"
#include "lib/darwin/sys/event.h"
#include "plan/seatbelt.h"

#define MAX_EVENTS 64

static struct watched {
    struct kevent event;
    int fd;
} watched[MAX_EVENTS];
static int watched_count;

int kqueue(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

static int open_signal(int number)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(number, SIG_DFL); /* an ignored one would not even become pending */
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static int open_timer(intptr_t ns)
{
    const struct itimerspec when = { .it_value = { ns / 1000000000, ns % 1000000000 } };
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

    return fd >= 0 && timerfd_settime(fd, 0, &when, NULL) < 0 ? -1 : fd;
}

static int open_event(const struct kevent *k)
{
    switch (k->filter) {
    case EVFILT_READ:
        return (int)k->ident;
    case EVFILT_PROC:
        return (int)syscall(SYS_pidfd_open, k->ident, 0);
    case EVFILT_SIGNAL:
        return open_signal((int)k->ident);
    default:
        return open_timer(k->data);
    }
}

int kevent(int queue, const struct kevent *changes, int change_count, struct kevent *events,
           int event_count, const struct timespec *timeout)
{
    struct epoll_event e;

    (void)timeout;
    if (change_count == 1) {
        if (watched_count == MAX_EVENTS)
            abort();
        struct watched *w = &watched[watched_count];
        *w = (struct watched){ *changes, open_event(changes) };
        e = (struct epoll_event){ .events = EPOLLIN | EPOLLRDHUP,
                                  .data = { .u32 = (uint32_t)watched_count++ } };
        return w->fd < 0 ? -1 : epoll_ctl(queue, EPOLL_CTL_ADD, w->fd, &e);
    }
    if (event_count != 1)
        abort();
    int n = epoll_wait(queue, &e, 1, -1);
    if (n == 1) {
        struct watched *w = &watched[e.data.u32];
        char gone[sizeof(struct signalfd_siginfo)];
        *events = w->event;
        if (w->event.filter == EVFILT_SIGNAL && read(w->fd, gone, sizeof gone) < 0)
            abort();
        if (w->event.flags & EV_ONESHOT)
            (void)close(w->fd);
    }
    return n;
}

int proc_listallpids(void *pids, int bytes)
{
    DIR *dir = opendir("/proc");
    int count = 0, *out = pids;

    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        int pid = atoi(entry->d_name);
        if (pid <= 0 || (out && (size_t)count * sizeof *out >= (size_t)bytes))
            continue;
        if (out)
            out[count] = pid;
        count++;
    }
    if (dir)
        (void)closedir(dir);
    return count;
}

int ptrace(int request, pid_t pid, caddr_t address, int data)
{
    (void)pid;
    (void)address;
    (void)data;
    return request == PT_DENY_ATTACH ? 0 : -1;
}

int sandbox_init_with_parameters(const char *profile, uint64_t flags, const char *const params[],
                                 char **ret_error)
{
    const char *path = getenv("ABX_SHIM_LOG");
    char own[1200] = "";

    for (size_t i = 0; params[i]; i += 2)
        if (strcmp(params[i], SEATBELT_PARAM_TMP) == 0)
            (void)snprintf(own, sizeof own, "%s/profile", params[i + 1]);
    FILE *log = fopen(path ? path : own, "we");

    *ret_error = NULL;
    if (!log || flags != 0 || strncmp(profile, "(refuse", 7) == 0) {
        *ret_error = strdup("line 1: unbound variable: refuse");
        errno = EINVAL;
        if (log)
            (void)fclose(log);
        return -1;
    }
    for (size_t i = 0; params[i]; i += 2)
        fprintf(log, "%s=%s\n", params[i], params[i + 1]);
    fprintf(log, "%s\n", profile);
    return fclose(log);
}

void sandbox_free_error(char *error)
{
    free(error);
}
