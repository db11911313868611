/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy's listeners: made here, inside the new network namespace, accepted on by the proxy
 * outside. A socket stays in the namespace that it was made in, so the proxy's process needs no
 * namespace of the sandbox, and the sandbox no process, socket file or route of the proxy's.
 *
 * Two ports, because programs expect them (LISTEN_HTTP, LISTEN_SOCKS; each serves both
 * protocols), on 127.0.0.1 and, where the kernel has IPv6, on ::1: a program that tries the one
 * is not told that there is nothing on the other. Any other failure ends the run: without a
 * listener what is allowed would not work and nobody would know why.
 *
 * For published ports it is the other way round: sockets are made here and connected outside, to
 * this loopback, which is all that they can reach.
 */
#include <linux/in.h>
#include <linux/in6.h>

#include "linux/launch.h"

#define LISTEN_STREAM  1 /* SOCK_STREAM */
#define LISTEN_BACKLOG 1024
#define LISTEN_V4      2  /* AF_INET */
#define LISTEN_V6      10 /* AF_INET6 */

static uint16_t big_endian(uint16_t port)
{
    return (uint16_t)(port << 8 | port >> 8);
}

static long bind_loopback(int fd, int family, uint16_t port)
{
    const uint32_t loopback = 0x0100007f; /* 127.0.0.1, as it lies in memory on both CPUs */

    if (family == LISTEN_V4) {
        struct sockaddr_in in = { .sin_family = LISTEN_V4, .sin_port = big_endian(port) };

        in.sin_addr.s_addr = loopback;
        return SYS3(__NR_bind, fd, &in, sizeof in);
    }
    struct sockaddr_in6 in6 = { .sin6_family = LISTEN_V6, .sin6_port = big_endian(port) };
    in6.sin6_addr.s6_addr[15] = 1;
    return SYS3(__NR_bind, fd, &in6, sizeof in6);
}

/* A listening socket, or -errno. */
static long open_one(int family, uint16_t port)
{
    long fd = SYS3(__NR_socket, family, LISTEN_STREAM | SYS_O_CLOEXEC, 0);

    if (fd < 0)
        return fd;
    long r = bind_loopback((int)fd, family, port);
    if (r >= 0)
        r = SYS2(__NR_listen, fd, LISTEN_BACKLOG);
    if (r >= 0)
        return fd;
    file_close((int)fd);
    return r;
}

static long give_up(const int *fds, long count, long error)
{
    while (count > 0)
        file_close(fds[--count]);
    return error;
}

long listen_open(struct launch *l, int fds[LISTENER_COUNT])
{
    static const uint16_t ports[] = { LISTEN_HTTP, LISTEN_SOCKS };
    static const int families[] = { LISTEN_V4, LISTEN_V6 };
    long n = 0;

    for (unsigned f = 0; f < ARRAY_LEN(families); f++)
        for (unsigned p = 0; p < ARRAY_LEN(ports); p++) {
            l->object = families[f] == LISTEN_V4 ? "127.0.0.1" : "::1";
            long fd = open_one(families[f], ports[p]);

            if (families[f] == LISTEN_V6 && (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL))
                continue; /* a kernel without IPv6 */
            if (fd < 0)
                return give_up(fds, n, fd);
            fds[n++] = (int)fd;
        }
    return n;
}

_Static_assert(2 * SOCKET_COUNT <= STATUS_MAX_FDS, "one message takes them all");

long listen_sockets(struct launch *l, int fds[2 * SOCKET_COUNT])
{
    static const int families[] = { LISTEN_V4, LISTEN_V6 };
    long n = 0;

    l->object = "published ports";
    for (unsigned i = 0; i < 2 * SOCKET_COUNT; i++) {
        int family = families[i % 2];
        long fd = SYS3(__NR_socket, family, LISTEN_STREAM | SYS_O_CLOEXEC, 0);

        if (family == LISTEN_V6 && fd == -EAFNOSUPPORT)
            continue;
        if (fd < 0)
            return give_up(fds, n, fd);
        fds[n++] = (int)fd;
    }
    return n;
}
