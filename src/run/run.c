/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run from the host's side: the launcher, its messages, output, the end.
 *
 * The launcher is spawned before the plan is made: it is busy with namespaces meanwhile. The exit
 * status comes over the status socket, so a host that reaps every child with waitpid(-1) does no
 * harm. A run has ended when pid 1 has said so: by then nothing else lives inside; the placeholders
 * are removed here at once, while the kernel takes the namespaces down. If pid 1 or the keeper was
 * killed, the end of the keeper is the end.
 */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "run/spawn.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static void forget_listeners(struct run *r)
{
    for (size_t i = 0; i < LISTENER_COUNT; i++)
        r->listeners[i] = -1;
}

size_t run_take_listeners(struct run *r, int fds[LISTENER_COUNT])
{
    size_t n = 0;

    while (n < LISTENER_COUNT && r->listeners[n] >= 0) {
        fds[n] = r->listeners[n];
        n++;
    }
    forget_listeners(r);
    return n;
}

size_t run_take_sockets(struct run *r, int fds[2 * SOCKET_COUNT])
{
    size_t n = r->socket_count;

    memcpy(fds, r->sockets, n * sizeof *fds);
    r->socket_count = 0;
    return n;
}

static void close_sockets(struct run *r)
{
    while (r->socket_count > 0)
        fd_close(r->sockets[--r->socket_count]);
}

static void close_listeners(struct run *r)
{
    for (size_t i = 0; i < LISTENER_COUNT; i++)
        fd_close(r->listeners[i]);
    forget_listeners(r);
}

void run_init(struct run *r)
{
    *r = (struct run){
        .pidfd = -1, .status_fd = -1, .lifeline_fd = -1, .tty_fd = -1, .side_fd = -1
    };
    forget_listeners(r);
    (void)pthread_mutex_init(&r->lock, NULL);
    hold_init(&r->hold);
    cgroup_init(&r->cgroup);
    for (int i = 0; i < 3; i++)
        r->streams[i].fd = r->streams[i].epoll_fd = -1;
}

/* A cancel that came before there was a lifeline counts too. */
static void set_lifeline(struct run *r, int fd)
{
    (void)pthread_mutex_lock(&r->lock);
    int old = r->lifeline_fd;
    r->lifeline_fd = fd;
    if (fd >= 0 && r->canceled)
        (void)shutdown(fd, SHUT_RDWR);
    (void)pthread_mutex_unlock(&r->lock);
    fd_close(old);
}

/* ---- messages ---- */

/* The keeper waits for that before it removes the group. */
static void leave_cgroup(struct run *r)
{
    if (r->cgroup.dir < 0)
        return;
    r->counts = cgroup_count(&r->cgroup);
    run_hang_up(r);
}

static void on_exited(struct run *r)
{
    r->end_ns = run_now_ns();
    leave_cgroup(r);
    hold_release(&r->hold);
    run_drain(r);
}

static void release_kept(struct run *r)
{
    if (r->watch.release)
        r->watch.release(r->watch.user);
    r->watch = (struct run_watch){ 0 };
    free(TAKE_PTR(r->remains));
}

/* We have no room for what came along: the command would have a terminal or a network in vain. */
static void fail_for_descriptors(struct run *r, uint32_t kind)
{
    const char *step = kind == STATUS_TTY ? "terminal" : "listeners";

    r->failed = true;
    r->failure = (struct status_msg){ .kind = STATUS_FAILED, .err = EMFILE };
    memcpy(r->failure.step, step, strlen(step));
}

bool run_read_message(struct run *r)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(STATUS_MAX_FDS * sizeof(int))];
    } control;
    int fds[STATUS_MAX_FDS];
    union message msg = { 0 };
    struct iovec iov = { .iov_base = &msg, .iov_len = sizeof msg };
    struct msghdr header = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    ssize_t n = recvmsg(r->status_fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    /* A peer that went without reading the plan is an error first; its last words come after it. */
    if (n < 0 && errno == ECONNRESET)
        n = recvmsg(r->status_fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n < 0)
        header.msg_controllen = 0;
    run_passed_fds(&header, fds);
    if (n > 0 && (header.msg_flags & MSG_CTRUNC) && !r->started)
        fail_for_descriptors(r, msg.status.kind);
    const bool before = r->exited;
    if (!message_take(r, &msg, n < 0 ? 0 : (size_t)n, fds)) {
        fd_close(r->status_fd);
        r->status_fd = -1;
        if (!r->exited)
            leave_cgroup(r);
        return false;
    }
    if (r->exited && !before)
        on_exited(r);
    return true;
}

/* ---- start ---- */

static int32_t open_streams(struct run *r, const struct run_request *q, int *child_fds,
                            abx_error **err)
{
    for (int i = 1; i < 3; i++) {
        if (!q->capture[i])
            continue;
        int code = stream_open(&r->streams[i], i, q->limit, &child_fds[i]);
        if (code < 0)
            return err_sys(err, ABX_E_IO, code, "make a pipe for output");
        r->streams[i].forgets = q->forget[i];
        r->streams[i].output = q->output;
        r->streams[i].user = q->user;
    }
    return ABX_OK;
}

/* A directory would be a door around every mount: its ".." leads through the host's own tree. */
static int32_t check_stream(int stream, int fd, abx_error **err)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fstat(fd, &st) < 0)
        return err_sys(err, ABX_E_INVALID, -errno, "use descriptor %d as stream %d", fd, stream);
    if (!S_ISDIR(st.st_mode) && !(flags & O_PATH))
        return ABX_OK;
    return err_new(err, ABX_E_INVALID,
                   "use a directory as stream %d: it would lead out of the sandbox", stream);
}

static int32_t spawn_run(struct run *r, const struct run_request *q, int fds[LAUNCH_FD_FREE],
                         abx_error **err)
{
    char layers[16];
    const char *argv[] = { "agentbox-launcher", "run", layers, r->cgroup.name, q->bwrap, NULL };
    _fd_ int null_fd = -1;
    int given[LAUNCH_FD_FREE];

    deliver_layers(layers, sizeof layers, q->layers);
    memcpy(given, fds, sizeof given);
    for (int i = 0; i < 3; i++) {
        if (!q->capture[i])
            given[i] = q->stdio[i];
        if (given[i] >= 0) {
            int32_t code = check_stream(i, given[i], err);
            if (code != ABX_OK)
                return code;
            continue;
        }
        if (null_fd < 0)
            null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null_fd < 0)
            return err_sys(err, ABX_E_IO, -errno, "open /dev/null");
        given[i] = null_fd;
    }
    const struct spawn_request spawn = {
        .image = q->image,
        .argv = argv,
        .cwd_fd = q->cwd_fd,
        .fds = given,
        .count = LAUNCH_FD_FREE,
    };
    return spawn_launcher(&spawn, &r->keeper, err);
}

static int32_t watch_keeper(struct run *r, abx_error **err)
{
    r->pidfd = (int)syscall(SYS_pidfd_open, r->keeper, 0);
    if (r->pidfd >= 0)
        return ABX_OK;
    int32_t code = err_sys(err, ABX_E_IO, -errno, "watch the launcher");
    err_hint(err,
             "pidfd_open is missing or refused: agentbox needs kernel 5.13, and a container whose "
             "filter lets it through");
    return code;
}

/* Streams of the caller's own, which the launcher has already. */
static int32_t adopt_early(struct run *r, const struct run_request *q, int lifeline,
                           abx_error **err)
{
    set_lifeline(r, lifeline);
    int32_t code = watch_keeper(r, err);
    for (int i = 0; i < 3 && code == ABX_OK; i++)
        code = check_stream(i, q->stdio[i], err);
    return code;
}

int32_t run_launch(struct run *r, const struct run_request *q, abx_error **err)
{
    int fds[LAUNCH_FD_FREE] = { -1, -1, -1, -1, -1, -1, -1 };
    int lifeline = -1;

    if (cgroup_make(&r->cgroup, &q->cgroup) == 0) {
        fds[LAUNCH_FD_PARENT] = r->cgroup.parent;
        fds[LAUNCH_FD_CGROUP] = r->cgroup.dir;
    }
    r->start_ns = run_now_ns();
    if (early_take(r, q, fds[LAUNCH_FD_CGROUP] >= 0, &lifeline))
        return adopt_early(r, q, lifeline, err);
    int e = deliver_sockets(&r->status_fd, &lifeline, fds + 3);

    if (e < 0)
        return err_sys(err, ABX_E_IO, e, "make a socket pair");
    int32_t code = open_streams(r, q, fds, err);
    if (code == ABX_OK)
        code = spawn_run(r, q, fds, err);
    if (code == ABX_OK)
        code = watch_keeper(r, err);
    set_lifeline(r, lifeline);
    for (size_t i = 0; i < LAUNCH_FD_PARENT; i++)
        fd_close(fds[i]);
    return code;
}

int32_t run_deliver(struct run *r, const struct plan *plan, const char *const *state_dirs,
                    abx_error **err)
{
    _err_ abx_error *why = NULL;
    int32_t code =
        early_await(r)
            ? deliver_plan(r->status_fd, r->lifeline_fd, &r->hold, plan, state_dirs, &why)
            : err_new(&why, ABX_E_SANDBOX, "start the launcher: it ended before it began");

    if (code == ABX_OK)
        return run_await_start(r, plan, err);
    /* Nothing more will come: the launcher ends. If it had failed by itself, that lies deeper. */
    (void)shutdown(r->status_fd, SHUT_WR);
    while (!r->failed && r->status_fd >= 0 && !run_ended(r) && run_pump(r, -1, NULL) == ABX_OK)
        ;
    if (r->failed && r->failure.err != ECANCELED)
        return run_failure(&r->failure, plan, err);
    if (err)
        *err = TAKE_PTR(why);
    return code;
}

/* ---- while it runs ---- */

bool run_reap(struct run_rest *rest, bool wait)
{
    const int flags = WEXITED | (wait ? 0 : WNOHANG);
    siginfo_t info = { 0 };
    int n;

    if (rest->keeper <= 0)
        return true;
    do
        n = rest->pidfd >= 0 ? waitid((idtype_t)P_PIDFD, (id_t)rest->pidfd, &info, flags)
                             : waitid(P_PID, (id_t)rest->keeper, &info, flags);
    while (n < 0 && errno == EINTR);
    if (n == 0 && info.si_pid == 0)
        return false;
    fd_close(rest->pidfd);
    *rest = (struct run_rest){ .pidfd = -1 };
    return true;
}

void run_after_gone(struct run *r)
{
    hold_release(&r->hold); /* it may have been killed before it could */
}

void run_signal(struct run *r, int signal_number)
{
    if (run_ended(r) || r->keeper <= 1)
        return;
    if (signal_number == SIGKILL) {
        run_cancel(r); /* the keeper has to survive its sandbox by a moment */
        return;
    }
    if (signal_number == SIGSTOP)
        signal_number = SIGTSTP; /* for the command, not for the keeper */
    (void)pthread_mutex_lock(&r->lock);
    if (r->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, r->pidfd, signal_number, NULL, 0);
    else if (!r->gone)
        (void)kill(r->keeper, signal_number);
    (void)pthread_mutex_unlock(&r->lock);
}

/* Whatever still runs ends now; a pid 1 that waits for its plan learns that there is none. */
static void end_run(struct run *r)
{
    run_hang_up(r);
    if (r->status_fd >= 0)
        (void)shutdown(r->status_fd, SHUT_WR);
    hold_unlock(&r->hold);
    while (!run_ended(r) && run_pump(r, -1, NULL) == ABX_OK)
        ;
}

/* Our ends of what leads to it, and what was kept about it. */
static void close_ends(struct run *r)
{
    hold_close(&r->hold);
    cgroup_close(&r->cgroup);
    fd_close(r->status_fd);
    fd_close(r->tty_fd);
    close_listeners(r);
    close_sockets(r);
    for (int i = 1; i < 3; i++)
        stream_close(&r->streams[i]);
    violations_done(&r->violations);
    release_kept(r);
}

void run_done(struct run *r, struct run_rest *ret_rest)
{
    if (r->keeper > 0)
        end_run(r);
    struct run_rest rest = { .keeper = r->gone ? 0 : r->keeper, .pidfd = r->pidfd };
    (void)run_reap(&rest, ret_rest == NULL); /* nothing is left of it then */
    if (ret_rest)
        *ret_rest = rest;

    set_lifeline(r, -1);
    hold_release(&r->hold);    /* nothing to do, unless the launcher was never spawned */
    cgroup_remove(&r->cgroup); /* refused while pid 1 is on its way out: then the keeper does it */
    close_ends(r);
    r->keeper = 0;
    r->status_fd = r->tty_fd = r->pidfd = -1;
    r->counts = (struct cgroup_counts){ 0 };
    r->limits_told = r->logged = false;
    r->log_error = 0;
    r->early = r->started = r->failed = false;
    r->exited = false;
    r->gone = false;
    r->stopped = 0;
}

void run_forget(struct run *r)
{
    fd_close(r->lifeline_fd);
    fd_close(r->pidfd);
    close_ends(r);
}
