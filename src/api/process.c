/* SPDX-License-Identifier: Apache-2.0 */
/* Spawned processes, and abx_manager_run, which is a process without a handle. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "api/internal.h"
#include "api/net.h"
#include "api/process.h"
#include "base/fd.h"
#include "base/list.h"
#include "base/wake.h"

/* A command that may be started: wrapped by this manager, or new and then its policy is built. */
static int32_t claim(abx_manager *m, abx_command *c, bool may_be_new, abx_error **err)
{
    int32_t code = manager_check(m, err);

    if (code == ABX_OK)
        code = command_check(c, "spawn", err);
    if (code != ABX_OK)
        return code;
    if (c->state == COMMAND_SPAWNED)
        return err_new(err, ABX_E_STATE, "spawn: the command was spawned already");
    if (c->state == COMMAND_NEW && !may_be_new)
        return err_new(err, ABX_E_STATE, "spawn: the command is not wrapped yet");
    if (c->state == COMMAND_WRAPPED && c->manager != m)
        return err_new(err, ABX_E_INVALID, "spawn: the command was wrapped by another manager");
    if (c->state == COMMAND_NEW)
        code = command_build_policy(m, c, err);
    if (code == ABX_OK)
        c->state = COMMAND_SPAWNED;
    return code;
}

static void unpublish(abx_command *c)
{
    (void)pthread_mutex_lock(&c->lock);
    c->run = NULL;
    (void)pthread_mutex_unlock(&c->lock);
}

/* ---- abx_manager_run ---- */

static int32_t run_to_end(abx_command *c, struct run *run, abx_result **ret, abx_error **err)
{
    struct net_run *net = NULL;
    int32_t code = command_start_run(c, run, true, &net, err);

    run->side_fd = net ? net_fd(c->manager->net) : -1;
    while (code == ABX_OK && !run_ended(run)) {
        code = run_pump(run, -1, err);
        if (run->side_ready)
            net_dispatch(c->manager->net);
    }
    net_leave(net, &run->violations);
    tell_remains(c->manager, run);
    if (code == ABX_OK)
        code = result_from_run(c->manager, run, c->required, ret, err);
    log_tell(c->manager, run->log_error);
    net_run_free(net);
    return code;
}

int32_t abx_manager_run(abx_manager *m, abx_command *c, abx_result **ret_result, abx_error **err)
{
    struct active active;
    struct run run;

    if (!c || !ret_result)
        return err_new(err, ABX_E_INVALID, "run: no command, or no place for the result");
    if (command_wants_tty(c))
        return err_new(err, ABX_E_INVALID, "run: a terminal needs abx_manager_spawn");
    int32_t code = claim(m, c, true, err);
    if (code != ABX_OK)
        return code;

    run_init(&run);
    code = manager_enter(m, &active, &run, err);
    if (code != ABX_OK)
        return code;
    code = run_to_end(c, &run, ret_result, err);
    unpublish(c);
    manager_finish(m, &run);
    manager_leave(m, &active); /* last: whoever closes the manager waits for it */
    return code;
}

/* ---- abx_process ---- */

static int watch_fds(abx_process *p)
{
    struct epoll_event event = { .events = EPOLLIN };

    p->done_fd = wake_open();
    p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (p->done_fd < 0 || p->epoll_fd < 0)
        return -errno;
    /* Where there is no thread, whoever waits for a process serves the network too. */
    const int net = p->net && !manager_has_thread(p->manager) ? net_fd(p->manager->net) : -1;
    const int fds[] = { p->done_fd,           p->run.status_fd,     p->run.pidfd,
                        p->run.streams[1].fd, p->run.streams[2].fd, net };
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (fds[i] >= 0 && epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fds[i], &event) < 0)
            return -errno;
    p->wait_fd = manager_has_thread(p->manager) ? p->done_fd : p->epoll_fd;
    p->run.streams[1].epoll_fd = p->run.streams[2].epoll_fd = p->epoll_fd;
    return 0;
}

/* With p->lock held: the run is over, and whoever waits or polls learns it. */
static void finish_locked(abx_process *p)
{
    p->finished = true;
    (void)epoll_ctl(p->manager->epoll_fd, EPOLL_CTL_DEL, p->epoll_fd, NULL);
    wake_signal(p->done_fd);
    manager_leave(p->manager, &p->active);
}

/* With p->lock held, but not while it pumps. What another thread is at is left to that one. */
static int32_t pump_locked(abx_process *p, abx_error **err)
{
    if (p->finished || p->pumping)
        return ABX_OK;
    p->pumping = true;
    p->pumper = pthread_self();
    (void)pthread_mutex_unlock(&p->lock);
    int32_t code = run_pump(&p->run, 0, err);
    const bool ended = run_ended(&p->run);
    if (ended) {
        net_leave(p->net, &p->run.violations);
        tell_remains(p->manager, &p->run);
    }
    (void)pthread_mutex_lock(&p->lock);
    p->pumping = false;
    if (ended)
        finish_locked(p);
    (void)pthread_cond_broadcast(&p->changed); /* ended, stopped, continued */
    return code;
}

static int32_t process_start(abx_process *p, abx_error **err)
{
    int32_t code = command_start_run(p->command, &p->run, false, &p->net, err);

    if (code != ABX_OK)
        return code;
    int r = watch_fds(p);
    if (r < 0)
        return err_sys(err, ABX_E_IO, r, "watch a process");
    code = manager_watch(p->manager, p, err);
    /* A very short command may have ended while it was being started. */
    (void)pthread_mutex_lock(&p->lock);
    if (code == ABX_OK && run_ended(&p->run))
        (void)pump_locked(p, NULL);
    (void)pthread_mutex_unlock(&p->lock);
    return code;
}

static int32_t spawn(abx_manager *m, abx_command *c, bool may_be_new, abx_process **ret,
                     abx_error **err)
{
    int32_t code = claim(m, c, may_be_new, err);

    if (code != ABX_OK)
        return code;
    abx_process *p = calloc(1, sizeof *p);
    if (!p)
        return err_nomem(err);
    p->command = c;
    c->process = p;
    p->manager = m;
    p->owner = getpid();
    p->epoll_fd = p->done_fd = p->wait_fd = -1;
    (void)pthread_mutex_init(&p->lock, NULL);
    cond_init(&p->changed);
    run_init(&p->run);

    code = manager_enter(m, &p->active, &p->run, err);
    if (code == ABX_OK)
        code = process_start(p, err);
    if (code != ABX_OK) {
        abx_process_free(p);
        return code;
    }
    p->required = c->required;
    *ret = p;
    return ABX_OK;
}

int32_t abx_command_spawn(abx_command *c, abx_process **ret_process, abx_error **err)
{
    if (!c || !ret_process)
        return err_new(err, ABX_E_INVALID, "spawn: no command, or no place for the process");
    if (c->state == COMMAND_NEW)
        return err_new(err, ABX_E_STATE, "spawn: the command is not wrapped yet");
    return spawn(c->manager, c, false, ret_process, err);
}

int32_t abx_manager_spawn(abx_manager *m, abx_command *c, abx_process **ret_process,
                          abx_error **err)
{
    if (!c || !ret_process)
        return err_new(err, ABX_E_INVALID, "spawn: no command, or no place for the process");
    return spawn(m, c, true, ret_process, err);
}

/* With p->lock held: the caller is a callback of this process. */
static bool is_callback(const abx_process *p)
{
    return p->pumping && pthread_equal(p->pumper, pthread_self());
}

void process_pump(abx_process *p)
{
    (void)pthread_mutex_lock(&p->lock);
    while (p->pumping && !is_callback(p)) /* or its descriptor would call us again at once */
        (void)pthread_cond_wait(&p->changed, &p->lock);
    (void)pump_locked(p, NULL);
    (void)pthread_mutex_unlock(&p->lock);
}

static int left_ms(int64_t deadline)
{
    if (deadline < 0)
        return -1;
    int64_t left = (deadline - run_now_ns() + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
    return left < 0 ? 0 : (int)MIN_OF(left, INT64_C(1000000));
}

/* The thread pumps, we wait for it; without one we pump ourselves, not holding the lock in poll. */
static int32_t wait_round(abx_process *p, int ms, abx_error **err)
{
    if (manager_has_thread(p->manager) || p->pumping) {
        struct timespec until = deadline_after(ms < 0 ? 60000 : ms);
        (void)pthread_cond_timedwait(&p->changed, &p->lock, &until);
        return ABX_OK;
    }
    struct pollfd fd = { .fd = p->epoll_fd, .events = POLLIN };
    (void)pthread_mutex_unlock(&p->lock);
    int n = poll(&fd, 1, ms);
    int error = n < 0 && errno != EINTR ? -errno : 0;
    if (p->net && n > 0)
        net_dispatch(p->manager->net);
    (void)pthread_mutex_lock(&p->lock);
    if (error)
        return err_sys(err, ABX_E_IO, error, "wait for a process");
    return n < 0 ? ABX_OK : pump_locked(p, err);
}

static int32_t check_owner(const abx_process *p, abx_error **err)
{
    if (p->owner != getpid())
        return err_new(err, ABX_E_FORKED, "use a process after fork: it belongs to process %d",
                       (int)p->owner);
    return ABX_OK;
}

int32_t abx_process_wait(abx_process *p, int32_t timeout_ms, abx_result **ret_result,
                         abx_error **err)
{
    if (!p || !ret_result)
        return err_new(err, ABX_E_INVALID, "wait: no process, or no place for its result");
    int32_t code = check_owner(p, err);
    if (code != ABX_OK)
        return code;

    int64_t deadline = timeout_ms < 0 ? -1 : run_now_ns() + timeout_ms * NSEC_PER_MSEC;
    (void)pthread_mutex_lock(&p->lock);
    if (is_callback(p))
        code = err_new(err, ABX_E_STATE, "wait for a process: in a callback that it waits for");
    while (code == ABX_OK && !p->finished) {
        code = wait_round(p, left_ms(deadline), err);
        if (left_ms(deadline) == 0)
            break;
    }
    if (code == ABX_OK && !p->finished)
        code = err_new(err, ABX_E_TIMEOUT, "wait for a process: it still runs after %d ms",
                       (int)timeout_ms);
    if (code == ABX_OK)
        code = result_from_run(p->manager, &p->run, p->required, ret_result, err);
    const int log_error = p->run.log_error;
    p->run.log_error = 0; /* told once */
    (void)pthread_mutex_unlock(&p->lock);
    log_tell(p->manager, log_error);
    return code;
}

int32_t abx_process_signal(abx_process *p, int32_t signal_number, abx_error **err)
{
    if (!p || signal_number < 1 || signal_number > 64)
        return err_new(err, ABX_E_INVALID, "send signal %d: out of range", (int)signal_number);
    int32_t code = check_owner(p, err);
    if (code != ABX_OK)
        return code;
    run_signal(&p->run, signal_number); /* never waits for who pumps: that may be our caller */
    return ABX_OK;
}

int32_t abx_process_pid(const abx_process *p)
{
    return p ? (int32_t)p->run.keeper : -1;
}

int32_t abx_process_tty_fd(const abx_process *p)
{
    return p ? p->run.tty_fd : -1;
}

int32_t abx_process_stopped(abx_process *p)
{
    return p ? p->run.stopped : 0;
}

int32_t abx_process_fd(const abx_process *p)
{
    return p ? p->wait_fd : -1;
}

/* In a process that was forked: the run is the parent's; only our copies go. */
static void free_copy(abx_process *p)
{
    if (p->prev) { /* out of the list of our copy of the manager */
        LIST_REMOVE(p);
    }
    run_forget(&p->run);
    net_run_forget(p->net);
    fd_close(p->epoll_fd);
    fd_close(p->done_fd);
    free(p);
}

void abx_process_free(abx_process *p)
{
    if (!p)
        return;
    if (p->command)
        p->command->process = NULL;
    if (p->owner != getpid()) {
        free_copy(p);
        return;
    }
    if (p->command)
        unpublish(p->command);
    if (p->manager) {
        manager_forget(p->manager, p);
        manager_finish(p->manager, &p->run);
        manager_leave(p->manager, &p->active);
    } else {
        run_done(&p->run, NULL);
    }
    net_run_free(p->net);
    fd_close(p->epoll_fd);
    fd_close(p->done_fd);
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}
