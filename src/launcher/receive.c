/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from the host that bring descriptors. */
#include "launcher/kernel.h"
#include "launcher/launcher.h"

#define MSG_CMSG_CLOEXEC_FLAG 0x40000000
#define MSG_TRUNC_FLAG        0x20
#define MSG_CTRUNC_FLAG       0x8

struct control {
    size_t len;
    int level, type;
    int fds[DELIVER_MAX_FDS + 1];
};

long receive_fds(int socket, struct deliver_msg *msg, int *fds, size_t max)
{
    struct iovec iov = { .iov_base = msg, .iov_len = sizeof *msg };
    struct control control = { 0 };
    struct msghdr_kernel header = {
        .iov = &iov,
        .iov_len = 1,
        .control = &control,
        .control_len = sizeof control,
    };
    long n = SYS3(__NR_recvmsg, socket, &header, MSG_CMSG_CLOEXEC_FLAG);

    if (n < 0)
        return n;
    if (header.flags & MSG_CTRUNC_FLAG)
        return -EMFILE; /* there is room for as many as are ever sent, but in the process's limit */
    if (n != (long)sizeof *msg || (header.flags & MSG_TRUNC_FLAG))
        return 0;
    const size_t head = sizeof control.len + 2 * sizeof(int);
    if (header.control_len < head || control.level != SOL_SOCKET_LEVEL ||
        control.type != SCM_RIGHTS_TYPE || control.len < head)
        return 0;
    size_t count = (control.len - head) / sizeof(int);
    if (count > max)
        return 0;
    memcpy(fds, control.fds, count * sizeof(int));
    return (long)count;
}
