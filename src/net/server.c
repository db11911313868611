/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy's listeners, rules and limits.
 *
 * At the limit of connections the oldest that has not said yet what it wants makes room; when all
 * of them are at work, listeners rest until one ends, and the kernel's backlog holds who comes
 * meanwhile. So ten thousand half-open connections cost what the limit allows, and whoever really
 * asks for something gets through.
 *
 * Runs that share the server share the limit: one that has less than its part of it gets in at the
 * expense of those that have more, also of connections that are at work, and loses none to them.
 *
 * Rules are replaced as a whole: a filter is made first, and only if it stands the old one goes.
 */
#include "net/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "net/conn.h"

#define ACCEPT_ROUND 64                    /* of one listener before others have their turn */
#define ACCEPT_PAUSE (100 * NSEC_PER_MSEC) /* when descriptors or memory have run out */

/* ---- connections that may make room ---- */

void young_add(struct conn *c)
{
    struct young *y = &c->server->young;

    if (c->is_young)
        return;
    c->is_young = true;
    c->young_next = NULL;
    c->young_prev = y->last;
    if (y->last)
        y->last->young_next = c;
    else
        y->first = c;
    y->last = c;
}

void young_remove(struct conn *c)
{
    struct young *y = &c->server->young;

    if (!c->is_young)
        return;
    c->is_young = false;
    if (c->young_prev)
        c->young_prev->young_next = c->young_next;
    else
        y->first = c->young_next;
    if (c->young_next)
        c->young_next->young_prev = c->young_prev;
    else
        y->last = c->young_prev;
}

/* ---- listeners ---- */

static void listener_pause(struct listener *l, bool pause)
{
    if (l->paused == pause || l->io.fd < 0)
        return;
    l->paused = pause;
    l->server->resting = l->server->resting || pause;
    loop_change(l->server->loop, &l->io, pause ? 0 : LOOP_READ);
}

/* Who was refused already goes first, then who rested longest. */
static bool goes_before(const struct conn *a, const struct conn *b)
{
    bool refused = a->state == CONN_LINGER;

    return refused != (b->state == CONN_LINGER) ? refused : a->active < b->active;
}

/* There are as many as there can be: the one that makes room for one of these rules, or NULL. */
static struct conn *who_goes(const struct server *s, const struct rules *wants)
{
    const size_t part = MAX_OF(s->count / s->rules_count, (size_t)1);
    const bool has_part = wants->connections >= part;
    struct conn *found = NULL;

    for (struct conn *c = s->young.first; c; c = c->young_next)
        if (conn_rules(c)->connections > part || (has_part && conn_rules(c) == wants))
            return c;
    for (struct conn *c = s->conns; c && !has_part; c = c->next)
        if (conn_rules(c)->connections > part && (!found || goes_before(c, found)))
            found = c;
    return found;
}

static bool make_room(struct server *s, const struct rules *wants)
{
    if (s->count < s->limits.connections)
        return true;
    struct conn *c = who_goes(s, wants);
    if (!c)
        return false;
    conn_free(c);
    return true;
}

/* The connection that a packet brings; -1 with errno. Who sends it is believed (launcher/relay.c).
 */
static int receive_client(struct listener *l)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    char byte;
    struct iovec iov = { .iov_base = &byte, .iov_len = sizeof byte };
    struct msghdr header = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    static const int on = 1;
    int fd = -1;
    ssize_t n = recvmsg(l->io.fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&header) : NULL;

    if (n == 0) { /* nobody is left to send any */
        loop_remove(l->server->loop, &l->io);
        fd_close(TAKE_FD(l->io.fd));
    }
    if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    if (fd >= 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    else if (n >= 0)
        errno = EAGAIN;
    return fd;
}

/*
 * Descriptors or memory have run out, ours or the machine's: a connection that asked for nothing
 * yet makes room, or else the listener rests for a moment. Who waits in its backlog keeps its
 * place.
 */
static void accept_failed(struct listener *l, int error)
{
    struct server *s = l->server;
    bool full = error == EMFILE || error == ENFILE;

    l->round = 0;
    if (!full && error != ENOMEM && error != ENOBUFS)
        return;
    struct conn *c = full ? who_goes(s, l->rules) : NULL;
    if (c) {
        conn_free(c);
        return;
    }
    listener_pause(l, true);
    loop_timer_set(s->loop, &s->retry, loop_now(s->loop) + ACCEPT_PAUSE);
}

static void retry_expired(struct loop_timer *timer)
{
    struct server *s = CONTAINER_OF(timer, struct server, retry);

    loop_post(s->loop, &s->settle);
}

static void listener_ready(struct loop_io *io, unsigned events)
{
    struct listener *l = CONTAINER_OF(io, struct listener, io);
    struct server *s = l->server;

    (void)events;
    l->round = MIN_OF(2 * l->round + 1, (unsigned)ACCEPT_ROUND);
    for (unsigned i = 0; i < l->round; i++) {
        if (!make_room(s, l->rules)) {
            listener_pause(l, true);
            return;
        }
        int fd = l->passed ? receive_client(l)
                           : accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            accept_failed(l, errno);
            return;
        }
        (void)conn_new(l, fd);
    }
}

static void settle(struct loop_task *task)
{
    struct server *s = CONTAINER_OF(task, struct server, settle);

    if (s->stopping && s->count == 0) {
        loop_timer_clear(s->loop, &s->deadline);
        s->hooks.stopped(s->hooks.user);
        return;
    }
    s->resting = false;
    for (struct listener *l = s->listeners; l; l = l->next) {
        if (s->count < s->limits.connections)
            listener_pause(l, false);
        s->resting = s->resting || l->paused; /* the place may be another run's already */
    }
}

void server_lost_connection(struct server *s)
{
    if (s->stopping ? s->count == 0 : s->resting)
        loop_post(s->loop, &s->settle);
}

static void close_connections(struct server *s, const struct listener *l)
{
    struct conn *c = s->conns;

    while (c) {
        struct conn *next = c->next;

        if (!l || c->listener == l)
            conn_free(c);
        c = next;
    }
}

static void listener_free(struct listener *l)
{
    struct server *s = l->server;
    struct listener **at = &s->listeners;

    close_connections(s, l);
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    loop_close(s->loop, &l->io);
    free(l);
}

static struct rules *find_rules(const struct server *s, uint32_t id)
{
    struct rules *r = s->rules;

    while (r && r->id != id)
        r = r->next;
    return r;
}

int server_listen(struct server *s, uint32_t id, uint32_t rules, int fd)
{
    static const int on = 1;
    _fd_ int own = fd;
    struct rules *r = find_rules(s, rules);
    socklen_t len = sizeof(int);
    size_t count = 0;
    int listens = 0, type = 0;

    for (const struct listener *l = s->listeners; l; l = l->next, count++)
        if (l->id == id)
            return -EEXIST;
    if (!r)
        return -ENOENT;
    if (getsockopt(own, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 ||
        getsockopt(own, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
        (!listens && type != SOCK_SEQPACKET))
        return -EINVAL; /* anything else would be ready all the time */
    if (fcntl(own, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    if (s->stopping || count >= SERVER_MAX_LISTENERS)
        return -EBUSY;
    struct listener *l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    *l = (struct listener){ .io = { .fd = own, .ready = listener_ready },
                            .server = s,
                            .id = id,
                            .rules = r,
                            .passed = !listens };
    (void)setsockopt(own, IPPROTO_TCP, TCP_NODELAY, &on,
                     sizeof on); /* what it accepts has it too */
    int result = loop_add(s->loop, &l->io, LOOP_READ);
    if (result < 0) {
        free(l);
        return result;
    }
    (void)TAKE_FD(own);
    l->next = s->listeners;
    s->listeners = l;
    return 0;
}

/* ---- rules ---- */

static void rules_clear(struct rules *r)
{
    filter_free(r->filter);
    free((char *)(uintptr_t)r->how.mitm_path);
    r->filter = NULL;
    r->how = (struct server_rules){ 0 };
}

static void rules_free(struct server *s, struct rules *r)
{
    struct rules **at = &s->rules;

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    s->rules_count--;
    rules_clear(r);
    answers_free(r);
    free(r);
}

/* Closes what the new rules do not allow; what is not open yet is opened by them or not at all. */
static void judge_again(struct server *s, const struct rules *r)
{
    struct conn *c = s->conns;

    while (c) {
        struct conn *next = c->next;

        if (conn_rules(c) == r && (c->state == CONN_RESOLVE || c->state == CONN_DIAL))
            conn_open_again(c);
        else if (conn_rules(c) == r && !conn_still_allowed(c))
            conn_free(c);
        c = next;
    }
}

static struct rules *rules_new(struct server *s, uint32_t id)
{
    struct rules *r = s->rules_count < SERVER_MAX_RULES ? calloc(1, sizeof *r) : NULL;

    if (!r)
        return NULL;
    r->id = id;
    r->next = s->rules;
    s->rules = r;
    s->rules_count++;
    return r;
}

int32_t server_set_rules(struct server *s, uint32_t id, const struct server_rules *rules,
                         abx_error **err)
{
    _filter_ struct filter *filter = NULL;
    int32_t code = filter_new(&rules->lists, &filter, err);

    if (code != ABX_OK)
        return code;
    char *mitm = rules->mitm_path && rules->mitm_path[0] ? strdup(rules->mitm_path) : NULL;
    struct rules *r = find_rules(s, id);
    bool is_new = !r;
    if (is_new)
        r = rules_new(s, id);
    if (!r || (!mitm && rules->mitm_path && rules->mitm_path[0])) {
        free(mitm);
        if (r && is_new)
            rules_free(s, r);
        return err_nomem(err);
    }
    rules_clear(r);
    r->filter = TAKE_PTR(filter);
    r->how = *rules;
    r->how.lists = (struct filter_lists){ 0 };
    r->how.mitm_path = mitm;
    r->how.ask = rules->ask && s->hooks.ask;
    if (!r->how.ask)
        questions_forget(s, r);
    judge_again(s, r);
    return ABX_OK;
}

void server_remove_rules(struct server *s, uint32_t id)
{
    struct rules *r = find_rules(s, id);
    struct listener *l = s->listeners;

    if (!r)
        return;
    while (l) {
        struct listener *next = l->next;

        if (l->rules == r)
            listener_free(l);
        l = next;
    }
    questions_forget(s, r);
    rules_free(s, r);
}

/* ---- life ---- */

static void stop_expired(struct loop_timer *timer)
{
    struct server *s = CONTAINER_OF(timer, struct server, deadline);

    close_connections(s, NULL);
    loop_post(s->loop, &s->settle);
}

void server_stop(struct server *s)
{
    if (s->stopping)
        return;
    s->stopping = true;
    loop_timer_clear(s->loop, &s->retry);
    for (struct listener *l = s->listeners; l; l = l->next)
        loop_close(s->loop, &l->io);
    while (s->young.first)
        conn_free(s->young.first);
    questions_forget(s, NULL);
    loop_timer_set(s->loop, &s->deadline, loop_now(s->loop) + s->limits.stop_ns);
    loop_post(s->loop, &s->settle);
}

static void set_defaults(struct server_limits *l)
{
    l->connections = l->connections ? l->connections : SERVER_CONNECTIONS;
    l->request_body = l->request_body ? l->request_body : (uint64_t)10 << 20;
    l->head_ns = l->head_ns ? l->head_ns : 10 * NSEC_PER_SEC;
    l->dial_ns = l->dial_ns ? l->dial_ns : 10 * NSEC_PER_SEC;
    l->idle_ns = l->idle_ns ? l->idle_ns : 60 * NSEC_PER_SEC;
    l->ask_ns = l->ask_ns ? l->ask_ns : 60 * NSEC_PER_SEC;
    l->stop_ns = l->stop_ns ? l->stop_ns : 5 * NSEC_PER_SEC;
}

int server_new(struct loop *loop, struct resolver *resolver, const struct server_limits *limits,
               const struct server_hooks *hooks, struct server **ret)
{
    struct server *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    s->loop = loop;
    s->resolver = resolver;
    s->limits = *limits;
    s->hooks = *hooks;
    s->deadline.expired = stop_expired;
    s->retry.expired = retry_expired;
    s->settle.run = settle;
    set_defaults(&s->limits);
    *ret = s;
    return 0;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    s->stopping = true;
    close_connections(s, NULL);
    questions_forget(s, NULL);
    for (struct listener *l = s->listeners, *next; l; l = next) {
        next = l->next;
        listener_free(l);
    }
    for (struct rules *r = s->rules, *next; r; r = next) {
        next = r->next;
        rules_free(s, r);
    }
    loop_timer_clear(s->loop, &s->deadline);
    loop_timer_clear(s->loop, &s->retry);
    loop_unpost(s->loop, &s->settle);
    relay_pool_done(&s->pool);
    free(s);
}

size_t server_connections(const struct server *s)
{
    return s->count;
}
