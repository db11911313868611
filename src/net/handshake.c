/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handshakes with a proxy, as its client.
 *
 * The proxy is the host's choice; its answers are still read with a limit and a strict reading:
 * 2xx for CONNECT, code 0 for SOCKS5. What the answer is long is found by peeking (MSG_PEEK), and
 * only that much is taken from the socket. Credentials appear nowhere but in the bytes sent.
 */
#include "net/handshake.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { STAGE_GREETING, STAGE_PASSWORD, STAGE_REQUEST, STAGE_BOUND };

/* ---- HTTP CONNECT ---- */

void handshake_basic(struct buf *out, const char *user, const char *password)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    _buf_ struct buf plain = { .limit = 1024 };

    if (buf_printf(&plain, "%s:%s", user, password) < 0) {
        out->failed = plain.failed;
        return;
    }
    (void)buf_puts(out, "Basic ");
    for (size_t i = 0; i < plain.len; i += 3) {
        size_t n = MIN_OF(plain.len - i, (size_t)3);
        uint32_t v = 0;

        for (size_t k = 0; k < 3; k++)
            v = v << 8 | (k < n ? (uint8_t)plain.data[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            (void)buf_putc(out, k <= n ? digits[v >> (18 - 6 * k) & 63] : '=');
    }
}

static void write_connect(struct handshake *h)
{
    _buf_ struct buf extra = { .limit = 1024 };

    if (h->user[0]) {
        (void)buf_puts(&extra, "Proxy-Authorization: ");
        handshake_basic(&extra, h->user, h->password);
        (void)buf_puts(&extra, "\r\n");
    }
    http1_write_connect(&h->out, &h->host, h->port, extra.data);
}

static int read_connect(struct handshake *h, int fd)
{
    char piece[1024];
    struct http1_fault fault = { 0 };
    struct http1_response response;

    while (!h->scan.done) {
        ssize_t n = recv(fd, piece, sizeof piece, MSG_PEEK);
        if (n <= 0)
            return n < 0 ? -errno : -EPROTO;
        size_t used = http1_scan(&h->scan, piece, (size_t)n, &fault);
        if (fault.status || buf_append(&h->in, piece, used) < 0)
            return -EPROTO;
        if (recv(fd, piece, used, 0) != (ssize_t)used)
            return -EPROTO;
    }
    if (!http1_parse_response(h->in.data, h->in.len, false, &response, &fault))
        return -EPROTO;
    return response.status >= 200 && response.status <= 299 ? 0 : -EPROTO;
}

/* ---- SOCKS5 ---- */

static void write_greeting(struct handshake *h)
{
    static const char plain[] = { 5, 1, 0 }, with_password[] = { 5, 2, 0, 2 };

    (void)(h->user[0] ? buf_append(&h->out, with_password, sizeof with_password)
                      : buf_append(&h->out, plain, sizeof plain));
    h->stage = STAGE_GREETING;
    h->want = 2;
}

static void write_password(struct handshake *h)
{
    size_t user = strlen(h->user), password = strlen(h->password);

    (void)buf_putc(&h->out, 1);
    (void)buf_putc(&h->out, (char)user);
    (void)buf_append(&h->out, h->user, user);
    (void)buf_putc(&h->out, (char)password);
    (void)buf_append(&h->out, h->password, password);
    h->stage = STAGE_PASSWORD;
    h->want = 2;
}

static void write_request(struct handshake *h)
{
    const struct addr *a = &h->host.addr;
    const char port[] = { (char)(h->port >> 8), (char)h->port };

    (void)buf_append(&h->out, "\5\1", 3);
    if (!h->host.is_address) {
        (void)buf_putc(&h->out, 3);
        (void)buf_putc(&h->out, (char)h->host.len);
        (void)buf_append(&h->out, h->host.text, h->host.len);
    } else if (a->family == ADDR_V4) {
        (void)buf_putc(&h->out, 1);
        (void)buf_append(&h->out, a->bytes + 12, 4);
    } else {
        (void)buf_putc(&h->out, 4);
        (void)buf_append(&h->out, a->bytes, 16);
    }
    (void)buf_append(&h->out, port, sizeof port);
    h->stage = STAGE_REQUEST;
    h->want = 5;
}

/* The answer of a stage is whole. 0: goes on; 1: over; or -EPROTO. */
static int take_answer(struct handshake *h)
{
    const uint8_t *in = (const uint8_t *)h->in.data;

    switch (h->stage) {
    case STAGE_GREETING:
        if (in[0] != 5 || (in[1] != 0 && !(in[1] == 2 && h->user[0])))
            return -EPROTO;
        in[1] == 2 ? write_password(h) : write_request(h);
        break;
    case STAGE_PASSWORD:
        if (in[1] != 0)
            return -EPROTO;
        write_request(h);
        break;
    case STAGE_REQUEST: /* the bound address follows; its length is known by its first bytes */
        if (in[0] != 5 || in[1] != 0)
            return -EPROTO;
        h->want = in[3] == 1 ? 10 : in[3] == 4 ? 22 : in[3] == 3 ? (size_t)in[4] + 7 : 0;
        h->stage = STAGE_BOUND;
        return h->want ? 0 : -EPROTO;
    default:
        return 1;
    }
    h->in.len = 0;
    return h->out.failed;
}

static int send_rest(struct handshake *h, int fd)
{
    while (h->sent < h->out.len) {
        ssize_t n = send(fd, h->out.data + h->sent, h->out.len - h->sent, MSG_NOSIGNAL);
        if (n < 0)
            return -errno;
        h->sent += (size_t)n;
    }
    return 0;
}

static int read_socks(struct handshake *h, int fd)
{
    char piece[262];

    for (;;) {
        int r = send_rest(h, fd);
        if (r < 0)
            return r;
        while (h->in.len < h->want) {
            ssize_t n = recv(fd, piece, h->want - h->in.len, 0);
            if (n <= 0)
                return n < 0 ? -errno : -EPROTO;
            if (buf_append(&h->in, piece, (size_t)n) < 0)
                return -ENOMEM;
        }
        r = take_answer(h);
        if (r != 0)
            return r > 0 ? 0 : r;
    }
}

/* ---- both ---- */

int handshake_init(struct handshake *h, enum handshake_kind kind, const struct host *host,
                   uint16_t port, const char *user, const char *password)
{
    *h = (struct handshake){ .kind = kind, .host = *host, .port = port };
    buf_init(&h->out, HANDSHAKE_MAX);
    buf_init(&h->in, HANDSHAKE_MAX);
    user = user ? user : "";
    password = password ? password : "";
    size_t user_len = strlen(user), password_len = strlen(password);
    if (user_len >= sizeof h->user || password_len >= sizeof h->password)
        return -EINVAL;
    memcpy(h->user, user, user_len + 1);
    memcpy(h->password, password, password_len + 1);
    if (kind == HANDSHAKE_CONNECT)
        write_connect(h);
    else
        write_greeting(h);
    return h->out.failed;
}

void handshake_done(struct handshake *h)
{
    buf_done(&h->out);
    buf_done(&h->in);
    explicit_bzero(h->password, sizeof h->password);
}

int handshake_go(struct handshake *h, int fd)
{
    int r = send_rest(h, fd);

    if (r < 0)
        return r;
    return h->kind == HANDSHAKE_CONNECT ? read_connect(h, fd) : read_socks(h, fd);
}
