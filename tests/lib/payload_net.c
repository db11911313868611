/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts on sockets, and the host's side of them: "serve" opens one listener of each kind, says
 * where, and writes a line to its log for every connection or datagram that arrives. A test that
 * finds the log empty has been reached by nobody, whatever the attempt said.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "payload.h"

#define HELLO "reached the host\n"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static socklen_t unix_address(struct sockaddr_un *address, const char *name, bool is_abstract)
{
    size_t shift = is_abstract ? 1 : 0;
    size_t len = strlen(name);

    (void)memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (len + shift >= sizeof address->sun_path) {
        (void)fprintf(stderr, "payload: socket name too long: '%s'\n", name);
        exit(2);
    }
    (void)memcpy(address->sun_path + shift, name, len);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
}

static int socket_type(const char *word)
{
    if (strcmp(word, "dgram") == 0)
        return SOCK_DGRAM;
    if (strcmp(word, "seqpacket") == 0)
        return SOCK_SEQPACKET;
    return strcmp(word, "raw") == 0 ? SOCK_RAW : SOCK_STREAM;
}

static long connect_and_send(int fd, const void *address, socklen_t len)
{
    if (connect(fd, address, len) < 0)
        return -errno;
    return payload_errno(send(fd, HELLO, strlen(HELLO), MSG_NOSIGNAL));
}

long try_unix(char **args)
{
    struct sockaddr_un address;
    socklen_t len = unix_address(&address, args[1], false);
    int fd = socket(AF_UNIX, socket_type(args[0]) | SOCK_CLOEXEC, 0);

    return fd < 0 ? -errno : connect_and_send(fd, &address, len);
}

long try_abstract(char **args)
{
    struct sockaddr_un address;
    socklen_t len = unix_address(&address, args[0], true);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd < 0 ? -errno : connect_and_send(fd, &address, len);
}

/* A pair needs no address, so it may be allowed where socket() is not: can one end leave? */
long try_pair(char **args)
{
    struct sockaddr_un address;
    bool is_abstract = args[1][0] == '@';
    socklen_t len = unix_address(&address, args[1] + (is_abstract ? 1 : 0), is_abstract);
    int fds[2];

    if (socketpair(AF_UNIX, socket_type(args[0]) | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    if (sendto(fds[0], HELLO, strlen(HELLO), MSG_NOSIGNAL, (void *)&address, len) >= 0 &&
        recv(fds[1], (char[64]){ 0 }, 64, MSG_DONTWAIT) < 0)
        return 0; /* sent, and not to the other end */
    struct sockaddr unspec = { .sa_family = AF_UNSPEC };
    (void)connect(fds[0], &unspec, sizeof unspec);
    (void)close(fds[1]);
    return connect_and_send(fds[0], &address, len);
}

/* Descriptors over a pair stay possible: build tools pass them. */
long try_passing(char **args)
{
    int fds[2], sent = STDERR_FILENO;
    char byte = 'x', control[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec part = { &byte, 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    (void)args;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    (void)memcpy(CMSG_DATA(head), &sent, sizeof sent);
    if (sendmsg(fds[0], &message, 0) < 0)
        return -errno;
    return payload_errno(recvmsg(fds[1], &message, 0));
}

static int inet_socket(const char *kind, int family)
{
    if (strcmp(kind, "udp") == 0)
        return socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (strcmp(kind, "mptcp") == 0)
        return socket(family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
    if (strcmp(kind, "sctp") == 0)
        return socket(family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SCTP);
    if (strcmp(kind, "icmp") == 0)
        return socket(family, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);
    if (strcmp(kind, "raw") == 0)
        return socket(family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_UDP);
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

long try_inet(char **args)
{
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    bool is_v6 = strchr(args[1], ':');
    int fd = inet_socket(args[0], is_v6 ? AF_INET6 : AF_INET);

    if (fd < 0)
        return -errno;
    v6.sin6_port = v4.sin_port = htons((uint16_t)payload_number(args[2]));
    if (inet_pton(is_v6 ? AF_INET6 : AF_INET, args[1],
                  is_v6 ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr) != 1)
        return -EDOM;

    const void *address = is_v6 ? (const void *)&v6 : (const void *)&v4;
    socklen_t len = is_v6 ? sizeof v6 : sizeof v4;
    struct timeval limit = { .tv_sec = 2 };
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (strcmp(args[0], "tfo") == 0)
        return payload_errno(
            sendto(fd, HELLO, strlen(HELLO), MSG_FASTOPEN | MSG_NOSIGNAL, address, len));
    return connect_and_send(fd, address, len);
}

static int listen_inet(int type, uint16_t *ret_port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (void *)&address, len) < 0 ||
        getsockname(fd, (void *)&address, &len) < 0 || (type == SOCK_STREAM && listen(fd, 8) < 0))
        return -1;
    *ret_port = ntohs(address.sin_port);
    return fd;
}

long try_loopback(char **args)
{
    uint16_t port;
    int server = listen_inet(SOCK_STREAM, &port);
    char text[8];

    if (server < 0)
        return -errno;
    (void)snprintf(text, sizeof text, "%u", (unsigned)port);
    args[0] = "tcp";
    args[1] = "127.0.0.1";
    args[2] = text;
    long r = try_inet(args);
    return r < 0 ? r : payload_errno(accept(server, NULL, NULL));
}

/* ---- the host's canaries ----------------------------------------------------------------------
 */

static int listen_unix(int type, const char *name, bool is_abstract)
{
    struct sockaddr_un address;
    socklen_t len = unix_address(&address, name, is_abstract);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (void *)&address, len) < 0 || (type != SOCK_DGRAM && listen(fd, 8) < 0))
        return -1;
    return fd;
}

static void serve_one(FILE *log, const char *what, int fd, bool is_stream)
{
    char text[256];

    if (is_stream) {
        int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        struct timeval limit = { .tv_usec = 200000 };
        if (peer >= 0) {
            /* Not closed before the caller has sent: it would take that for a refusal. */
            (void)setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
            (void)recv(peer, text, sizeof text, 0);
            (void)close(peer);
        }
    } else {
        (void)recv(fd, text, sizeof text, MSG_DONTWAIT);
    }
    (void)fprintf(log, "%s\n", what);
    (void)fflush(log);
}

/* args: log, directory for stream and dgram, abstract name. Prints "tcp PORT udp PORT", stays. */
long try_serve(char **args)
{
    static const char *const what[] = { "stream", "dgram", "abstract", "tcp", "udp" };
    struct pollfd polled[5];
    char path[256];
    uint16_t tcp = 0, udp = 0;
    FILE *log = fopen(args[0], "ae");

    if (!log)
        return -errno;
    (void)snprintf(path, sizeof path, "%s/stream", args[1]);
    polled[0].fd = listen_unix(SOCK_STREAM, path, false);
    (void)snprintf(path, sizeof path, "%s/dgram", args[1]);
    polled[1].fd = listen_unix(SOCK_DGRAM, path, false);
    polled[2].fd = listen_unix(SOCK_STREAM, args[2], true);
    polled[3].fd = listen_inet(SOCK_STREAM, &tcp);
    polled[4].fd = listen_inet(SOCK_DGRAM, &udp);
    for (int i = 0; i < 5; i++) {
        if (polled[i].fd < 0)
            return -errno;
        polled[i].events = POLLIN;
    }
    (void)printf("%u %u\n", (unsigned)tcp, (unsigned)udp);
    (void)fflush(stdout);
    while (poll(polled, 5, -1) > 0)
        for (int i = 0; i < 5; i++)
            if (polled[i].revents)
                serve_one(log, what[i], polled[i].fd, i != 1 && i != 4);
    return -errno;
}
