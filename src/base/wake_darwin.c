/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wake-ups on macOS: a kqueue with one event of ours. It counts as readable while that event is
 * triggered, for poll as for another kqueue, and needs no second descriptor. A kqueue is not
 * inherited by a forked process, and is closed by exec.
 */
#include "base/wake.h"

#include <errno.h>
#include <sys/event.h>
#include <unistd.h>

#define WAKE_EVENT 1

static int change(int fd, uint16_t flags, uint32_t fflags)
{
    struct kevent event;

    EV_SET(&event, WAKE_EVENT, EVFILT_USER, flags, fflags, 0, NULL);
    return kevent(fd, &event, 1, NULL, 0, NULL) < 0 ? -errno : 0;
}

int wake_open(void)
{
    int fd = kqueue();

    if (fd < 0)
        return -errno;
    int r = change(fd, EV_ADD | EV_CLEAR, 0);
    if (r == 0)
        return fd;
    (void)close(fd);
    return r;
}

void wake_signal(int fd)
{
    if (fd >= 0)
        (void)change(fd, 0, NOTE_TRIGGER);
}

void wake_clear(int fd)
{
    const struct timespec now = { 0, 0 };
    struct kevent event;

    (void)kevent(fd, NULL, 0, &event, 1, &now);
}
