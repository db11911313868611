/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the host: whole records on a stream. The socket does not block, but for the last one,
 * which waits two seconds at most: the launcher's duties go on when nobody reads.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "darwin/launch.h"

#define LAST_WAIT_MS 2000

static void set_text(char *to, size_t size, const char *from, uint32_t *ret_len)
{
    size_t len = from ? strlen(from) : 0;

    len = MIN_OF(len, size - 1);
    if (len)
        memcpy(to, from, len);
    to[len] = '\0';
    if (ret_len)
        *ret_len = (uint32_t)len;
}

static void send_record(const struct status_msg *msg, int fd, int wait_ms)
{
    const char *bytes = (const char *)msg;
    size_t done = 0;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = { 0 };

    while (done < sizeof *msg) {
        struct iovec piece = { (char *)(uintptr_t)bytes + done, sizeof *msg - done };
        struct msghdr header = { .msg_iov = &piece, .msg_iovlen = 1 };
        if (fd >= 0 && done == 0) {
            header.msg_control = control;
            header.msg_controllen = sizeof control;
            struct cmsghdr *c = CMSG_FIRSTHDR(&header);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(sizeof fd);
            memcpy(CMSG_DATA(c), &fd, sizeof fd);
        }
        ssize_t n = sendmsg(DARWIN_FD_STATUS, &header, MSG_DONTWAIT);
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        struct pollfd room = { DARWIN_FD_STATUS, POLLOUT, 0 };
        bool again = n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS);
        /* A record that has begun is finished, or the next one would be read at the wrong place. */
        if (!again || poll(&room, 1, done ? LAST_WAIT_MS : wait_ms) <= 0)
            return;
    }
}

void report_failed(const struct launch *l, int error)
{
    struct status_msg msg = { .kind = STATUS_FAILED, .err = -error };

    set_text(msg.step, sizeof msg.step, l->step, NULL);
    set_text(msg.text, sizeof msg.text, l->text[0] ? l->text : l->object, &msg.text_len);
    send_record(&msg, -1, LAST_WAIT_MS);
}

/* The pid is for a host whose launcher was killed: nobody else could end the command then. */
void report_started(const struct launch *l, int pid)
{
    const struct status_msg msg = { .kind = STATUS_STARTED,
                                    .value = pid,
                                    .layers = l->plan.layers };

    send_record(&msg, -1, 0);
}

void report_tty(int master)
{
    const struct status_msg msg = { .kind = STATUS_TTY };

    send_record(&msg, master, LAST_WAIT_MS);
}

static int64_t nanoseconds(struct timeval t)
{
    return (int64_t)t.tv_sec * NSEC_PER_SEC + (int64_t)t.tv_usec * 1000;
}

void report_exited(int wait_status, bool timed_out, const struct rusage *usage)
{
    const struct status_msg msg = {
        .kind = STATUS_EXITED,
        .value = wait_status,
        .detail = timed_out,
        .user_ns = nanoseconds(usage->ru_utime),
        .system_ns = nanoseconds(usage->ru_stime),
        .max_rss = usage->ru_maxrss, /* bytes here, kilobytes on Linux */
    };

    send_record(&msg, -1, LAST_WAIT_MS);
}
