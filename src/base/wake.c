/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wake-ups on Linux: an eventfd. Adding one fails only when the counter is full, and then the
 * descriptor is readable as it is; reading fails only when it is 0.
 */
#include "base/wake.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int wake_open(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    return fd < 0 ? -errno : fd;
}

void wake_signal(int fd)
{
    const uint64_t one = 1;

    if (fd >= 0)
        (void)!write(fd, &one, sizeof one);
}

void wake_clear(int fd)
{
    uint64_t count;

    (void)!read(fd, &count, sizeof count);
}
