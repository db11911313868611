/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pid 1 says, taken in: the run's state follows from it, nothing is done about it here.
 *
 * Pid 1 is believed, but it reads what the command wrote, so what it sends is looked at as if the
 * command had sent it: each message has the length of its kind, counts and numbers are within their
 * limits, texts are terminated here, and descriptors that nobody asked for are closed. A message
 * of no kind is left alone; one of a wrong length ends the conversation.
 */
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "run/run.h"

void run_passed_fds(struct msghdr *header, int fds[STATUS_MAX_FDS])
{
    struct cmsghdr *c = CMSG_FIRSTHDR(header);

    for (size_t i = 0; i < STATUS_MAX_FDS; i++)
        fds[i] = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(fds, CMSG_DATA(c), MIN_OF(c->cmsg_len - CMSG_LEN(0), STATUS_MAX_FDS * sizeof *fds));
}

static void close_passed_fds(const int fds[STATUS_MAX_FDS])
{
    for (size_t i = 0; i < STATUS_MAX_FDS; i++)
        fd_close(fds[i]);
}

static void take_listeners(struct run *r, int fds[STATUS_MAX_FDS])
{
    for (size_t i = 0; i < LISTENER_COUNT; i++) {
        fd_close(r->listeners[i]);
        r->listeners[i] = TAKE_FD(fds[i]);
    }
}

static void take_sockets(struct run *r, int fds[STATUS_MAX_FDS])
{
    while (r->socket_count > 0)
        fd_close(r->sockets[--r->socket_count]);
    while (r->socket_count < ARRAY_LEN(r->sockets) && fds[r->socket_count] >= 0) {
        r->sockets[r->socket_count] = TAKE_FD(fds[r->socket_count]);
        r->socket_count++;
    }
}

static void take_status(struct run *r, const struct status_msg *msg, int fds[STATUS_MAX_FDS])
{
    switch (msg->kind) {
    case STATUS_FAILED:
        if (!r->failed)
            r->failure = *msg;
        r->failed = true;
        break;
    case STATUS_STARTED:
        r->started = true;
        r->start = *msg;
        break;
    case STATUS_TTY:
        fd_close(r->tty_fd);
        r->tty_fd = TAKE_FD(fds[0]);
        break;
    case STATUS_LISTENERS:
        take_listeners(r, fds);
        break;
    case STATUS_SOCKETS:
        take_sockets(r, fds);
        break;
    case STATUS_STOPPED:
        r->stopped = msg->value;
        break;
    case STATUS_CONTINUED:
        r->stopped = 0;
        break;
    case STATUS_EXITED:
        r->exited = true;
        r->end = *msg;
        break;
    default:
        break;
    }
}

static void take_violation(struct run *r, const struct watch_msg *msg, size_t len)
{
    if (len < WATCH_MSG_HEAD || msg->path_len != len - WATCH_MSG_HEAD || msg->id == 0 ||
        msg->id > WATCH_MAX_RECORDS)
        return;
    if (r->watch.tell)
        r->watch.tell(r->watch.user, r, msg);
}

/* A record that was told counts as one already. */
static void take_counts(struct run *r, const struct watch_counts *msg, size_t len)
{
    const size_t head = offsetof(struct watch_counts, list);

    if (len < head || msg->count > WATCH_COUNTS_MAX ||
        len < head + msg->count * sizeof msg->list[0])
        return;
    r->violations.dropped += msg->dropped;
    for (uint32_t i = 0; i < msg->count; i++) {
        const struct watch_count *c = &msg->list[i];
        uint16_t record = c->id && c->id <= WATCH_MAX_RECORDS ? r->watch.records[c->id - 1] : 0;

        if (record && record <= r->violations.count && c->count > 1)
            r->violations.list[record - 1].count += c->count - 1;
    }
}

bool message_take(struct run *r, union message *msg, size_t len, int fds[STATUS_MAX_FDS])
{
    const uint32_t kind = len >= sizeof msg->status.kind ? msg->status.kind : 0;
    bool known = true;

    if (kind == STATUS_VIOLATION) {
        take_violation(r, &msg->violation, len);
    } else if (kind == STATUS_COUNTS) {
        take_counts(r, &msg->counts, len);
    } else if (len == sizeof msg->status) {
        msg->status.step[sizeof msg->status.step - 1] = '\0';
        msg->status.text[sizeof msg->status.text - 1] = '\0';
        take_status(r, &msg->status, fds);
    } else {
        known = false;
    }
    close_passed_fds(fds);
    return known;
}
