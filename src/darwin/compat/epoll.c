/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoll over a kqueue, for reading only (sys/epoll.h). A kqueue is closed by exec and not inherited
 * by a forked process, which finds no descriptor there: its calls fail, as they should.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/event.h>
#include <time.h>

#include "base/defs.h"

#define EPOLL_BATCH 32

int epoll_create1(int flags)
{
    (void)flags;
    return kqueue();
}

int epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
    const bool once = event && (event->events & EPOLLONESHOT);
    const uint16_t flags = operation != EPOLL_CTL_ADD ? EV_DELETE
                           : once                     ? EV_ADD | EV_ONESHOT
                                                      : EV_ADD;
    struct kevent change;

    EV_SET(&change, (uintptr_t)fd, EVFILT_READ, flags, 0, 0,
           event ? (void *)(uintptr_t)event->data.u64 : NULL);
    return kevent(set, &change, 1, NULL, 0, NULL) < 0 ? -1 : 0;
}

int epoll_wait(int set, struct epoll_event *events, int room, int timeout_ms)
{
    const struct timespec wait = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
    struct kevent found[EPOLL_BATCH];
    int n = kevent(set, NULL, 0, found, MIN_OF(room, EPOLL_BATCH), timeout_ms < 0 ? NULL : &wait);

    for (int i = 0; i < n; i++)
        events[i] = (struct epoll_event){ .events = EPOLLIN,
                                          .data.u64 = (uint64_t)(uintptr_t)found[i].udata };
    return n;
}
