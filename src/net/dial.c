/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to servers.
 *
 * A dial goes connect → (handshake with a proxy) → done. Addresses are tried in the caller's order,
 * families alternating, with up to DIAL_AT_ONCE connects under way. A proxy is the host's own
 * choice, but its bytes are read with limits all the same, and never more of them than its answer:
 * what follows belongs to the tunnel.
 *
 * The result is always told from a turn of the loop of its own, so whoever starts a dial need not
 * expect to be called while it does.
 */
#include "net/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/fd.h"
#include "net/handshake.h"

struct attempt {
    struct loop_io io; /* fd < 0: free */
    struct dial *dial;
};

struct dial {
    struct loop *loop;
    dial_done_fn done;
    void *user;
    enum dial_via via;
    struct addr addrs[DIAL_MAX_ADDRS];
    size_t addr_count, next;
    uint16_t port;
    struct sockaddr_un unix_addr;
    struct attempt attempts[DIAL_AT_ONCE];
    unsigned under_way;
    struct handshake handshake; /* once one is connected */
    struct loop_io chosen;      /* … its descriptor */
    struct loop_timer stagger, deadline;
    struct loop_task finish;
    int result; /* an fd, or -errno: of the last that failed */
};

/* ---- the end ---- */

static void close_attempts(struct dial *d)
{
    for (size_t i = 0; i < DIAL_AT_ONCE; i++)
        loop_close(d->loop, &d->attempts[i].io);
    d->under_way = 0;
}

void dial_cancel(struct dial *d)
{
    if (!d)
        return;
    close_attempts(d);
    loop_close(d->loop, &d->chosen);
    loop_timer_clear(d->loop, &d->stagger);
    loop_timer_clear(d->loop, &d->deadline);
    loop_unpost(d->loop, &d->finish);
    handshake_done(&d->handshake);
    if (d->result >= 0)
        fd_close(d->result);
    free(d);
}

static void dial_tell(struct loop_task *task)
{
    struct dial *d = CONTAINER_OF(task, struct dial, finish);
    dial_done_fn done = d->done;
    void *user = d->user;
    int fd = d->result;

    d->result = -ECANCELED; /* it is the receiver's now */
    dial_cancel(d);
    done(user, fd);
}

static void dial_finish(struct dial *d, int result)
{
    close_attempts(d);
    loop_close(d->loop, &d->chosen);
    loop_timer_clear(d->loop, &d->stagger);
    loop_timer_clear(d->loop, &d->deadline);
    d->result = result;
    loop_post(d->loop, &d->finish);
}

static void dial_expired(struct loop_timer *timer)
{
    dial_finish(CONTAINER_OF(timer, struct dial, deadline), -ETIMEDOUT);
}

/* ---- the proxy ---- */

static void handshake_ready(struct loop_io *io, unsigned events)
{
    struct dial *d = CONTAINER_OF(io, struct dial, chosen);
    int r = handshake_go(&d->handshake, io->fd);

    (void)events;
    if (r == -EAGAIN)
        return;
    if (r < 0) {
        dial_finish(d, r);
        return;
    }
    loop_remove(d->loop, io);
    dial_finish(d, TAKE_FD(io->fd));
}

/* A connection stands. */
static void dial_connected(struct dial *d, int fd)
{
    static const int on = 1;

    close_attempts(d);
    loop_timer_clear(d->loop, &d->stagger);
    if (d->unix_addr.sun_family != AF_UNIX)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (d->handshake.kind == HANDSHAKE_NONE) {
        dial_finish(d, fd);
        return;
    }
    d->chosen = (struct loop_io){ .fd = fd, .ready = handshake_ready };
    int r = loop_add(d->loop, &d->chosen, LOOP_READ | LOOP_WRITE | LOOP_EDGE);
    if (r < 0)
        dial_finish(d, r);
}

/* ---- addresses ---- */

static void dial_next(struct dial *d);

static void attempt_ready(struct loop_io *io, unsigned events)
{
    struct attempt *a = CONTAINER_OF(io, struct attempt, io);
    struct dial *d = a->dial;
    int error = 0;
    socklen_t len = sizeof error;

    if ((events & LOOP_GONE) && getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    if (error == 0) {
        loop_remove(d->loop, io);
        dial_connected(d, TAKE_FD(io->fd));
        return;
    }
    loop_close(d->loop, io);
    d->under_way--;
    d->result = -error;
    dial_next(d);
}

static socklen_t fill_sockaddr(const struct dial *d, const struct addr *a,
                               struct sockaddr_storage *ret)
{
    *ret = (struct sockaddr_storage){ 0 };
    if (a->family == ADDR_V4) {
        struct sockaddr_in *in = (struct sockaddr_in *)(void *)ret;

        in->sin_family = AF_INET;
        in->sin_port = htons(d->port);
        memcpy(&in->sin_addr, a->bytes + 12, 4);
        return sizeof *in;
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)ret;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(d->port);
    memcpy(&in6->sin6_addr, a->bytes, 16);
    return sizeof *in6;
}

/*
 * 0: connected; -EINPROGRESS; another -errno. The second call asks whether the first has come
 * through meanwhile, as on loopback it has: no turn of the loop for that.
 */
static int connect_now(int fd, const struct sockaddr *to, socklen_t len)
{
    if (connect(fd, to, len) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return -errno;
    if (connect(fd, to, len) == 0 || errno == EISCONN)
        return 0;
    return errno == EALREADY || errno == EINPROGRESS ? -EINPROGRESS : -errno;
}

/* 0: under way, or connected already; or -errno. */
static int attempt_start(struct dial *d, const struct sockaddr *to, socklen_t len)
{
    struct attempt *a = d->attempts;
    _fd_ int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    int r = connect_now(fd, to, len);
    if (r == 0)
        dial_connected(d, TAKE_FD(fd));
    if (r != -EINPROGRESS)
        return r;
    while (a->io.fd >= 0)
        a++;
    a->io = (struct loop_io){ .fd = fd, .ready = attempt_ready };
    a->dial = d;
    r = loop_add(d->loop, &a->io, LOOP_WRITE);
    if (r < 0) {
        a->io.fd = -1;
        return r;
    }
    (void)TAKE_FD(fd);
    d->under_way++;
    return 0;
}

static void dial_next(struct dial *d)
{
    loop_timer_clear(d->loop, &d->stagger);
    while (d->next < d->addr_count && d->under_way < DIAL_AT_ONCE) {
        struct sockaddr_storage to;
        socklen_t len = fill_sockaddr(d, &d->addrs[d->next++], &to);
        int r = attempt_start(d, (const struct sockaddr *)(const void *)&to, len);

        if (r < 0) {
            d->result = r;
            continue;
        }
        if (d->under_way > 0 && d->next < d->addr_count)
            loop_timer_set(d->loop, &d->stagger, loop_now(d->loop) + DIAL_STAGGER);
        return;
    }
    if (d->under_way == 0)
        dial_finish(d, d->result);
}

static void stagger_expired(struct loop_timer *timer)
{
    dial_next(CONTAINER_OF(timer, struct dial, stagger));
}

/* IPv6 first, then one of each in turn, as RFC 8305 asks. */
static void order_addresses(struct dial *d, const struct addr *addrs, size_t count)
{
    size_t at[2] = { 0, 0 };
    unsigned turn = 0;

    count = MIN_OF(count, (size_t)DIAL_MAX_ADDRS);
    while (d->addr_count < count) {
        size_t *i = &at[turn];

        while (*i < count && (addrs[*i].family == ADDR_V6) != (turn == 0))
            ++*i;
        if (*i < count)
            d->addrs[d->addr_count++] = addrs[(*i)++];
        turn = !turn;
    }
}

static void dial_unix(struct dial *d)
{
    int r = attempt_start(d, (const struct sockaddr *)(const void *)&d->unix_addr,
                          sizeof d->unix_addr);

    if (r < 0)
        dial_finish(d, r == -EAGAIN ? -ECONNREFUSED : r);
}

static int dial_prepare(struct dial *d, const struct dial_target *t)
{
    enum handshake_kind kind = t->via == DIAL_CONNECT || t->via == DIAL_UNIX_CONNECT
                                   ? HANDSHAKE_CONNECT
                               : t->via == DIAL_SOCKS5 ? HANDSHAKE_SOCKS5
                                                       : HANDSHAKE_NONE;

    if (t->via == DIAL_UNIX || t->via == DIAL_UNIX_CONNECT) {
        size_t len = strlen(t->unix_path);

        if (len >= sizeof d->unix_addr.sun_path)
            return -ENAMETOOLONG;
        d->unix_addr.sun_family = AF_UNIX;
        memcpy(d->unix_addr.sun_path, t->unix_path, len + 1);
    } else {
        order_addresses(d, t->addrs, t->addr_count);
    }
    return kind == HANDSHAKE_NONE
               ? 0
               : handshake_init(&d->handshake, kind, t->host, t->host_port, t->user, t->password);
}

struct dial *dial_start(struct loop *loop, const struct dial_target *target, dial_done_fn done,
                        void *user)
{
    struct dial *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    d->loop = loop;
    d->done = done;
    d->user = user;
    d->via = target->via;
    d->port = target->port;
    d->result = -EADDRNOTAVAIL;
    d->chosen.fd = -1;
    d->finish.run = dial_tell;
    d->stagger.expired = stagger_expired;
    d->deadline.expired = dial_expired;
    for (size_t i = 0; i < DIAL_AT_ONCE; i++)
        d->attempts[i].io.fd = -1;
    int r = dial_prepare(d, target);
    loop_timer_set(loop, &d->deadline, loop_now(loop) + target->timeout);
    if (r < 0)
        dial_finish(d, r);
    else if (d->unix_addr.sun_family == AF_UNIX)
        dial_unix(d);
    else
        dial_next(d);
    return d;
}
