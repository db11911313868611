/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bridge: a link for each client, which first dials and then relays (relay.h).
 *
 * Both descriptors are watched from the beginning, edge-triggered; what the loop says before the
 * target is connected is kept in the relay's flags. A client that goes away while we dial ends the
 * link. The listener rests while there are as many links as there may be, while there is no socket
 * to dial with, and for a moment after accept failed for another reason (no descriptors), so that
 * it never spins.
 *
 * Trusts its owner; looks at no byte.
 */
#include "net/bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/list.h"
#include "net/relay.h"

#define ACCEPT_ROUND 16
#define RETRY_NS     (100 * NSEC_PER_MSEC)

struct link {
    struct bridge *bridge;
    struct link *next, **prev;
    struct loop_io client, target;
    struct loop_timer deadline; /* of the dial */
    struct loop_task task;
    struct relay relay;
    unsigned tried; /* of the targets */
    bool connected;
    uint64_t waits; /* for a socket to the next target: its turn; 0: does not */
};

struct bridge {
    struct loop *loop;
    struct bridge_config config;
    struct loop_io listener;
    struct loop_timer retry;
    struct loop_task settle;
    struct relay_pool pool;
    struct link *links;
    size_t count;
    uint64_t turns; /* given to links that wait */
    int waiting;    /* a client for which there was no socket; -1: none */
    bool resting, stopping;
};

/* ---- links ---- */

static int take_socket(const struct bridge *b, unsigned target)
{
    if (b->config.take_socket)
        return b->config.take_socket(b->config.user, target);
    int fd = socket(b->config.to[target].ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 ? -errno : fd;
}

static void give_back(struct link *l)
{
    struct bridge *b = l->bridge;

    if (l->target.fd < 0 || !b->config.give_back) {
        loop_close(b->loop, &l->target);
        return;
    }
    loop_remove(b->loop, &l->target);
    b->config.give_back(b->config.user, l->tried - 1, TAKE_FD(l->target.fd));
}

static void link_free(struct link *l)
{
    struct bridge *b = l->bridge;

    loop_close(b->loop, &l->client);
    give_back(l);
    loop_timer_clear(b->loop, &l->deadline);
    loop_unpost(b->loop, &l->task);
    relay_done(&l->relay);
    LIST_REMOVE(l);
    b->count--;
    free(l);
    loop_post(b->loop, &b->settle);
}

static void link_pump(struct link *l)
{
    enum relay_step step = relay_pump(&l->relay);

    if (step == RELAY_MORE)
        loop_post(l->bridge->loop, &l->task);
    else if (step != RELAY_WAIT)
        link_free(l);
}

static void task_run(struct loop_task *task)
{
    link_pump(CONTAINER_OF(task, struct link, task));
}

static void client_ready(struct loop_io *io, unsigned events)
{
    struct link *l = CONTAINER_OF(io, struct link, client);

    relay_ready(&l->relay, RELAY_CLIENT, events);
    if (l->connected)
        link_pump(l);
    else if (events & LOOP_GONE)
        link_free(l);
}

/* A socket that begins to connect to the next target; 0 or -errno. */
static int dial_one(struct link *l, int fd)
{
    static const int on = 1;
    struct bridge *b = l->bridge;
    const struct sockaddr_storage *to = &b->config.to[l->tried++];

    l->target.fd = l->relay.fds[RELAY_SERVER] = fd;
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (const struct sockaddr *)to, sizeof *to) < 0 && errno != EINPROGRESS)
        return -errno;
    return loop_add(b->loop, &l->target, LOOP_READ | LOOP_WRITE | LOOP_EDGE);
}

/* False: there is no target left. */
static bool dial_next(struct link *l, int fd)
{
    while (fd >= 0) {
        if (dial_one(l, fd) == 0)
            return true;
        give_back(l);
        if (l->tried == l->bridge->config.to_count)
            return false;
        fd = take_socket(l->bridge, l->tried);
    }
    if (fd == -EAGAIN)
        l->waits = ++l->bridge->turns;
    return fd == -EAGAIN;
}

static struct link *longest_waiting(const struct bridge *b)
{
    struct link *first = NULL;

    for (struct link *l = b->links; l; l = l->next)
        if (l->waits && (!first || l->waits < first->waits))
            first = l;
    return first;
}

/* A socket came back: it may be one that a link waits for. */
static void resume_links(struct bridge *b)
{
    struct link *l;

    while ((l = longest_waiting(b)) != NULL) {
        int fd = take_socket(b, l->tried);
        if (fd == -EAGAIN)
            return;
        l->waits = 0;
        if (!dial_next(l, fd)) /* it ends with the next turn of the loop */
            loop_timer_set(b->loop, &l->deadline, loop_now(b->loop));
    }
}

static void target_ready(struct loop_io *io, unsigned events)
{
    struct link *l = CONTAINER_OF(io, struct link, target);
    socklen_t len = sizeof(int);
    int error = 0;

    if (!l->connected && (getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error)) {
        give_back(l);
        bool more = l->tried < l->bridge->config.to_count;
        if (!more || !dial_next(l, take_socket(l->bridge, l->tried)))
            link_free(l);
        return;
    }
    relay_ready(&l->relay, RELAY_SERVER, events);
    l->connected = true;
    loop_timer_clear(l->bridge->loop, &l->deadline);
    link_pump(l);
}

static void dial_expired(struct loop_timer *timer)
{
    link_free(CONTAINER_OF(timer, struct link, deadline));
}

/* Takes both. */
static void link_new(struct bridge *b, int client, int target)
{
    struct link *l = calloc(1, sizeof *l);

    if (!l) {
        fd_close(client);
        fd_close(target);
        return;
    }
    l->bridge = b;
    l->client = (struct loop_io){ .fd = client, .ready = client_ready };
    l->target = (struct loop_io){ .fd = -1, .ready = target_ready };
    l->deadline.expired = dial_expired;
    l->task.run = task_run;
    relay_init(&l->relay, &b->pool, client, target);
    LIST_PUSH(b->links, l);
    b->count++;
    loop_timer_set(b->loop, &l->deadline, loop_now(b->loop) + b->config.dial_ns);
    if (!dial_next(l, target) ||
        loop_add(b->loop, &l->client, LOOP_READ | LOOP_WRITE | LOOP_EDGE) < 0)
        link_free(l);
}

/* ---- the listener ---- */

static void rest(struct bridge *b, bool resting)
{
    if (b->resting == resting || b->stopping)
        return;
    b->resting = resting;
    loop_change(b->loop, &b->listener, resting ? 0 : LOOP_READ);
}

static void rest_a_moment(struct bridge *b)
{
    rest(b, true);
    loop_timer_set(b->loop, &b->retry, loop_now(b->loop) + RETRY_NS);
}

/* The client gets its link, or waits until there is a socket for it. */
static bool serve(struct bridge *b, int client)
{
    int target = take_socket(b, 0);

    if (target == -EAGAIN) {
        b->waiting = client;
        rest(b, true);
        return false;
    }
    if (target >= 0)
        link_new(b, client, target);
    else
        fd_close(client);
    return true;
}

/* False: not now, or nobody is there. */
static bool accept_one(struct bridge *b)
{
    if (b->count >= b->config.connections) {
        rest(b, true);
        return false;
    }
    int client = accept4(b->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client >= 0)
        return serve(b, client);
    if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
        rest_a_moment(b);
    return false;
}

static void listener_ready(struct loop_io *io, unsigned events)
{
    struct bridge *b = CONTAINER_OF(io, struct bridge, listener);

    (void)events;
    for (unsigned i = 0; i < ACCEPT_ROUND && accept_one(b); i++)
        continue;
}

void bridge_resume(struct bridge *b)
{
    if (b->stopping)
        return;
    resume_links(b);
    if (b->waiting < 0 || serve(b, TAKE_FD(b->waiting)))
        rest(b, false);
}

static void retry(struct loop_timer *timer)
{
    bridge_resume(CONTAINER_OF(timer, struct bridge, retry));
}

/* After a link went. */
static void settle(struct loop_task *task)
{
    struct bridge *b = CONTAINER_OF(task, struct bridge, settle);

    if (!b->stopping)
        bridge_resume(b);
    else if (b->count == 0 && b->config.ended)
        b->config.ended(b->config.user);
}

/* ---- life ---- */

int bridge_new(struct loop *loop, const struct bridge_config *config, struct bridge **ret)
{
    _fd_ int listener = config->listener;
    struct bridge *b = calloc(1, sizeof *b);

    if (!b)
        return -ENOMEM;
    b->loop = loop;
    b->config = *config;
    b->config.connections = config->connections ? config->connections : BRIDGE_CONNECTIONS;
    b->config.dial_ns = config->dial_ns ? config->dial_ns : BRIDGE_DIAL_NS;
    b->listener = (struct loop_io){ .fd = listener, .ready = listener_ready };
    b->waiting = -1;
    b->retry.expired = retry;
    b->settle.run = settle;
    b->pool.chunk = BRIDGE_CHUNK;
    int r = fcntl(listener, F_SETFL, O_NONBLOCK) < 0 ? -errno
                                                     : loop_add(loop, &b->listener, LOOP_READ);
    if (r < 0) {
        free(b);
        return r;
    }
    (void)TAKE_FD(listener);
    *ret = b;
    return 0;
}

static void close_links(struct bridge *b, bool all)
{
    struct link *l = b->links;

    while (l) {
        struct link *next = l->next;

        if (all || !l->connected)
            link_free(l);
        l = next;
    }
}

void bridge_stop(struct bridge *b)
{
    if (b->stopping)
        return;
    b->stopping = true;
    loop_close(b->loop, &b->listener);
    loop_timer_clear(b->loop, &b->retry);
    fd_close(TAKE_FD(b->waiting));
    close_links(b, false);
    loop_post(b->loop, &b->settle);
}

void bridge_cut(struct bridge *b)
{
    bridge_stop(b);
    close_links(b, true);
}

void bridge_free(struct bridge *b)
{
    if (!b)
        return;
    bridge_cut(b);
    loop_unpost(b->loop, &b->settle);
    relay_pool_done(&b->pool);
    free(b);
}
