/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run does on every system: it waits for messages, output and the end of the launcher, and
 * can be ended from any thread. How messages come and what the end of the launcher means is known
 * to run.c and run_darwin.c (run_read_message, run_after_gone).
 *
 * run_pump never waits for a run that has ended. A launcher that speaks no more, and that no pidfd
 * watches, is looked for now and then.
 */
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/err.h"

#define LOOK_MS 10

int64_t run_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

bool run_canceled(struct run *r)
{
    (void)pthread_mutex_lock(&r->lock);
    bool canceled = r->canceled;
    (void)pthread_mutex_unlock(&r->lock);
    return canceled;
}

void run_hang_up(struct run *r)
{
    (void)pthread_mutex_lock(&r->lock);
    if (r->lifeline_fd >= 0)
        (void)shutdown(r->lifeline_fd, SHUT_RDWR);
    (void)pthread_mutex_unlock(&r->lock);
}

void run_cancel(struct run *r)
{
    (void)pthread_mutex_lock(&r->lock);
    r->canceled = true;
    (void)pthread_mutex_unlock(&r->lock);
    run_hang_up(r); /* a lifeline that comes later sees the mark */
}

void run_drain(struct run *r)
{
    for (int i = 1; i < 3; i++) {
        uint64_t before;
        do {
            before = r->streams[i].total;
            (void)stream_read(&r->streams[i]);
        } while (r->streams[i].total != before);
    }
}

static void on_gone(struct run *r)
{
    (void)pthread_mutex_lock(&r->lock);
    struct run_rest rest = { .keeper = r->keeper, .pidfd = r->pidfd };
    const bool gone = run_reap(&rest, false);
    if (gone) {
        r->pidfd = -1;
        r->gone = true;
    }
    (void)pthread_mutex_unlock(&r->lock);
    if (!gone)
        return;
    while (r->status_fd >= 0 && run_read_message(r))
        ;
    run_after_gone(r);
    run_drain(r);
}

/* No descriptor will tell that the launcher is gone. */
static bool is_unwatched(const struct run *r)
{
    return r->pidfd < 0 && r->status_fd < 0;
}

int32_t run_pump(struct run *r, int timeout_ms, abx_error **err)
{
    struct pollfd fds[5] = {
        { .fd = r->status_fd, .events = POLLIN },     { .fd = r->streams[1].fd, .events = POLLIN },
        { .fd = r->streams[2].fd, .events = POLLIN }, { .fd = r->pidfd, .events = POLLIN },
        { .fd = r->side_fd, .events = POLLIN },
    };

    if (run_ended(r))
        return ABX_OK;
    if (is_unwatched(r)) {
        on_gone(r);
        if (run_ended(r))
            return ABX_OK;
        timeout_ms = timeout_ms < 0 ? LOOK_MS : MIN_OF(timeout_ms, LOOK_MS);
    }
    if (poll(fds, 5, timeout_ms) < 0 && errno != EINTR)
        return err_sys(err, ABX_E_IO, -errno, "wait for the sandbox");
    r->side_ready = fds[4].revents != 0;
    if (fds[0].revents)
        (void)run_read_message(r);
    for (int i = 1; i < 3; i++)
        if (fds[i].revents)
            (void)stream_read(&r->streams[i]);
    if (fds[3].revents || is_unwatched(r))
        on_gone(r);
    return ABX_OK;
}

bool run_ended(const struct run *r)
{
    return r->exited || r->gone;
}

int32_t run_await_start(struct run *r, const struct plan *plan, abx_error **err)
{
    while (!r->started && !r->failed && r->status_fd >= 0 && !run_ended(r)) {
        int32_t code = run_pump(r, -1, err);
        if (code != ABX_OK)
            return code;
    }
    if (r->started)
        return ABX_OK;
    if (r->failed)
        return run_failure(&r->failure, plan, err);
    if (run_canceled(r))
        return err_new(err, ABX_E_CANCELED, "start the command: it was canceled");
    int32_t code = err_new(err, ABX_E_SANDBOX,
                           "start the command: the launcher ended without a word");
    err_hint(err, "it was killed from outside, or the machine is out of memory");
    return code;
}
