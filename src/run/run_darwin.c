/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run on macOS, from the host's side: the launcher (darwin/launch.h), its messages, output, the
 * end.
 *
 * The launcher is spawned when the plan is there, for it gets the plan with its birth. It gets the
 * descriptors of one list and no environment: nothing of ours reaches the command by accident, and
 * no variable makes the loader put code into the process that guards it. Its program is a file, as
 * macOS executes nothing else; whoever can replace that file can replace agentbox.
 *
 * A run has ended when the launcher said so, or is gone. If it was killed, the command's session is
 * ended from here. The run's directory for temporary files goes with the run.
 */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/event.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "darwin/clear.h"
#include "darwin/host.h"
#include "run/mac.h"

size_t run_take_listeners(struct run *r, int fds[LISTENER_COUNT])
{
    (void)r;
    (void)fds;
    return 0;
}

size_t run_take_sockets(struct run *r, int fds[2 * SOCKET_COUNT])
{
    (void)r;
    (void)fds;
    return 0;
}

void run_init(struct run *r)
{
    *r = (struct run){
        .pidfd = -1, .status_fd = -1, .lifeline_fd = -1, .tty_fd = -1, .side_fd = -1
    };
    r->cgroup.parent = r->cgroup.dir = -1;
    (void)pthread_mutex_init(&r->lock, NULL);
    for (int i = 0; i < 3; i++)
        r->streams[i].fd = r->streams[i].epoll_fd = -1;
}

/* ---- messages ---- */

/* The one descriptor that came along, or -1. */
static int passed_fd(struct msghdr *header)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(header);
    int fd = -1;

    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len >= CMSG_LEN(sizeof fd)) {
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return fd;
}

static void handle_message(struct run *r, const struct status_msg *msg)
{
    switch (msg->kind) {
    case STATUS_FAILED:
        if (!r->failed)
            r->failure = *msg;
        r->failed = true;
        break;
    case STATUS_STARTED:
        r->started = true;
        r->start = *msg;
        r->mac->command = msg->value;
        r->start.value = 0; /* nothing is watched */
        break;
    case STATUS_EXITED:
        r->exited = true;
        r->end = *msg;
        r->end_ns = run_now_ns();
        run_drain(r);
        break;
    default:
        break;
    }
}

bool run_read_message(struct run *r)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct iovec iov;
    struct msghdr header = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };

    iov.iov_base = inbox_room(&r->mac->inbox, &iov.iov_len);
    ssize_t n = recvmsg(r->status_fd, &header, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        fd_close(r->status_fd);
        r->status_fd = -1;
        return false;
    }
    int fd = passed_fd(&header); /* only a terminal's master ever comes along */
    if (fd >= 0) {
        fd_close(r->tty_fd);
        r->tty_fd = fd;
    }
    if (inbox_add(&r->mac->inbox, (size_t)n))
        handle_message(r, &r->mac->inbox.msg);
    return true;
}

/* ---- start ---- */

/* The plan, without which nothing can be started, comes with run_deliver. */
int32_t run_launch(struct run *r, const struct run_request *q, abx_error **err)
{
    r->mac = calloc(1, sizeof *r->mac);
    if (!r->mac)
        return err_nomem(err);
    r->mac->request = *q;
    r->start_ns = run_now_ns();
    return ABX_OK;
}

static int32_t watch_launcher(struct run *r, abx_error **err)
{
    struct kevent event;

    r->pidfd = kqueue();
    EV_SET(&event, (uintptr_t)r->keeper, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
    if (r->pidfd >= 0 && kevent(r->pidfd, &event, 1, NULL, 0, NULL) == 0)
        return ABX_OK;
    if (r->pidfd >= 0 && errno == ESRCH) { /* gone already: its last words are in the socket */
        fd_close(r->pidfd);
        r->pidfd = -1;
        return ABX_OK;
    }
    return err_sys(err, ABX_E_IO, -errno, "watch the launcher");
}

int32_t run_deliver(struct run *r, const struct plan *plan, const char *const *state_dirs,
                    abx_error **err)
{
    int lifeline = -1;

    int32_t code = mac_spawn(r, plan, state_dirs, &lifeline, err);
    if (code != ABX_OK)
        return code;
    (void)pthread_mutex_lock(&r->lock);
    r->lifeline_fd = lifeline;
    if (r->canceled) /* it came before there was a lifeline */
        (void)shutdown(lifeline, SHUT_RDWR);
    (void)pthread_mutex_unlock(&r->lock);
    code = watch_launcher(r, err);
    return code == ABX_OK ? run_await_start(r, plan, err) : code;
}

/* ---- while it runs ---- */

bool run_reap(struct run_rest *rest, bool wait)
{
    int n;

    if (rest->keeper <= 0)
        return true;
    do
        n = waitpid(rest->keeper, NULL, wait ? 0 : WNOHANG);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return false;
    fd_close(rest->pidfd);
    *rest = (struct run_rest){ .pidfd = -1 };
    return true;
}

/* The launcher is gone and did not say that the command is: it was killed. */
void run_after_gone(struct run *r)
{
    const pid_t leader = r->mac->command;

    if (!r->exited && leader > 1 && getsid(leader) == leader) {
        (void)kill(leader, SIGKILL);
        (void)kill(-leader, SIGKILL);
    }
}

void run_signal(struct run *r, int signal_number)
{
    if (run_ended(r) || r->keeper <= 1)
        return;
    if (signal_number == SIGKILL)
        run_cancel(r); /* the launcher has to survive its command by a moment */
    else
        (void)kill(r->keeper, signal_number == SIGSTOP ? SIGTSTP : signal_number);
}

/* ---- the end ---- */

/* Whatever still runs ends now. */
static void end_run(struct run *r)
{
    run_hang_up(r);
    while (!run_ended(r) && run_pump(r, -1, NULL) == ABX_OK)
        ;
}

/* Our copies of everything. */
static void close_all(struct run *r)
{
    fd_close(r->lifeline_fd);
    fd_close(r->status_fd);
    fd_close(r->tty_fd);
    fd_close(r->pidfd);
    for (int i = 1; i < 3; i++)
        stream_close(&r->streams[i]);
    violations_done(&r->violations);
    if (r->watch.release)
        r->watch.release(r->watch.user);
    r->watch = (struct run_watch){ 0 };
    free(TAKE_PTR(r->remains));
}

void run_done(struct run *r, struct run_rest *ret_rest)
{
    if (r->keeper > 0)
        end_run(r);
    struct run_rest rest = { .keeper = r->gone ? 0 : r->keeper, .pidfd = -1 };
    if (!run_reap(&rest, ret_rest == NULL) && ret_rest)
        *ret_rest = rest;
    else if (ret_rest)
        *ret_rest = (struct run_rest){ .pidfd = -1 };
    if (r->mac && r->mac->own_tmp)
        (void)clear_tree(AT_FDCWD, r->mac->tmp); /* what stays, macOS clears after some days */
    free(r->mac);
    r->mac = NULL;
    (void)pthread_mutex_lock(&r->lock);
    int lifeline = r->lifeline_fd;
    r->lifeline_fd = -1;
    (void)pthread_mutex_unlock(&r->lock);
    fd_close(lifeline);
    close_all(r);
    r->keeper = 0;
    r->status_fd = r->tty_fd = r->pidfd = -1;
    r->limits_told = r->logged = false;
    r->log_error = 0;
    r->started = r->failed = false;
    r->exited = false;
    r->gone = false;
    r->stopped = 0;
}

void run_forget(struct run *r)
{
    close_all(r);
    free(r->mac);
    r->mac = NULL;
}
