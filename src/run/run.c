/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run from the host's side: socket pairs, the sealed plan, placeholders, the launcher, its messages,
 * output, the end.
 *
 * The launcher is spawned before the placeholders are made: it is busy with namespaces meanwhile, and
 * waits for LIFELINE_GO before it mounts. The exit status comes over the status socket, so a host
 * that reaps every child with waitpid(-1) does no harm. A run has ended when the keeper is gone: by then
 * nothing of it exists any more. If the keeper was killed, what it would have removed is removed here.
 */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "plan/codec.h"
#include "run/spawn.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

int64_t run_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

void run_init(struct run *r)
{
    *r = (struct run){ .pidfd = -1, .status_fd = -1, .lifeline_fd = -1, .tty_fd = -1 };
    (void)pthread_mutex_init(&r->lock, NULL);
    hold_init(&r->hold);
    for (int i = 0; i < 3; i++)
        r->streams[i].fd = -1;
}

bool run_canceled(struct run *r)
{
    (void)pthread_mutex_lock(&r->lock);
    bool canceled = r->canceled;
    (void)pthread_mutex_unlock(&r->lock);
    return canceled;
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

static int32_t seal_plan(const struct plan *plan, int *ret_fd, abx_error **err)
{
    size_t size = plan_encoded_size(plan);
    uint8_t *image = size ? malloc(size) : NULL;

    if (!size)
        return err_new(err, ABX_E_CONFIG, "encode the plan: it has too many or too long parts");
    if (!image)
        return err_nomem(err);
    plan_encode(plan, image, size);
    int fd = fd_memfd("agentbox-plan", image, size, false);
    free(image);
    if (fd < 0)
        return err_sys(err, ABX_E_SANDBOX, fd, "seal the plan");
    *ret_fd = fd;
    return ABX_OK;
}

/* ---- the launcher's descriptors ------------------------------------------------------------------ */

static int socket_pair(int *ret_host, int *ret_child)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    *ret_host = ends[0];
    *ret_child = ends[1];
    return 0;
}

void run_form_init(struct run_form *form)
{
    form->count = 0;
    form->lifeline_host = form->status_host = -1;
    hold_init(&form->hold);
    for (size_t i = 0; i < ARRAY_LEN(form->fds); i++)
        form->fds[i] = -1;
}

int32_t run_form_open(struct run_form *form, const struct run_request *q, abx_error **err)
{
    int32_t code = seal_plan(q->plan, &form->fds[LAUNCH_FD_PLAN - 3], err);
    if (code != ABX_OK)
        return code;
    int r = socket_pair(&form->status_host, &form->fds[LAUNCH_FD_STATUS - 3]);
    if (r == 0)
        r = socket_pair(&form->lifeline_host, &form->fds[LAUNCH_FD_LIFELINE - 3]);
    if (r < 0)
        return err_sys(err, ABX_E_IO, r, "make a socket pair");
    code = hold_open(&form->hold, q->plan, q->state_dirs, err);
    if (code != ABX_OK)
        return code;

    const struct hold *h = &form->hold;
    int *fds = form->fds;
    fds[LAUNCH_FD_REGISTRY - 3] = h->registry >= 0 ? fcntl(h->registry, F_DUPFD_CLOEXEC, 3)
                                                   : open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (unsigned i = 0; i < h->count; i++) {
        fds[LAUNCH_FD_HOLDS - 3 + 2 * i] = fcntl(h->dirs[i], F_DUPFD_CLOEXEC, 3);
        fds[LAUNCH_FD_HOLDS - 2 + 2 * i] = fcntl(h->files[i], F_DUPFD_CLOEXEC, 3);
    }
    form->count = LAUNCH_FD_HOLDS - 3 + 2 * h->count;
    (void)snprintf(form->holds_text, sizeof form->holds_text, "%u", h->count);
    for (size_t i = 0; i < form->count; i++)
        if (fds[i] < 0)
            return err_sys(err, ABX_E_IO, -EMFILE, "prepare the launcher's descriptors");
    return ABX_OK;
}

void run_form_close(struct run_form *form)
{
    for (size_t i = 0; i < ARRAY_LEN(form->fds); i++) {
        fd_close(form->fds[i]);
        form->fds[i] = -1;
    }
    fd_close(form->lifeline_host);
    fd_close(form->status_host);
    form->lifeline_host = form->status_host = -1;
    hold_close(&form->hold);
}

/*
 * The launcher may have been spawned from copies of these descriptors, or not. Its end of the status
 * socket tells: when all ends but ours are closed, nothing of it is left.
 */
void run_form_end(struct run_form *form)
{
    struct pollfd gone = { .fd = form->status_host };
    const int limit_ms = 10000;

    for (size_t i = 0; i < ARRAY_LEN(form->fds); i++) {
        fd_close(form->fds[i]);
        form->fds[i] = -1;
    }
    fd_close(form->lifeline_host);
    form->lifeline_host = -1;
    if (form->status_host >= 0 && poll(&gone, 1, limit_ms) == 1)
        hold_release(&form->hold);
    run_form_close(form);
}

/* ---- messages -------------------------------------------------------------------------------------- */

static int take_passed_fd(struct msghdr *header)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(header);
    int fd = -1;

    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len >= CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

static void handle_message(struct run *r, const struct status_msg *msg, int fd)
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
        break;
    case STATUS_TTY:
        fd_close(r->tty_fd);
        r->tty_fd = fd;
        return;
    case STATUS_STOPPED:
        r->stopped = msg->value;
        break;
    case STATUS_CONTINUED:
        r->stopped = 0;
        break;
    case STATUS_EXITED:
        r->exited = true;
        r->end = *msg;
        r->end_ns = run_now_ns();
        break;
    default:
        break;
    }
    fd_close(fd);
}

/* One message; false when the socket is empty or closed (then it is closed here too). */
static bool read_message(struct run *r)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct status_msg msg = { 0 };
    struct iovec iov = { .iov_base = &msg, .iov_len = sizeof msg };
    struct msghdr header = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    ssize_t n = recvmsg(r->status_fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n != (ssize_t)sizeof msg) {
        fd_close(r->status_fd);
        r->status_fd = -1;
        return false;
    }
    msg.step[sizeof msg.step - 1] = '\0';
    msg.text[sizeof msg.text - 1] = '\0';
    handle_message(r, &msg, take_passed_fd(&header));
    return true;
}

/* ---- start ------------------------------------------------------------------------------------------ */

static int32_t open_streams(struct run *r, const struct run_request *q, int *child_fds,
                            abx_error **err)
{
    for (int i = 1; i < 3; i++) {
        if (!q->capture[i])
            continue;
        int code = stream_open(&r->streams[i], i, q->limit, &child_fds[i]);
        if (code < 0)
            return err_sys(err, ABX_E_IO, code, "make a pipe for output");
        r->streams[i].output = q->output;
        r->streams[i].user = q->user;
    }
    return ABX_OK;
}

static int32_t spawn_run(struct run *r, const struct run_request *q, const struct run_form *form,
                         const int *child_fds, abx_error **err)
{
    const char *argv[] = { "agentbox-launcher", "run", form->holds_text, NULL };
    int fds[3 + ARRAY_LEN(form->fds)];
    _fd_ int null_fd = -1;

    for (int i = 0; i < 3; i++) {
        fds[i] = q->capture[i] ? child_fds[i] : q->stdio[i];
        if (fds[i] >= 0)
            continue;
        if (null_fd < 0)
            null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        fds[i] = null_fd;
    }
    memcpy(fds + 3, form->fds, form->count * sizeof fds[0]);
    const struct spawn_request spawn = {
        .image = q->image,
        .argv = argv,
        .cwd_fd = q->cwd_fd,
        .fds = fds,
        .count = 3 + form->count,
    };
    r->start_ns = run_now_ns();
    int32_t code = spawn_launcher(&spawn, &r->keeper, err);
    if (code != ABX_OK)
        return code;
    r->pidfd = (int)syscall(SYS_pidfd_open, r->keeper, 0);
    return ABX_OK;
}

/* Placeholders while the launcher makes its namespaces; then it may mount. */
static int32_t release_launcher(struct run *r, const struct run_request *q, abx_error **err)
{
    const char go = LIFELINE_GO;

    if (q->plan->hold_count == 0)
        return ABX_OK;
    int32_t code = hold_fill(&r->hold, q->plan, err);
    if (code != ABX_OK)
        return code;
    if (send(r->lifeline_fd, &go, 1, MSG_NOSIGNAL) != 1 && errno != EPIPE)
        return err_sys(err, ABX_E_IO, -errno, "release the launcher");
    return ABX_OK;
}

/* Until the command has been executed, or why it was not. */
static int32_t await_start(struct run *r, const struct run_request *q, abx_error **err)
{
    while (!r->started && !r->failed && r->status_fd >= 0) {
        int32_t code = run_pump(r, -1, err);
        if (code != ABX_OK)
            return code;
    }
    if (r->started)
        return ABX_OK;
    if (r->failed)
        return run_failure(&r->failure, q->plan, err);
    if (run_canceled(r))
        return err_new(err, ABX_E_CANCELED, "start the command: it was canceled");
    int32_t code = err_new(err, ABX_E_SANDBOX, "start the command: the launcher ended without a word");
    err_hint(err, "it was killed from outside, or the machine is out of memory");
    return code;
}

int32_t run_start(struct run *r, const struct run_request *q, abx_error **err)
{
    struct run_form form;
    int child_fds[3] = { -1, -1, -1 };

    run_form_init(&form);
    int32_t code = run_form_open(&form, q, err);

    if (code == ABX_OK)
        code = open_streams(r, q, child_fds, err);
    if (code == ABX_OK)
        code = spawn_run(r, q, &form, child_fds, err);
    r->status_fd = TAKE_FD(form.status_host);
    set_lifeline(r, TAKE_FD(form.lifeline_host));
    r->hold = form.hold;
    hold_init(&form.hold);
    run_form_close(&form);
    for (int i = 0; i < 3; i++)
        fd_close(child_fds[i]);

    if (code == ABX_OK)
        code = release_launcher(r, q, err);
    if (code == ABX_OK)
        code = await_start(r, q, err);
    return code;
}

/* ---- while it runs ------------------------------------------------------------------------------------ */

static void reap_keeper(struct run *r)
{
    siginfo_t info = { 0 };
    int n = r->pidfd >= 0 ? waitid((idtype_t)P_PIDFD, (id_t)r->pidfd, &info, WEXITED | WNOHANG)
                          : waitid(P_PID, (id_t)r->keeper, &info, WEXITED | WNOHANG);

    if (n == 0 && info.si_pid == 0)
        return;
    /* Reaped here, or by a host that waits for every child. */
    r->reaped = true;
    while (r->status_fd >= 0 && read_message(r))
        ;
    if (n != 0 || info.si_code != CLD_EXITED)
        hold_release(&r->hold); /* the keeper may have been killed before it could */
    for (int i = 1; i < 3; i++) {
        uint64_t before;
        do { /* nobody writes any more: what is in the pipe now is all */
            before = r->streams[i].total;
            (void)stream_read(&r->streams[i]);
        } while (r->streams[i].total != before);
    }
}

int32_t run_pump(struct run *r, int timeout_ms, abx_error **err)
{
    struct pollfd fds[4] = {
        { .fd = r->status_fd, .events = POLLIN },
        { .fd = r->streams[1].fd, .events = POLLIN },
        { .fd = r->streams[2].fd, .events = POLLIN },
        { .fd = r->pidfd, .events = POLLIN },
    };

    if (r->reaped)
        return ABX_OK;
    if (poll(fds, 4, timeout_ms) < 0 && errno != EINTR)
        return err_sys(err, ABX_E_IO, -errno, "wait for the sandbox");
    if (fds[0].revents)
        (void)read_message(r);
    for (int i = 1; i < 3; i++)
        if (fds[i].revents)
            (void)stream_read(&r->streams[i]);
    if (fds[3].revents || (r->pidfd < 0 && r->status_fd < 0))
        reap_keeper(r);
    return ABX_OK;
}

bool run_ended(const struct run *r)
{
    return r->reaped;
}

void run_signal(struct run *r, int signal_number)
{
    if (r->reaped || r->keeper <= 1)
        return;
    if (r->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, r->pidfd, signal_number, NULL, 0);
    else
        (void)kill(r->keeper, signal_number);
}

void run_cancel(struct run *r)
{
    (void)pthread_mutex_lock(&r->lock);
    r->canceled = true;
    if (r->lifeline_fd >= 0)
        (void)shutdown(r->lifeline_fd, SHUT_RDWR);
    (void)pthread_mutex_unlock(&r->lock);
}

void run_done(struct run *r)
{
    if (r->keeper > 0 && !r->reaped) {
        (void)pthread_mutex_lock(&r->lock);
        if (r->lifeline_fd >= 0)
            (void)shutdown(r->lifeline_fd, SHUT_RDWR);
        (void)pthread_mutex_unlock(&r->lock);
        while (!r->reaped && run_pump(r, -1, NULL) == ABX_OK)
            ;
    } else if (r->keeper <= 0) {
        hold_release(&r->hold); /* never spawned */
    }
    set_lifeline(r, -1);
    hold_close(&r->hold);
    fd_close(r->status_fd);
    fd_close(r->tty_fd);
    fd_close(r->pidfd);
    for (int i = 1; i < 3; i++)
        stream_close(&r->streams[i]);

    r->keeper = 0;
    r->status_fd = r->tty_fd = r->pidfd = -1;
    r->started = r->failed = r->exited = r->reaped = false;
    r->stopped = 0;
}
