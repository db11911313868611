/* SPDX-License-Identifier: Apache-2.0 */
/* The network namespace is new and empty; its own loopback is all that there is. */
#include <linux/if.h>
#include <linux/sockios.h>

#include "linux/launch.h"

#define NET_AF_INET 2
#define NET_DGRAM   2
#define NET_CLOEXEC SYS_O_CLOEXEC

long netns_loopback(struct launch *l)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };

    l->object = "lo";
    long fd = SYS3(__NR_socket, NET_AF_INET, NET_DGRAM | NET_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    long r = SYS3(__NR_ioctl, fd, SIOCSIFFLAGS, &request);
    file_close((int)fd);
    return r;
}
