/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp's user notification: the filter of a watched command, what comes from it, what goes back,
 * and the memory of whoever waits.
 *
 * The listener is made in the command's process, which shares its descriptors with pid 1 until exec
 * (command.c), so pid 1 simply has it; the command's own copy goes with exec. A kernel or an outer
 * sandbox that grants no listener is not an error: the plain filter refuses the same.
 */
#include <asm/ioctl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/uio.h>

#include "linux/launch.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* 5.19 */
#endif
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1) /* 5.14 */
#endif
#define NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64) /* 6.6 */
#define NOTIF_SYNC      UINT64_C(1)           /* who waits and who answers share a CPU */

_Static_assert(sizeof(struct seccomp_notif) == sizeof(struct notice), "the kernel's own layout");

long notify_listen(const struct plan_filter *filter)
{
    struct sock_fprog program = {
        .len = (unsigned short)filter->count,
        .filter = (struct sock_filter *)(uintptr_t)filter->insns,
    };
    const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;

    if (filter->count == 0 || filter->count > BPF_MAXINSNS)
        return -EINVAL;
    long fd = TRY3(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
                   flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
    if (fd == -EINVAL)
        fd = TRY3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (fd >= 0)
        (void)TRY3(__NR_ioctl, fd, NOTIF_SET_FLAGS, NOTIF_SYNC); /* only faster */
    return fd;
}

bool notify_receive(int fd, struct notice *ret)
{
    memset(ret, 0, sizeof *ret); /* the kernel insists */
    return TRY3(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_RECV, ret) == 0;
}

void notify_answer(int fd, const struct notice *n, int error)
{
    struct seccomp_notif_resp answer = { .id = n->id, .error = -error };

    if (error == 0)
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    (void)TRY3(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* who is gone needs none */
}

long notify_give(int listener, const struct notice *n, int fd, bool cloexec)
{
    struct seccomp_notif_addfd give = {
        .id = n->id,
        .flags = SECCOMP_ADDFD_FLAG_SEND,
        .srcfd = (uint32_t)fd,
        .newfd_flags = cloexec ? SYS_O_CLOEXEC : 0,
    };
    long r = TRY3(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_ADDFD, &give);

    return r < 0 ? r : 0;
}

long notify_replace(int listener, const struct notice *n, int fd, uint32_t place, bool cloexec)
{
    struct seccomp_notif_addfd give = {
        .id = n->id,
        .flags = SECCOMP_ADDFD_FLAG_SETFD,
        .srcfd = (uint32_t)fd,
        .newfd = place,
        .newfd_flags = cloexec ? SYS_O_CLOEXEC : 0,
    };
    struct seccomp_notif_resp answer = { .id = n->id };
    long r = TRY3(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_ADDFD, &give);

    if (r < 0)
        return r;
    (void)TRY3(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    return 0;
}

long notify_read(const struct notice *n, uint64_t address, void *to, size_t size)
{
    struct iovec here = { .iov_base = to, .iov_len = size };
    struct iovec there = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };

    return TRY6(__NR_process_vm_readv, n->pid, &here, 1, &there, 1, 0);
}
