/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of the control socket.
 *
 * Calls are sent whole and then waited for; what else the role says meanwhile goes to the hooks.
 * What these answer goes out behind a message that is on its way, never into it. A role that does
 * not read or does not answer costs the caller ten seconds and is then given up: the socket is
 * closed, and with it the role ends.
 */
#include "net/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/fd.h"
#include "base/io.h"
#include "net/protocol.h"

#define CALL_NS       (10 * NSEC_PER_SEC)
#define READ_PIECE    16384
#define RESOLV_MAX    ((size_t)64 << 10)
#define NAMES_AT_MOST (RESOLVE_FILE_MAX + RESOLV_MAX + 256)
#define LATE_MAX      65536

void client_init(struct client *c, int control, const struct client_hooks *hooks)
{
    *c = (struct client){ .control = control, .hooks = *hooks };
    (void)fcntl(control, F_SETFL, O_NONBLOCK);
    buf_init(&c->in, PROTOCOL_MAX_OUT + READ_PIECE);
    buf_init(&c->late, LATE_MAX);
}

void client_done(struct client *c)
{
    fd_close(TAKE_FD(c->control));
    buf_done(&c->in);
    buf_done(&c->late);
    free(c->text);
    c->text = NULL;
}

/* ---- from the role ---- */

static int32_t gone(struct client *c, abx_error **err)
{
    fd_close(TAKE_FD(c->control));
    int32_t code = err_new(err, ABX_E_PROXY, "talk to the network proxy: it is gone");
    err_hint(err, "nothing is let through without it; start again");
    return code;
}

static bool take_done(struct client *c, const struct protocol_head *head, const char *bytes)
{
    const char *text;
    int32_t code;

    if (!protocol_get_done(bytes, head->len, &code, &text))
        return false;
    if (head->serial == c->waits_for) {
        c->waits_for = 0;
        c->code = code;
        free(c->text);
        c->text = strdup(text);
    } else if (code != ABX_OK && c->hooks.failed) {
        c->hooks.failed(c->hooks.user, head->serial, text);
    }
    return true;
}

static bool take_message(struct client *c, const struct protocol_head *head, const char *bytes)
{
    struct server_record record;
    uint32_t a, b;
    const char *host;
    uint16_t port;

    switch (head->type) {
    case PROTOCOL_DONE:
        return take_done(c, head, bytes);
    case PROTOCOL_RECORD:
        if (!protocol_get_record(bytes, head->len, &record))
            return false;
        c->hooks.record(c->hooks.user, &record);
        return true;
    case PROTOCOL_QUESTION:
        if (!protocol_get_question(bytes, head->len, &a, &b, &host, &port))
            return false;
        if (c->hooks.ask)
            c->hooks.ask(c->hooks.user, a, b, host, port);
        return true;
    case PROTOCOL_LOST:
        if (!protocol_get_numbers(bytes, head->len, &a, &b))
            return false;
        if (c->hooks.lost)
            c->hooks.lost(c->hooks.user, a);
        return true;
    case PROTOCOL_STOPPED:
        c->stopped = true;
        return true;
    default:
        return false;
    }
}

static bool take_messages(struct client *c)
{
    struct protocol_head head;
    size_t used = 0;
    int whole;

    while ((whole = protocol_get_head(c->in.data + used, c->in.len - used, PROTOCOL_MAX_OUT,
                                      &head)) > 0) {
        if (!take_message(c, &head, c->in.data + used + PROTOCOL_HEAD))
            return false;
        used += PROTOCOL_HEAD + head.len;
    }
    c->in.len -= used;
    memmove(c->in.data, c->in.data + used, c->in.len);
    return whole == 0;
}

/* What is there now. */
static int32_t read_all(struct client *c, abx_error **err)
{
    char piece[READ_PIECE];

    for (;;) {
        ssize_t n = recv(c->control, piece, sizeof piece, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return ABX_OK;
        if (n == 0 && c->stopped)
            return ABX_OK;
        if (n <= 0 || buf_append(&c->in, piece, (size_t)n) < 0 || !take_messages(c))
            return gone(c, err);
    }
}

int32_t client_dispatch(struct client *c, int timeout_ms, abx_error **err)
{
    struct pollfd poll_fd = { .fd = c->control, .events = POLLIN };

    if (c->control < 0)
        return gone(c, err);
    int n = poll(&poll_fd, 1, timeout_ms);
    return n > 0 ? read_all(c, err) : ABX_OK;
}

/* ---- to the role ---- */

static int64_t now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* Waits until events, or the deadline: then the role is given up. */
static int32_t wait_for(struct client *c, short events, int64_t deadline, abx_error **err)
{
    struct pollfd poll_fd = { .fd = c->control, .events = events };
    int64_t left = deadline - now_ns();

    if (left <= 0 || poll(&poll_fd, 1, (int)(left / NSEC_PER_MSEC) + 1) < 0)
        return left > 0 && errno == EINTR ? ABX_OK : gone(c, err);
    return ABX_OK;
}

static ssize_t send_piece(struct client *c, const char *bytes, size_t len, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = { .bytes = { 0 } };
    struct iovec iov = { (void *)(uintptr_t)bytes, len };
    struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c0 = CMSG_FIRSTHDR(&message);
        c0->cmsg_level = SOL_SOCKET;
        c0->cmsg_type = SCM_RIGHTS;
        c0->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c0), &fd, sizeof fd);
    }
    return sendmsg(c->control, &message, MSG_NOSIGNAL);
}

static int32_t send_whole(struct client *c, const struct buf *out, int fd, abx_error **err)
{
    int64_t deadline = now_ns() + CALL_NS;
    size_t sent = 0;

    if (out->failed)
        return out->failed == -ENOMEM
                   ? err_nomem(err)
                   : err_new(err, ABX_E_CONFIG, "pass rules to the network proxy: too many");
    if (c->control < 0)
        return gone(c, err);
    while (sent < out->len) {
        ssize_t n = send_piece(c, out->data + sent, out->len - sent, sent == 0 ? fd : -1);

        if (n >= 0) {
            sent += (size_t)n;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return gone(c, err);
        /* It may be waiting for us to read. */
        int32_t code = wait_for(c, POLLOUT | POLLIN, deadline, err);
        if (code == ABX_OK)
            code = read_all(c, err);
        if (code != ABX_OK)
            return code;
    }
    return ABX_OK;
}

static int32_t send_message(struct client *c, const struct buf *out, int fd, abx_error **err)
{
    c->sending = true;
    int32_t code = send_whole(c, out, fd, err);
    while (code == ABX_OK && c->late.len > 0) {
        _buf_ struct buf late = c->late;

        buf_init(&c->late, LATE_MAX);
        code = send_whole(c, &late, -1, err);
    }
    c->sending = false;
    return code;
}

static int32_t call(struct client *c, const struct buf *out, int fd, abx_error **err)
{
    int64_t deadline = now_ns() + (c->call_ns ? c->call_ns : CALL_NS);

    if (c->pipelined)
        return send_message(c, out, fd, err);
    c->waits_for = c->last_serial;
    int32_t code = send_message(c, out, fd, err);
    while (code == ABX_OK && c->waits_for) {
        code = wait_for(c, POLLIN, deadline, err);
        if (code == ABX_OK)
            code = read_all(c, err);
        if (code == ABX_OK && c->stopped)
            break;
    }
    if (code != ABX_OK)
        return code;
    return c->code == ABX_OK ? ABX_OK
                             : err_new(err, c->code, "network proxy: %s", c->text ? c->text : "");
}

int32_t client_setup(struct client *c, const struct server_limits *limits, uint16_t dns_port,
                     abx_error **err)
{
    _buf_ struct buf out = { .limit = PROTOCOL_MAX };

    protocol_put_setup(&out, ++c->last_serial, limits, dns_port);
    return call(c, &out, -1, err);
}

static int32_t read_names(const char *path, struct buf *text, abx_error **err)
{
    int r = io_read_file(AT_FDCWD, path, text);

    if (r < 0 && r != -ENOENT)
        return err_sys(err, ABX_E_IO, r, "read '%s'", path);
    return ABX_OK;
}

int32_t client_names(struct client *c, const char *hosts, const char *resolv_conf, abx_error **err)
{
    _buf_ struct buf out = { .limit = NAMES_AT_MOST };
    _buf_ struct buf hosts_text = { .limit = RESOLVE_FILE_MAX };
    _buf_ struct buf resolv_text = { .limit = RESOLV_MAX };
    int32_t code = read_names(hosts, &hosts_text, err);

    if (code == ABX_OK)
        code = read_names(resolv_conf, &resolv_text, err);
    if (code != ABX_OK)
        return code;
    protocol_put_names(&out, ++c->last_serial, hosts_text.data ? hosts_text.data : "",
                       hosts_text.len, resolv_text.data ? resolv_text.data : "", resolv_text.len);
    return call(c, &out, -1, err);
}

int32_t client_rules(struct client *c, uint32_t id, const struct server_rules *rules,
                     const char *upstream, abx_error **err)
{
    _buf_ struct buf out = { .limit = PROTOCOL_MAX };

    protocol_put_rules(&out, ++c->last_serial, id, rules, upstream);
    return call(c, &out, -1, err);
}

static int32_t call_numbers(struct client *c, enum protocol_type type, uint32_t a, uint32_t b,
                            int fd, abx_error **err)
{
    _buf_ struct buf out = { .limit = 256 };

    protocol_put_numbers(&out, type, ++c->last_serial, a, b);
    return call(c, &out, fd, err);
}

int32_t client_listen(struct client *c, uint32_t id, uint32_t rules, int fd, abx_error **err)
{
    return call_numbers(c, PROTOCOL_LISTEN, id, rules, fd, err);
}

int32_t client_give_socket(struct client *c, uint32_t rules, int fd, abx_error **err)
{
    return call_numbers(c, PROTOCOL_SOCKET, rules, 0, fd, err);
}

int32_t client_publish(struct client *c, uint32_t rules, uint16_t port, int fd, abx_error **err)
{
    return call_numbers(c, PROTOCOL_PUBLISH, rules, port, fd, err);
}

int32_t client_drop_rules(struct client *c, uint32_t id, abx_error **err)
{
    return call_numbers(c, PROTOCOL_DROP_RULES, id, 0, -1, err);
}

int32_t client_stop(struct client *c, abx_error **err)
{
    return call_numbers(c, PROTOCOL_STOP, 0, 0, -1, err);
}

int32_t client_answer(struct client *c, uint32_t question, enum server_answer answer,
                      abx_error **err)
{
    _buf_ struct buf out = { .limit = 256 };

    protocol_put_numbers(&out, PROTOCOL_ANSWER, ++c->last_serial, question, answer);
    if (c->control < 0)
        return gone(c, err);
    if (c->sending)
        return buf_append(&c->late, out.data, out.len) < 0 ? gone(c, err) : ABX_OK;
    /* A socket that cannot take these few bytes has a role behind it that does not read. */
    return send_piece(c, out.data, out.len, -1) == (ssize_t)out.len ? ABX_OK : gone(c, err);
}
