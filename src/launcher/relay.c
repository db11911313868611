/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way to the proxy where there is no network namespace: pid 1 connects for the command.
 *
 * The command's filter lets it make TCP sockets and nothing else, and every connect() waits here.
 * If it is for one of the proxy's ports on the loopback, pid 1 makes a pair of TCP sockets that are
 * connected to each other: one takes the place of the command's descriptor, the other goes out to
 * the proxy (net/server.h). Any other connect() fails as in an empty network. So there is no port
 * on the host that somebody else could use, and no address that the command's memory could change
 * after it was looked at: none of its calls is ever let through, and where Landlock knows about TCP
 * it refuses them once more.
 *
 * Trusts nothing of the caller: what it gets is a socket to the proxy, whatever it swaps meanwhile.
 * A pair is made through a listening socket that lives for a moment; a stranger who connects to it
 * first is turned away by his port.
 */
#include <asm/poll.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/time_types.h>

#include "launcher/launcher.h"

#define FAMILY_UNIX    1
#define FAMILY_V4      2
#define FAMILY_V6      10
#define TYPE_STREAM    1
#define TYPE_SEQPACKET 5
#define TYPE_NONBLOCK  04000
#define LEVEL_TCP      6
#define TCP_NO_DELAY   1
#define LENGTH_V6_MIN  24u /* without the scope */
#define LENGTH_MAX     128u
#define STRANGERS_MAX  16
#define PAIR_LIMIT     (2 * NSEC_PER_SEC)

union address {
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int relay_fd = -1; /* where connections go out */

long relay_open(struct launch *l)
{
    int pair[2];

    if (!l->plan.relayed)
        return 0;
    l->object = "proxy";
    long r = SYS4(__NR_socketpair, FAMILY_UNIX, TYPE_SEQPACKET | SYS_O_CLOEXEC, 0, pair);
    if (r < 0)
        return r;
    r = report_sockets(STATUS_LISTENERS, &pair[1], 1);
    file_close(pair[1]);
    if (r < 0) {
        file_close(pair[0]);
        return r;
    }
    relay_fd = pair[0];
    return 0;
}

static uint16_t swap(uint16_t port)
{
    return (uint16_t)(port << 8 | port >> 8);
}

/* ---- a pair of sockets ---- */

/* 127.0.0.1, for IPv6 sockets as well. */
static size_t loopback_of(int family, uint16_t port, union address *ret)
{
    static const uint8_t mapped[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 };
    const uint32_t loopback = 0x0100007f; /* as it lies in memory on both CPUs */

    memset(ret, 0, sizeof *ret);
    if (family == FAMILY_V4) {
        ret->v4.sin_family = FAMILY_V4;
        ret->v4.sin_port = port;
        ret->v4.sin_addr.s_addr = loopback;
        return sizeof ret->v4;
    }
    ret->v6.sin6_family = FAMILY_V6;
    ret->v6.sin6_port = port;
    memcpy(ret->v6.sin6_addr.s6_addr, mapped, sizeof mapped);
    return sizeof ret->v6;
}

/* As it goes over the wire; both families have it in the same place. */
static long local_port(int fd, uint16_t *ret)
{
    union address a;
    int len = sizeof a;
    long r = TRY3(__NR_getsockname, fd, &a, &len);

    *ret = a.v4.sin_port;
    return r;
}

static long open_listener(uint16_t *ret_port)
{
    union address any;
    const size_t len = loopback_of(FAMILY_V4, 0, &any);
    long fd = TRY3(__NR_socket, FAMILY_V4, TYPE_STREAM | TYPE_NONBLOCK | SYS_O_CLOEXEC, 0);

    if (fd < 0)
        return fd;
    long r = TRY3(__NR_bind, fd, &any, len);
    if (r >= 0)
        r = TRY2(__NR_listen, fd, STRANGERS_MAX);
    if (r >= 0)
        r = local_port((int)fd, ret_port);
    if (r >= 0)
        return fd;
    file_close((int)fd);
    return r;
}

/* The one that comes from `port`, or -errno. */
static long accept_own(int listener, uint16_t port)
{
    for (int i = 0; i < STRANGERS_MAX; i++) {
        struct pollfd ready = { .fd = listener, .events = POLLIN };
        struct __kernel_timespec limit = { .tv_sec = PAIR_LIMIT / NSEC_PER_SEC };
        union address from = { 0 }, own;
        int len = sizeof from;

        if (TRY5(__NR_ppoll, &ready, 1, &limit, 0, 0) <= 0)
            return -ETIMEDOUT;
        long fd = TRY4(__NR_accept4, listener, &from, &len, TYPE_NONBLOCK | SYS_O_CLOEXEC);
        if (fd < 0 && fd != -EAGAIN && fd != -ECONNABORTED)
            return fd;
        (void)loopback_of(FAMILY_V4, port, &own);
        if (fd >= 0 && from.v4.sin_port == own.v4.sin_port &&
            from.v4.sin_addr.s_addr == own.v4.sin_addr.s_addr)
            return fd;
        if (fd >= 0)
            file_close((int)fd);
    }
    return -ECONNREFUSED;
}

/* pair[0] is the side that connected, of this family. 0 or -errno. */
static long make_pair(int family, int pair[2])
{
    const int on = 1;
    uint16_t port;
    long listener = open_listener(&port);

    if (listener < 0)
        return listener;
    long fd = TRY3(__NR_socket, family, TYPE_STREAM | TYPE_NONBLOCK | SYS_O_CLOEXEC, 0), r = fd;
    if (fd >= 0) {
        union address to;
        const size_t len = loopback_of(family, port, &to);

        r = TRY3(__NR_connect, fd, &to, len);
        r = r == -EINPROGRESS ? 0 : r;
    }
    if (r >= 0)
        r = local_port((int)fd, &port);
    if (r >= 0)
        r = accept_own((int)listener, port);
    file_close((int)listener);
    if (r < 0) {
        if (fd >= 0)
            file_close((int)fd);
        return r;
    }
    /* What the command set on its own socket is gone. */
    (void)TRY5(__NR_setsockopt, fd, LEVEL_TCP, TCP_NO_DELAY, &on, sizeof on);
    pair[0] = (int)fd;
    pair[1] = (int)r;
    return 0;
}

/* ---- connect() ---- */

/* 127.0.0.1, ::1, or the first in the form of the second. */
static bool is_proxy(const union address *a)
{
    static const uint8_t own[16] = { [15] = 1 };
    const uint8_t *v6 = a->v6.sin6_addr.s6_addr;
    union address same;

    (void)loopback_of(a->v4.sin_family, 0, &same);
    if (a->v4.sin_family == FAMILY_V4)
        return a->v4.sin_addr.s_addr == same.v4.sin_addr.s_addr;
    return memcmp(v6, own, sizeof own) == 0 ||
           memcmp(v6, same.v6.sin6_addr.s6_addr, sizeof same.v6.sin6_addr) == 0;
}

static bool is_loopback(const union address *a)
{
    return is_proxy(a) || (a->v4.sin_family == FAMILY_V4 && (a->v4.sin_addr.s_addr & 0xff) == 127);
}

/* The family of a socket that leads to the proxy, or the -errno of an empty network. */
static long judge_address(const union address *a, size_t len)
{
    const int family = a->v4.sin_family;
    const uint16_t port = swap(a->v4.sin_port);

    if (family != FAMILY_V4 && family != FAMILY_V6)
        return -EAFNOSUPPORT;
    if (len < (family == FAMILY_V4 ? sizeof a->v4 : LENGTH_V6_MIN))
        return -EINVAL;
    if (!is_loopback(a))
        return -ENETUNREACH;
    return is_proxy(a) && (port == LISTEN_HTTP || port == LISTEN_SOCKS) ? family : -ECONNREFUSED;
}

static long connect_proxy(int listener, const struct notice *n, int family)
{
    int pair[2];
    long r = make_pair(family, pair);

    if (r < 0)
        return r;
    r = report_pass(relay_fd, pair[1]);
    file_close(pair[1]);
    if (r >= 0)
        r = sockets_replace(listener, n, pair[0]);
    else
        r = -ECONNREFUSED; /* the proxy is gone, or has more than it can take */
    file_close(pair[0]);
    return r;
}

bool relay_serve(int listener, const struct notice *n)
{
    union address a = { 0 };
    const size_t len = (uint32_t)n->args[2], size = MIN_OF(len, sizeof a);

    if (relay_fd < 0 || n->number != __NR_connect)
        return false;
    long r = len > LENGTH_MAX ? -EINVAL : 0;
    if (r == 0 && notify_read(n, n->args[1], &a, size) != (long)size)
        r = -EFAULT;
    if (r == 0)
        r = judge_address(&a, len);
    if (r >= 0)
        r = connect_proxy(listener, n, (int)r);
    if (r < 0)
        notify_answer(listener, n, (int)-r);
    return true;
}
