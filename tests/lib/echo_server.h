/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of the test's own process on a port of 127.0.0.1, for what is allowed or not: says
 * "hello", then whatever it is told. Counts who came; never stopped, it ends with the test.
 */
#ifndef ABX_TESTS_ECHO_SERVER_H
#define ABX_TESTS_ECHO_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct echo_server {
    int listener;
    uint16_t port;
    _Atomic unsigned calls;
};

static inline void *echo_serve_one(void *arg)
{
    const int on = 1;
    int fd = (int)(intptr_t)arg;
    char bytes[65536];

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (send(fd, "hello", 5, MSG_NOSIGNAL) == 5)
        for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;)
            if (send(fd, bytes, (size_t)n, MSG_NOSIGNAL) != n)
                break;
    close(fd);
    return NULL;
}

/* A caller is counted before it hears anything. */
static inline void *echo_serve(void *arg)
{
    struct echo_server *s = arg;
    pthread_t thread;

    for (;;) {
        int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
            return NULL;
        if (fd < 0)
            continue;
        s->calls++;
        if (pthread_create(&thread, NULL, echo_serve_one, (void *)(intptr_t)fd) == 0)
            (void)pthread_detach(thread);
        else
            close(fd);
    }
}

/* A listener whose port the kernel chooses; -1: there is none. */
static inline int echo_listen(int backlog, uint16_t *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, backlog) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return -1;
    *ret_port = ntohs(at.sin_port);
    return fd;
}

/* 0, or what a group's set-up of cmocka takes for a failure. */
static inline int echo_start(struct echo_server *s)
{
    pthread_t thread;

    s->listener = echo_listen(256, &s->port);
    return s->listener < 0 ? -1 : pthread_create(&thread, NULL, echo_serve, s);
}

/* A connection to 127.0.0.1; -1: refused. */
static inline int echo_connect(uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

#endif
