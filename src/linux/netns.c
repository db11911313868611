/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network namespace is new and empty; its own loopback is all that there is.
 *
 * Making one costs the kernel more than all other namespaces and the whole mount view together, so
 * a helper makes it while pid 1 mounts: a task that shares our memory and descriptors but not our
 * namespaces. Pid 1 joins what it made. Test builds let the helper run alone, so that the calls of
 * both can be counted.
 *
 * A table of descriptors that two tasks share waits for a grace period of the whole machine (8 ms
 * and more) whenever it grows. So it is made large enough for usual plans before it is shared, and
 * for others the helper's end is awaited first (netns_join before the mounts).
 */
#include <linux/if.h>
#include <linux/sched.h>
#include <linux/sockios.h>

#include "linux/launch.h"

#define NET_AF_INET   2
#define NET_DGRAM     2
#define HELPER_STACK  16384
#define HELPER_SIGNAL 17 /* SIGCHLD; its header does not go with that of interfaces */

#ifdef ABX_TESTING
#define HELPER_FLAGS (CLONE_VM | CLONE_FILES | CLONE_VFORK | HELPER_SIGNAL)
#else
#define HELPER_FLAGS (CLONE_VM | CLONE_FILES | HELPER_SIGNAL)
#endif

static _Alignas(4096) char helper_stack[HELPER_STACK];

#ifndef SIOCGSKNS
#define SIOCGSKNS 0x894C
#endif

/* Raises lo; 0, or if wanted a descriptor of the network namespace that it is in. */
static long raise_loopback(bool want_namespace)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    long fd = SYS3(__NR_socket, NET_AF_INET, NET_DGRAM | SYS_O_CLOEXEC, 0);

    if (fd < 0)
        return fd;
    long r = SYS3(__NR_ioctl, fd, SIOCSIFFLAGS, &request);
    if (r >= 0 && want_namespace)
        r = SYS3(__NR_ioctl, fd, SIOCGSKNS, 0);
    file_close((int)fd);
    return r;
}

long netns_loopback(struct launch *l)
{
    l->object = "lo";
    return raise_loopback(false);
}

/* The helper: touches nothing of struct launch but what it leaves there. */
static void helper_main(void *arg)
{
    struct launch *l = arg;
    long r = SYS1(__NR_unshare, CLONE_NEWNET);

    if (r >= 0)
        r = raise_loopback(true);
    l->netns_result = r;
    for (;;)
        (void)TRY1(__NR_exit, 0);
}

/* Room for NETNS_SHARED_FDS descriptors. */
static void grow_table(void)
{
    if (TRY3(__NR_dup3, LAUNCH_FD_STATUS, NETNS_SHARED_FDS - 1, SYS_O_CLOEXEC) >= 0)
        file_close(NETNS_SHARED_FDS - 1); /* otherwise it only takes longer */
}

long netns_begin(struct launch *l)
{
    l->object = "helper";
    grow_table();
    long fault = sys_fault();
    long pid = fault
                   ? -fault
                   : sys_clone_vm(HELPER_FLAGS, helper_stack + sizeof helper_stack, helper_main, l);

    l->netns_helper = (int)pid;
    return pid;
}

long netns_join(struct launch *l)
{
    const unsigned wait_all = 0x40000000; /* __WALL */

    if (!l->netns_helper)
        return 0; /* joined already */
    l->object = "helper";
    long r = SYS4(__NR_wait4, l->netns_helper, 0, wait_all, 0);
    if (r < 0)
        return r;
    l->netns_helper = 0;
    l->object = "lo";
    if (l->netns_result < 0)
        return l->netns_result;
    l->object = "network namespace";
    r = SYS2(__NR_setns, l->netns_result, CLONE_NEWNET);
    file_close((int)l->netns_result);
    return r;
}

void netns_release_stack(void)
{
    (void)TRY3(__NR_madvise, helper_stack, sizeof helper_stack, SYS_MADV_DONTNEED);
}
