/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Managers: a configuration, the launcher's image, and the runs that are going on.
 *
 * A manager starts its thread with the first spawned process (abx_manager_run needs none: the
 * caller's own thread does the work). The thread blocks every signal and only pumps: it reads
 * messages and output so that a command never waits for a host that is busy elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "api/judge.h"
#include "api/kept.h"
#include "api/net.h"
#include "api/process.h"
#include "base/fd.h"
#include "base/list.h"
#include "base/wake.h"

const char *abx_version(void)
{
    return ABX_VERSION;
}

void abx_hooks_init(abx_hooks *hooks, uint32_t size)
{
    if (!hooks || size < sizeof hooks->size)
        return;
    memset(hooks, 0, size);
    hooks->size = size;
}

void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

struct timespec deadline_after(int32_t timeout_ms)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += timeout_ms / 1000;
    t.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (t.tv_nsec >= NSEC_PER_SEC) {
        t.tv_sec++;
        t.tv_nsec -= NSEC_PER_SEC;
    }
    return t;
}

int32_t manager_check(const abx_manager *m, abx_error **err)
{
    if (!m)
        return err_new(err, ABX_E_INVALID, "use a manager: it is NULL");
    if (m->owner != getpid())
        return err_new(err, ABX_E_FORKED, "use a manager after fork: it belongs to process %d",
                       (int)m->owner);
    return ABX_OK;
}

int32_t manager_check_open(abx_manager *m, const char *what, abx_error **err)
{
    int32_t code = manager_check(m, err);

    if (code != ABX_OK)
        return code;
    (void)pthread_mutex_lock(&m->lock);
    bool closed = m->closed;
    (void)pthread_mutex_unlock(&m->lock);
    return closed ? err_new(err, ABX_E_CLOSED, "%s: the manager is closed", what) : ABX_OK;
}

void manager_notice(const abx_manager *m, int32_t level, const char *text)
{
    if (m->hooks.notice)
        m->hooks.notice(m->hooks.user, level, "agentbox", text);
}

/* A copy that was found good: what is wrong is said now, not at the first command. */
static int32_t take_config(const abx_config *config, abx_config **ret, abx_error **err)
{
    _arena_ struct arena arena;
    const struct policy *policy;
    struct layers layers;
    abx_config *copy = NULL;
    int32_t code = config ? config_copy(config, &copy, err) : abx_config_new(&copy, err);

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    if (code == ABX_OK)
        code = settings_check(copy->settings, err);
    if (code == ABX_OK)
        code = config_merge(copy, NULL, 0, &arena, &layers, err);
    if (code == ABX_OK)
        code = config_policy(copy, &layers, NULL, &arena, &policy, err);
    if (code == ABX_OK && rules_are_set(copy->settings)) /* else with the first command */
        code = rules_build(copy, &layers, &copy->rules, &copy->rules_withheld, err);
    if (code != ABX_OK) {
        abx_config_free(copy);
        return code;
    }
    copy->refs = 1;
    *ret = copy;
    return ABX_OK;
}

/* A text of the caller's; false: no memory. */
static bool keep_text(const char **text, char **copy)
{
    if (!*text)
        return true;
    *copy = strdup(*text);
    *text = *copy;
    return *copy != NULL;
}

static int32_t manager_init(abx_manager *m, const abx_config *config, abx_error **err)
{
    int32_t code = take_config(config, &m->config, err);

    if (code != ABX_OK)
        return code;
    if (!keep_text(&m->hooks.helper_dir, &m->helper_dir) ||
        !keep_text(&m->hooks.program, &m->program))
        return err_nomem(err);
    m->image.helper_dir = m->helper_dir;
    const char *log = m->hooks.log_file;
    m->hooks.log_file = NULL; /* the caller's text; the file is open from now on */
    code = log ? log_open(log, &m->log_fd, err) : ABX_OK;
    m->log_path = log && code == ABX_OK ? realpath(log, NULL) : NULL;
    if (log && code == ABX_OK && !m->log_path)
        code = err_sys(err, ABX_E_IO, -errno, "find the log '%s'", log);
    return code;
}

static int32_t copy_hooks(abx_hooks *to, const abx_hooks *from, abx_error **err)
{
    if (!from)
        return ABX_OK;
    if (from->size < sizeof from->size + sizeof from->flags)
        return err_new(err, ABX_E_INVALID, "use hooks: abx_hooks_init was not called");
    memcpy(to, from, MIN_OF((size_t)from->size, sizeof *to));
    if (to->flags &
        ~(ABX_NO_THREAD | ABX_TRACE | ABX_KEEP_APPROVALS | ABX_LIMIT_QUESTIONS | ABX_KEEP_LOG))
        return err_new(err, ABX_E_INVALID, "use hooks: unknown flags 0x%x", to->flags);
    if (!to->approval_lookup != !to->approval_store ||
        (to->approval_lookup && (to->flags & ABX_KEEP_APPROVALS)))
        return err_new(err, ABX_E_INVALID,
                       "use hooks: a cache of approvals is two callbacks, or ABX_KEEP_APPROVALS");
    return ABX_OK;
}

/* The caller's hooks may be older, and shorter. */
static void free_user(const abx_hooks *hooks)
{
    const size_t needed = offsetof(abx_hooks, user_free) + sizeof hooks->user_free;

    if (hooks && hooks->size >= needed && hooks->user_free)
        hooks->user_free(hooks->user);
}

int32_t abx_manager_new(const abx_config *config, const abx_hooks *hooks, abx_manager **ret_manager,
                        abx_error **err)
{
    if (!ret_manager) {
        free_user(hooks);
        return err_new(err, ABX_E_INVALID, "make a manager: no place for it");
    }
    abx_manager *m = calloc(1, sizeof *m);
    if (!m) {
        free_user(hooks);
        return err_nomem(err);
    }
    m->owner = getpid();
    for (int i = 0; i < 3; i++)
        m->no_stream[i] = fcntl(i, F_GETFD) < 0;
    m->epoll_fd = m->wake_fd = m->log_fd = -1;
    image_init(&m->image, NULL);
    (void)pthread_mutex_init(&m->lock, NULL);
    cond_init(&m->idle);
    int32_t code = copy_hooks(&m->hooks, hooks, err);
    if (code == ABX_OK)
        code = manager_init(m, config, err);
    if (code != ABX_OK) {
        abx_manager_free(m);
        return code;
    }
    *ret_manager = m;
    return ABX_OK;
}

/* ---- the configuration ---- */

abx_config *manager_config(abx_manager *m)
{
    (void)pthread_mutex_lock(&m->lock);
    abx_config *config = m->config;
    (void)__atomic_add_fetch(&config->refs, 1, __ATOMIC_RELAXED);
    (void)pthread_mutex_unlock(&m->lock);
    return config;
}

int32_t abx_manager_update(abx_manager *m, const abx_config *config, abx_error **err)
{
    abx_config *new = NULL;
    int32_t code = manager_check(m, err);

    if (code == ABX_OK && !config)
        code = err_new(err, ABX_E_CONFIG, "update a manager: the configuration is NULL");
    if (code == ABX_OK)
        code = take_config(config, &new, err);
    if (code != ABX_OK)
        return code;
    (void)pthread_mutex_lock(&m->lock);
    bool closed = m->closed;
    abx_config *old = closed ? new : m->config;
    if (!closed)
        m->config = new;
    struct net *net = m->net;
    (void)pthread_mutex_unlock(&m->lock);
    config_unref(old);
    if (!closed)
        net_update(net);
    return closed ? err_new(err, ABX_E_CLOSED, "update a manager: it is closed") : ABX_OK;
}

/* ---- active runs ---- */

int32_t manager_enter(abx_manager *m, struct active *a, struct run *run, abx_error **err)
{
    (void)pthread_mutex_lock(&m->lock);
    if (m->closed) {
        (void)pthread_mutex_unlock(&m->lock);
        return err_new(err, ABX_E_CLOSED, "start a command: the manager is closed");
    }
    *a = (struct active){ .run = run };
    LIST_PUSH(m->active, a);
    (void)pthread_mutex_unlock(&m->lock);
    return ABX_OK;
}

void manager_leave(abx_manager *m, struct active *a)
{
    (void)pthread_mutex_lock(&m->lock);
    if (a->prev) {
        LIST_REMOVE(a);
        *a = (struct active){ 0 };
        (void)pthread_cond_broadcast(&m->idle);
    }
    (void)pthread_mutex_unlock(&m->lock);
}

/* Reaps what can be reaped; with wait, everything. */
static void reap_rests(abx_manager *m, bool wait)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->rest_count; i++)
        if (!run_reap(&m->rests[i], wait))
            m->rests[kept++] = m->rests[i];
    m->rest_count = kept;
}

static bool keep_rest(abx_manager *m, const struct run_rest *rest)
{
    if (m->rest_count == m->rest_capacity) {
        size_t capacity = m->rest_capacity ? 2 * m->rest_capacity : 8;
        struct run_rest *more = reallocarray(m->rests, capacity, sizeof *more);
        if (!more)
            return false;
        m->rests = more;
        m->rest_capacity = capacity;
    }
    m->rests[m->rest_count++] = *rest;
    struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = REST_EVENT };
    /* Without one, and without anybody who dispatches, the next run's end reaps it. */
    if (rest->pidfd >= 0)
        (void)epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, rest->pidfd, &event);
    return true;
}

void manager_finish(abx_manager *m, struct run *run)
{
    struct run_rest rest;

    run_done(run, &rest);
    (void)pthread_mutex_lock(&m->lock);
    reap_rests(m, false);
    bool kept = rest.keeper <= 0 || keep_rest(m, &rest);
    if (run->unused.keeper > 0 && keep_rest(m, &run->unused))
        run->unused = (struct run_rest){ .pidfd = -1 };
    (void)pthread_mutex_unlock(&m->lock);
    if (!kept)
        (void)run_reap(&rest, true);
}

/* ---- the thread ---- */

/* Has, or will have with its first process. */
bool manager_has_thread(const abx_manager *m)
{
    return !(m->hooks.flags & ABX_NO_THREAD);
}

/* The process with this id, kept from being freed until it is unpinned; NULL: gone. */
static abx_process *pin_process(abx_manager *m, uint64_t id)
{
    abx_process *p;

    (void)pthread_mutex_lock(&m->lock);
    for (p = m->processes; p && p->id != id; p = p->next)
        ;
    if (p)
        p->pins++;
    (void)pthread_mutex_unlock(&m->lock);
    return p;
}

static void unpin_process(abx_manager *m, abx_process *p)
{
    (void)pthread_mutex_lock(&m->lock);
    p->pins--;
    (void)pthread_cond_broadcast(&m->idle);
    (void)pthread_mutex_unlock(&m->lock);
}

static struct net *current_net(abx_manager *m)
{
    (void)pthread_mutex_lock(&m->lock);
    struct net *net = m->net;
    (void)pthread_mutex_unlock(&m->lock);
    return net;
}

/* One round over all processes that have something to say. */
static int dispatch(abx_manager *m, int timeout_ms)
{
    struct epoll_event events[32];
    int n = epoll_wait(m->epoll_fd, events, ARRAY_LEN(events), timeout_ms);

    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < n; i++) {
        if (events[i].data.u64 == NET_EVENT) {
            net_dispatch(current_net(m));
            continue;
        }
        if (events[i].data.u64 == REST_EVENT) {
            (void)pthread_mutex_lock(&m->lock);
            reap_rests(m, false);
            (void)pthread_mutex_unlock(&m->lock);
            continue;
        }
        abx_process *p = pin_process(m, events[i].data.u64);
        if (!p)
            continue;
        process_pump(p);
        unpin_process(m, p);
    }
    return 0;
}

static void *thread_main(void *arg)
{
    abx_manager *m = arg;

    for (;;) {
        (void)pthread_mutex_lock(&m->lock);
        bool stop = m->stop_thread;
        (void)pthread_mutex_unlock(&m->lock);
        if (stop || dispatch(m, -1) < 0)
            return NULL;
    }
}

static int start_thread(abx_manager *m)
{
    struct epoll_event event = { .events = EPOLLIN };
    _fd_ int wake = wake_open();
    sigset_t all, old;

    if (wake < 0)
        return wake;
    if (epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, wake, &event) < 0)
        return -errno;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int r = -pthread_create(&m->thread, NULL, thread_main, m);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    m->has_thread = r == 0;
    if (r == 0)
        m->wake_fd = TAKE_FD(wake);
    return r;
}

static void stop_thread(abx_manager *m)
{
    if (!m->has_thread)
        return;
    (void)pthread_mutex_lock(&m->lock);
    m->stop_thread = true;
    (void)pthread_mutex_unlock(&m->lock);
    wake_signal(m->wake_fd);
    (void)pthread_join(m->thread, NULL);
    m->has_thread = false;
}

static int ensure_epoll(abx_manager *m)
{
    if (m->epoll_fd < 0)
        m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return m->epoll_fd < 0 ? -errno : 0;
}

/* Somebody pumps from now on: the manager's thread, or the caller, who has the epoll. Locked. */
static int ensure_pump(abx_manager *m)
{
    int r = ensure_epoll(m);

    return r == 0 && manager_has_thread(m) && !m->has_thread ? start_thread(m) : r;
}

int32_t manager_watch(abx_manager *m, abx_process *p, abx_error **err)
{
    struct epoll_event event = { .events = EPOLLIN };

    (void)pthread_mutex_lock(&m->lock);
    p->id = event.data.u64 = ++m->last_id;
    LIST_PUSH(m->processes, p);
    int r = ensure_pump(m);
    if (r == 0 && epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, p->epoll_fd, &event) < 0)
        r = -errno;
    (void)pthread_mutex_unlock(&m->lock);
    return r < 0 ? err_sys(err, ABX_E_IO, r, "watch a process") : ABX_OK;
}

int32_t manager_pump(abx_manager *m, abx_error **err)
{
    (void)pthread_mutex_lock(&m->lock);
    int r = ensure_pump(m);
    (void)pthread_mutex_unlock(&m->lock);
    return r < 0 ? err_sys(err, ABX_E_IO, r, "start the manager's thread") : ABX_OK;
}

int32_t manager_net(abx_manager *m, struct net **ret, abx_error **err)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = NET_EVENT };
    int32_t code = ABX_OK;

    (void)pthread_mutex_lock(&m->lock);
    int r = m->net ? 0 : ensure_epoll(m);
    if (r == 0 && !m->net) {
        code = net_new(m, &m->net, err);
        if (code == ABX_OK && epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, net_fd(m->net), &event) < 0)
            r = -errno;
    }
    *ret = m->net;
    (void)pthread_mutex_unlock(&m->lock);
    return r < 0 ? err_sys(err, ABX_E_IO, r, "watch the network") : code;
}

void manager_forget(abx_manager *m, abx_process *p)
{
    (void)pthread_mutex_lock(&m->lock);
    if (p->prev) {
        LIST_REMOVE(p);
        p->prev = NULL;
        (void)epoll_ctl(m->epoll_fd, EPOLL_CTL_DEL, p->epoll_fd, NULL); /* it may have ended */
    }
    while (p->pins > 0)
        (void)pthread_cond_wait(&m->idle, &m->lock);
    (void)pthread_mutex_unlock(&m->lock);
}

int32_t abx_manager_fd(abx_manager *m)
{
    if (manager_check(m, NULL) != ABX_OK)
        return -1;
    (void)pthread_mutex_lock(&m->lock);
    int r = ensure_epoll(m);
    (void)pthread_mutex_unlock(&m->lock);
    return r < 0 ? -1 : m->epoll_fd;
}

int32_t abx_manager_dispatch(abx_manager *m, int32_t timeout_ms, abx_error **err)
{
    int32_t code = manager_check(m, err);

    if (code != ABX_OK)
        return code;
    if (manager_has_thread(m))
        return err_new(err, ABX_E_STATE, "dispatch: this manager has a thread of its own");
    if (abx_manager_fd(m) < 0)
        return err_sys(err, ABX_E_IO, -errno, "dispatch");
    int r = dispatch(m, timeout_ms);
    return r < 0 ? err_sys(err, ABX_E_IO, r, "dispatch") : ABX_OK;
}

/* ---- the end ---- */

/* Waits until something ended, the deadline passed (false), or a moment where nobody else pumps. */
static bool wait_idle(abx_manager *m, const struct timespec *until)
{
    const int moment_ms = 20;

    if (manager_has_thread(m) || m->epoll_fd < 0)
        return pthread_cond_timedwait(&m->idle, &m->lock, until) == 0;
    (void)pthread_mutex_unlock(&m->lock);
    (void)dispatch(m, moment_ms);
    (void)pthread_mutex_lock(&m->lock);

    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec < until->tv_sec ||
           (now.tv_sec == until->tv_sec && now.tv_nsec < until->tv_nsec);
}

/* Everything active is canceled; false if something still is after the time. */
static bool end_active(abx_manager *m, int32_t timeout_ms)
{
    struct timespec until = deadline_after(timeout_ms < 0 ? INT_MAX : timeout_ms);

    (void)pthread_mutex_lock(&m->lock);
    m->closed = true;
    for (struct active *a = m->active; a; a = a->next)
        run_cancel(a->run);
    manager_drop_questions(m);
    while ((m->active || m->askers) && wait_idle(m, &until))
        ;
    bool done = !m->active && !m->askers;
    (void)pthread_mutex_unlock(&m->lock);
    return done;
}

int32_t abx_manager_close(abx_manager *m, int32_t timeout_ms, abx_error **err)
{
    int32_t code = manager_check(m, err);

    if (code != ABX_OK)
        return code;
    if (!end_active(m, timeout_ms))
        return err_new(err, ABX_E_TIMEOUT, "close the manager: a command still runs after %d ms",
                       (int)timeout_ms);
    (void)pthread_mutex_lock(&m->lock);
    reap_rests(m, true);
    (void)pthread_mutex_unlock(&m->lock);
    return ABX_OK;
}

void abx_manager_free(abx_manager *m)
{
    if (!m)
        return;
    if (m->owner == getpid()) {
        (void)end_active(m, -1);
        stop_thread(m);
        reap_rests(m, true);
    }
    free(m->rests);
    kept_release(m->kept);
    free(m->session);
    while (m->processes) { /* handles may outlive us; their runs are over */
        abx_process *p = m->processes;
        m->processes = p->next;
        p->manager = NULL;
        p->prev = NULL;
    }
    net_free(m->net);
    image_done(&m->image);
    fd_close(m->wake_fd);
    fd_close(m->epoll_fd);
    fd_close(m->log_fd);
    config_unref(m->config);
    free(m->helper_dir);
    free(m->program);
    free(m->log_path);
    if (m->hooks.user_free)
        m->hooks.user_free(m->hooks.user);
    (void)pthread_cond_destroy(&m->idle);
    (void)pthread_mutex_destroy(&m->lock);
    free(m);
}
