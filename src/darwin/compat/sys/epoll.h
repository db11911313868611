/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of epoll that the host's side uses, over a kqueue: readable or not, level-triggered, one
 * number with each descriptor. A kqueue is a descriptor itself, so sets can be in sets, and polled.
 */
#ifndef ABX_DARWIN_COMPAT_SYS_EPOLL_H
#define ABX_DARWIN_COMPAT_SYS_EPOLL_H

#include <stdint.h>

#define EPOLLIN       0x1u
#define EPOLLONESHOT  (1u << 30)
#define EPOLL_CLOEXEC 1
#define EPOLL_CTL_ADD 1
#define EPOLL_CTL_DEL 2

struct epoll_event {
    uint32_t events; /* EPOLLIN, EPOLLONESHOT */
    union {
        uint64_t u64;
    } data;
};

int epoll_create1(int flags);
int epoll_ctl(int set, int operation, int fd, struct epoll_event *event);
int epoll_wait(int set, struct epoll_event *events, int room, int timeout_ms);

#endif
