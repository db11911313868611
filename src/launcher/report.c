/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the host, one datagram each. A host that is gone is noticed elsewhere (lifeline), so
 * a failing send changes nothing here.
 */
#include <asm/poll.h>
#include <linux/socket.h>

#include "launcher/kernel.h"
#include "launcher/launcher.h"

#define MSG_NOSIGNAL_FLAG 0x4000
#define MSG_DONTWAIT_FLAG 0x40

struct control_fds {
    size_t len;
    int level, type;
    int fds[STATUS_MAX_FDS];
};

/* Descriptors that go along; as the kernel counts, a multiple of a word long. */
static void add_fds(struct msghdr_kernel *header, struct control_fds *control, const int *fds,
                    size_t count)
{
    const size_t head = sizeof(size_t) + 2 * sizeof(int);

    *control = (struct control_fds){ .len = head + count * sizeof(int),
                                     .level = SOL_SOCKET_LEVEL,
                                     .type = SCM_RIGHTS_TYPE };
    memcpy(control->fds, fds, count * sizeof(int));
    header->control = control;
    header->control_len = (control->len + sizeof(size_t) - 1) & ~(sizeof(size_t) - 1);
}

/*
 * The last words are waited for as long as there is a host: one that is stopped, or cannot write
 * what it read before, must not lose the status. Nothing else runs inside by then. False: it is
 * gone, or has hung up. (Should the keeper go, that kills us.)
 */
static bool await_reader(void)
{
    struct pollfd fds[2] = { { .fd = LAUNCH_FD_STATUS, .events = POLLOUT },
                             { .fd = LAUNCH_FD_LIFELINE } };
    long ready;

    do {
        ready = TRY5(__NR_ppoll, fds, 2, 0, 0, 0);
    } while (ready == -EINTR);
    return ready > 0 && fds[0].revents == POLLOUT && !fds[1].revents;
}

static void report_send(const struct status_msg *msg, int fd)
{
    struct iovec iov = { .iov_base = (void *)(uintptr_t)msg, .iov_len = sizeof *msg };
    struct control_fds control;
    struct msghdr_kernel header = { .iov = &iov, .iov_len = 1 };

    if (fd >= 0)
        add_fds(&header, &control, &fd, 1);
    const int flags = MSG_NOSIGNAL_FLAG | MSG_DONTWAIT_FLAG;
    /* Never waits: a host that does not read must not stop pid 1; the command could see to that. */
    while (TRY3(__NR_sendmsg, LAUNCH_FD_STATUS, &header, flags) == -EAGAIN &&
           msg->kind == STATUS_EXITED && await_reader()) {}
}

static long send_bytes(const void *bytes, size_t len)
{
    const int flags = MSG_NOSIGNAL_FLAG | MSG_DONTWAIT_FLAG;

    return TRY6(__NR_sendto, LAUNCH_FD_STATUS, bytes, len, flags, 0, 0);
}

bool report_bytes(const void *bytes, size_t len)
{
    return send_bytes(bytes, len) == (long)len;
}

void report_last_bytes(const void *bytes, size_t len)
{
    while (send_bytes(bytes, len) == -EAGAIN && await_reader()) {}
}

static void set_step(struct status_msg *msg, const char *step)
{
    text_append(msg->step, sizeof msg->step, step);
}

void report_failed(const char *step, long err, const char *object)
{
    struct status_msg msg = { .kind = STATUS_FAILED, .err = (int32_t)-err };

    set_step(&msg, step);
    msg.text_len = (uint32_t)text_append(msg.text, sizeof msg.text, object ? object : "");
    report_send(&msg, -1);
}

void report_started(const struct launch *l)
{
    struct status_msg msg = {
        .kind = STATUS_STARTED,
        .layers = l->enforced,
        .detail = l->landlock_abi,
        .value = (l->notify_fd < 0  ? 0
                  : l->plan.relayed ? STATUS_RELAYED
                                    : STATUS_WATCHED) |
                 (l->reads ? STATUS_READS : 0),
    };

    report_send(&msg, -1);
}

void report_tty(int master)
{
    struct status_msg msg = { .kind = STATUS_TTY };

    report_send(&msg, master);
}

long report_pass(int to, int fd)
{
    char byte = 0;
    struct iovec iov = { .iov_base = &byte, .iov_len = sizeof byte };
    struct control_fds control;
    struct msghdr_kernel header = { .iov = &iov, .iov_len = 1 };

    add_fds(&header, &control, &fd, 1);
    return TRY3(__NR_sendmsg, to, &header, MSG_NOSIGNAL_FLAG | MSG_DONTWAIT_FLAG);
}

/* The host waits for them, and a run that should have them has no use without. */
long report_sockets(uint32_t kind, const int *fds, size_t count)
{
    struct status_msg msg = { .kind = kind };
    struct iovec iov = { .iov_base = &msg, .iov_len = sizeof msg };
    struct control_fds control;
    struct msghdr_kernel header = { .iov = &iov, .iov_len = 1 };

    add_fds(&header, &control, fds, count);
    long n = SYS3(__NR_sendmsg, LAUNCH_FD_STATUS, &header, MSG_NOSIGNAL_FLAG | MSG_DONTWAIT_FLAG);
    return n < 0 ? n : 0;
}

void report_state(uint32_t kind, int value)
{
    struct status_msg msg = { .kind = kind, .value = value };

    report_send(&msg, -1);
}

void report_exited(int wait_status, uint32_t detail, const struct status_msg *usage)
{
    struct status_msg msg = *usage;

    msg.kind = STATUS_EXITED;
    msg.value = wait_status;
    msg.detail = detail;
    report_send(&msg, -1);
}

void report_probe(const char *name, long err, int value)
{
    struct status_msg msg = { .kind = STATUS_PROBE, .err = (int32_t)-err, .value = value };

    set_step(&msg, name);
    report_send(&msg, -1);
}
