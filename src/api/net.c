/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of filtered runs: who waits, who is served, and the role's life.
 *
 * Nothing of what the sandbox or the network sends is read here; the role is believed as far as
 * its messages make sense, and the worst that it can do is to tell nonsense about refusals. All
 * failures close: a run whose rules did not reach the role has no listener there.
 *
 * Calls to the role are sent without waiting, so that a role that starts slowly, or stands still,
 * holds up nobody who pumps. Two are waited for: new rules, because they hold when
 * abx_manager_update returns, and the end of a run, because its last records come before that.
 */
#include "api/net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "api/net_internal.h"
#include "api/net_rules.h"
#include "base/fd.h"
#include "base/list.h"
#include "base/str.h"

#define NOTICE_DIED                                                                                \
    "the network proxy has died: commands that used it go on without network, connections are "    \
    "refused"

#define LEAVE_NS (3 * NSEC_PER_SEC) /* a role that stands still holds up the end of a run so long */

/* Tags of the epoll: a run's listeners have its number and their own. */
enum { TAG_ROLE = 1, TAG_NAMES };
#define TAG_OF_RUN(id)  ((uint64_t)(id) << 32)
#define RUN_OF_TAG(tag) ((uint32_t)((tag) >> 32))

static uint32_t listener_id(const struct net_run *r, size_t index)
{
    return r->id * LISTENER_COUNT + (uint32_t)index;
}

static struct net_run *find_run(const struct net *n, uint32_t id)
{
    struct net_run *r = n->runs;

    while (r && r->id != id)
        r = r->next;
    return r;
}

static int watch(const struct net *n, int fd, uint64_t tag)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = tag };

    return epoll_ctl(n->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void close_ports(struct net_run *r)
{
    net_ports_close(&r->ports);
    while (r->socket_count > 0)
        fd_close(r->sockets[--r->socket_count]);
}

/* By hand: others may have copies. A forked process has the epoll of its parent: hands off. */
static void unwatch(const struct net *n, int fd)
{
    if (fd >= 0 && n->manager->owner == getpid())
        (void)epoll_ctl(n->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void drop_status(struct net *n, struct net_run *r)
{
    unwatch(n, TAKE_FD(r->status_fd));
}

static void drop_listeners(struct net *n, struct net_run *r)
{
    for (size_t i = 0; i < r->count; i++) {
        unwatch(n, r->fds[i]);
        fd_close(r->fds[i]);
    }
    r->count = 0;
    for (size_t i = 0; i < r->ports.count; i++)
        unwatch(n, r->ports.list[i].listener);
    close_ports(r);
}

/* ---- what was refused, what failed ---- */

static void add_news(struct net *n, int32_t level, const char *text)
{
    struct net_news one = { .level = level };

    if (n->news_count == NET_NEWS_MAX)
        return;
    one.text = strdup(text);
    if (one.text)
        n->news[n->news_count++] = one;
}

static void add_violation(struct net *n, struct net_run *r, const struct abx_violation *one)
{
    bool is_new = false;
    const struct abx_violation *v = violations_add(&r->violations, one, &is_new);

    if (v && is_new)
        add_news(n, ABX_NOTICE_VIOLATION, v->text);
}

/* No violation, but most clients of a tunnel show nothing but "502": somebody has to say why. */
static void add_failure(struct net *n, struct net_run *r, const struct server_record *record)
{
    bool is_new = false, silent = record->kind == REPLY_SILENT; /* not the same as no connection */

    (void)violations_add(&r->failures,
                         &(struct abx_violation){ .operation = VIOLATION_NETWORK,
                                                  .host = record->host,
                                                  .port = record->port,
                                                  .rule = silent ? "silent" : NULL },
                         &is_new);
    if (is_new)
        add_news(n, ABX_NOTICE_INFO, record->text);
}

/* ---- the role ---- */

/* Whatever wants to connect from now on is refused; the result says why. */
static void close_run(struct net *n, struct net_run *r, const char *why)
{
    r->state = NET_CLOSED;
    add_violation(n, r,
                  &(struct abx_violation){ .operation = VIOLATION_NETWORK,
                                           .detail = "proxy",
                                           .rule = "proxy",
                                           .origin = "built-in",
                                           .note = why });
}

static void role_died(struct net *n)
{
    client_done(&n->client);
    role_end(&n->role);
    names_close(&n->names);
    net_asks_clear(&n->asks);
    for (struct net_run *r = n->runs; r; r = r->next)
        if (r->state == NET_SERVED) {
            close_run(n, r, "the network proxy has died: connections are refused from now on");
            n->died = true;
        }
}

static void on_record(void *user, const struct server_record *record)
{
    struct net *n = user;
    struct net_run *r = find_run(n, record->listener / LISTENER_COUNT);

    if (!r)
        return;
    if (record->outcome == SERVER_FAILED && record->host[0] && record->kind != REPLY_SLOW_REQUEST)
        add_failure(n, r, record);
    if (record->outcome != SERVER_REFUSED)
        return;
    abx_config *config = manager_config(n->manager);
    const char *layer = net_rules_layer(config, r->call, record->rule, record->origin);
    config_unref(config); /* the name is a constant */
    add_violation(n, r,
                  &(struct abx_violation){ .operation = VIOLATION_NETWORK,
                                           .host = record->host,
                                           .port = record->port,
                                           .detail = record->protocol,
                                           .rule = record->rule,
                                           .origin = layer ? layer : record->origin,
                                           .source = layer ? record->origin : "",
                                           .grant = record->grant,
                                           .note = record->text });
}

static void on_lost(void *user, uint32_t records)
{
    const struct net *n = user;

    for (struct net_run *r = n->runs; r; r = r->next)
        if (r->state == NET_SERVED)
            r->violations.dropped += records; /* whose they were, nobody knows */
}

static void on_failed(void *user, uint32_t serial, const char *text)
{
    struct net *n = user;

    for (struct net_run *r = n->runs; r; r = r->next)
        if (r->state == NET_SERVED && serial - r->first_serial < r->last_serial - r->first_serial)
            close_run(n, r, text);
}

static int32_t start_role(struct net *n, abx_error **err)
{
    const struct client_hooks hooks = { .user = n,
                                        .record = on_record,
                                        .lost = on_lost,
                                        .ask = n->manager->hooks.network ? net_asked : NULL,
                                        .failed = on_failed };
    int control;
    int32_t code = role_start(role_program(n->manager->hooks.program), &n->role, &control, err);

    if (code != ABX_OK)
        return code;
    client_init(&n->client, control, &hooks);
    n->client.pipelined = true;
    code = client_setup(&n->client, &(struct server_limits){ 0 }, 53, err);
    names_open(&n->names); /* before they are read */
    if (code == ABX_OK)
        code = client_names(&n->client, NAMES_HOSTS, NAMES_RESOLV, err);
    int r = watch(n, n->client.control, TAG_ROLE);
    if (r == 0 && n->names.fd >= 0)
        r = watch(n, n->names.fd, TAG_NAMES);
    if (code == ABX_OK && r < 0)
        code = err_sys(err, ABX_E_PROXY, r, "watch the network proxy");
    if (code != ABX_OK)
        role_died(n);
    return code;
}

/* ---- a run's rules ---- */

/* What is in force now: the manager's configuration of this moment, and what the call said. */
static int32_t send_rules(struct net *n, struct net_run *r, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    struct net_rules net;
    abx_config *config = manager_config(n->manager);

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    int32_t code = net_rules_make(config, r->call, &arena, &net, err);
    net.rules.ask = n->manager->hooks.network != NULL && !net.blocked;
    if (net.blocked) /* by an update: then nothing is allowed */
        net.rules.lists.allowed.count = 0;
    if (code == ABX_OK)
        code = client_rules(&n->client, r->id, &net.rules, net.upstream, err);
    config_unref(config);
    return code;
}

static int32_t hand_over(struct net *n, struct net_run *r, abx_error **err)
{
    int32_t code = n->client.control < 0 ? start_role(n, err) : ABX_OK;

    if (code != ABX_OK)
        return code;
    r->first_serial = n->client.last_serial + 1;
    if (r->filtered)
        code = send_rules(n, r, err);
    for (size_t i = 0; i < r->count && code == ABX_OK; i++)
        code = client_listen(&n->client, listener_id(r, i), r->id, r->fds[i], err);
    for (size_t i = 0; i < r->socket_count && r->ports.count > 0 && code == ABX_OK; i++)
        code = client_give_socket(&n->client, r->id, r->sockets[i], err);
    for (size_t i = 0; i < r->ports.count && code == ABX_OK; i++)
        code = client_publish(&n->client, r->id, r->ports.list[i].inside, r->ports.list[i].listener,
                              err);
    r->last_serial = n->client.last_serial + 1;
    return code;
}

/* Somebody inside wants to talk. */
static void serve_run(struct net *n, struct net_run *r)
{
    _err_ abx_error *err = NULL;
    int32_t code = hand_over(n, r, &err);

    drop_listeners(n, r);
    r->state = NET_SERVED;
    if (n->client.control < 0)
        role_died(n);
    if (code != ABX_OK)
        close_run(n, r, abx_error_message(err));
}

/* An exec form was started, or has ended without ever getting that far. */
static void take_form(struct net *n, struct net_run *r)
{
    int count = deliver_listeners(r->status_fd, r->fds), e = 0;

    if (count == 0)
        return;
    drop_status(n, r);
    r->count = count > 0 ? (size_t)count : 0;
    for (size_t i = 0; i < r->count && e == 0; i++)
        e = watch(n, r->fds[i], TAG_OF_RUN(r->id));
    if (e < 0) {
        drop_listeners(n, r);
        close_run(n, r, "the network cannot be watched");
    }
}

/* The role said something, or has died. */
static void on_role(struct net *n)
{
    if (n->client.control >= 0 && client_dispatch(&n->client, 0, NULL) != ABX_OK)
        role_died(n);
}

/* /etc/hosts or resolv.conf may be new. */
static void on_names(struct net *n)
{
    if (n->names.fd >= 0 && names_changed(&n->names) && n->client.control >= 0 &&
        client_names(&n->client, NAMES_HOSTS, NAMES_RESOLV, NULL) != ABX_OK)
        role_died(n);
}

static void on_run(struct net *n, uint32_t id)
{
    struct net_run *r = find_run(n, id);

    if (r && r->status_fd >= 0)
        take_form(n, r);
    else if (r && r->state == NET_WAITS)
        serve_run(n, r);
}

static void on_event(struct net *n, uint64_t tag)
{
    if (tag == TAG_ROLE)
        on_role(n);
    else if (tag == TAG_NAMES)
        on_names(n);
    else
        on_run(n, RUN_OF_TAG(tag));
}

/* Without the lock. */
static void tell(struct net *n)
{
    struct net_news news[NET_NEWS_MAX];

    (void)pthread_mutex_lock(&n->lock);
    size_t count = n->news_count;
    bool died = n->died;
    memcpy(news, n->news, count * sizeof *news);
    n->news_count = 0;
    n->died = false;
    (void)pthread_mutex_unlock(&n->lock);
    if (died)
        manager_notice(n->manager, ABX_NOTICE_WARNING, NOTICE_DIED);
    for (size_t i = 0; i < count; i++) {
        manager_notice(n->manager, news[i].level, news[i].text);
        free(news[i].text);
    }
    if (n->manager->hooks.network)
        net_ask_untold(n);
}

void net_dispatch(struct net *n)
{
    struct epoll_event events[16];

    if (!n)
        return;
    (void)pthread_mutex_lock(&n->lock);
    int count = epoll_wait(n->epoll_fd, events, ARRAY_LEN(events), 0);
    for (int i = 0; i < count; i++)
        on_event(n, events[i].data.u64);
    (void)pthread_mutex_unlock(&n->lock);
    if (count > 0)
        tell(n);
}

void net_update(struct net *n)
{
    if (!n)
        return;
    (void)pthread_mutex_lock(&n->lock);
    n->client.pipelined = false;
    for (struct net_run *r = n->runs; r; r = r->next)
        if (r->state == NET_SERVED && r->filtered && send_rules(n, r, NULL) != ABX_OK) {
            /* The old rules must not go on. */
            role_died(n);
            break;
        }
    n->client.pipelined = true;
    (void)pthread_mutex_unlock(&n->lock);
    tell(n);
}

int net_fd(const struct net *n)
{
    return n ? n->epoll_fd : -1;
}

/* ---- life ---- */

int32_t net_new(abx_manager *m, struct net **ret, abx_error **err)
{
    struct net *n = calloc(1, sizeof *n);

    if (!n)
        return err_nomem(err);
    n->manager = m;
    n->client.control = n->names.fd = -1;
    n->role = ROLE_NONE;
    n->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (n->epoll_fd < 0) {
        int32_t code = err_sys(err, ABX_E_IO, -errno, "watch the network");
        free(n);
        return code;
    }
    (void)pthread_mutex_init(&n->lock, NULL);
    *ret = n;
    return ABX_OK;
}

static int32_t add_run(struct net *n, struct net_run *r, abx_error **err)
{
    int e = 0;

    (void)pthread_mutex_lock(&n->lock);
    r->net = n;
    r->id = ++n->last_id;
    LIST_PUSH(n->runs, r);
    for (size_t i = 0; i < r->count && e == 0; i++)
        e = watch(n, r->fds[i], TAG_OF_RUN(r->id));
    for (size_t i = 0; i < r->ports.count && e == 0; i++)
        e = watch(n, r->ports.list[i].listener, TAG_OF_RUN(r->id));
    if (r->status_fd >= 0 && e == 0)
        e = watch(n, r->status_fd, TAG_OF_RUN(r->id));
    (void)pthread_mutex_unlock(&n->lock);
    return e < 0 ? err_sys(err, ABX_E_IO, e, "watch the network") : ABX_OK;
}

static void close_all(struct net_run *r)
{
    for (size_t i = 0; i < r->count; i++)
        fd_close(r->fds[i]);
    r->count = 0;
    close_ports(r);
}

/* Descriptors of `found` are taken over, also on failure. */
static int32_t join(abx_manager *m, struct net_run *found, struct settings **call,
                    struct net_run **ret, abx_error **err)
{
    struct net_run *r = calloc(1, sizeof *r);
    struct net *n = NULL;
    int32_t code = manager_net(m, &n, err);

    if (code == ABX_OK && !r)
        code = err_nomem(err);
    if (code != ABX_OK || !r) {
        close_all(found);
        free(r);
        return code;
    }
    *r = *found;
    r->call = TAKE_PTR(*call);
    code = add_run(n, r, err);
    if (code != ABX_OK)
        net_run_free(TAKE_PTR(r));
    *ret = r;
    return code;
}

int32_t net_join(abx_manager *m, struct run *run, struct net_ports *ports, struct settings **call,
                 struct net_run **ret, abx_error **err)
{
    struct net_run found = { .status_fd = -1, .ports = *ports };

    ports->count = 0;
    found.count = run_take_listeners(run, found.fds);
    found.filtered = found.count > 0;
    found.socket_count = run_take_sockets(run, found.sockets);
    *ret = NULL;
    if (found.ports.count > 0 && found.socket_count == 0) {
        close_all(&found);
        return err_new(err, ABX_E_UNSUPPORTED,
                       "publish ports: the command has no network of its own here");
    }
    if (found.count > 0 || found.ports.count > 0)
        return join(m, &found, call, ret, err);
    close_all(&found);
    return ABX_OK;
}

int32_t net_join_form(abx_manager *m, int status_fd, struct settings **call, struct net_run **ret,
                      abx_error **err)
{
    struct net_run found = { .status_fd = status_fd, .filtered = true };
    int32_t code = manager_pump(m, err);

    *ret = NULL;
    return code == ABX_OK ? join(m, &found, call, ret, err) : code;
}

static void remove_run(struct net *n, struct net_run *r)
{
    drop_listeners(n, r);
    drop_status(n, r);
    LIST_REMOVE(r);
    r->net = NULL;
    r->state = NET_CLOSED;
}

/* Their records become the run's; the same thing may stand in both. */
static void move_violations(struct net_run *r, struct violations *to)
{
    for (size_t i = 0; to && i < r->violations.count; i++)
        (void)violations_add(to, &r->violations.list[i], NULL);
    if (to)
        to->dropped += r->violations.dropped;
    violations_done(&r->violations);
}

/* Waits for the role's answer: the run's last records come before it. */
static void leave_role(struct net *n, struct net_run *r)
{
    n->client.pipelined = false;
    n->client.call_ns = LEAVE_NS;
    int32_t code = client_drop_rules(&n->client, r->id, NULL);
    n->client.pipelined = true;
    n->client.call_ns = 0;
    r->state = NET_CLOSED; /* whatever happens now happens to others */
    if (code != ABX_OK)
        role_died(n);
}

void net_leave(struct net_run *r, struct violations *violations)
{
    struct net *n = r ? r->net : NULL;

    if (!n)
        return;
    (void)pthread_mutex_lock(&n->lock);
    if (r->state == NET_SERVED)
        leave_role(n, r);
    remove_run(n, r);
    move_violations(r, violations);
    (void)pthread_mutex_unlock(&n->lock);
    tell(n);
}

/* Its memory; the net does not know it any more. */
static void release(struct net_run *r)
{
    violations_done(&r->violations);
    violations_done(&r->failures);
    settings_free(r->call);
    free(r);
}

void net_run_free(struct net_run *r)
{
    if (!r)
        return;
    net_leave(r, NULL);
    release(r);
}

void net_run_forget(struct net_run *r)
{
    if (!r)
        return;
    close_all(r);
    if (r->net) /* out of the list of our copy */
        LIST_REMOVE(r);
    release(r);
}

void net_free(struct net *n)
{
    if (!n)
        return;
    while (n->runs)
        remove_run(n, n->runs);
    client_done(&n->client);
    if (n->manager->owner == getpid())
        role_end(&n->role);
    else
        role_forget(&n->role);
    names_close(&n->names);
    net_asks_done(&n->asks);
    while (n->news_count > 0)
        free(n->news[--n->news_count].text);
    fd_close(n->epoll_fd);
    (void)pthread_mutex_destroy(&n->lock);
    free(n);
}
