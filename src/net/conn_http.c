/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain HTTP requests: one connection to the server for each, judged each by itself however many
 * come on a client's connection.
 *
 * Both heads are taken apart and written anew (http1.h), both bodies too (body.h): client and
 * server never see each other's framing, so there is nothing to disagree about. A response may
 * begin before the request's body is through; the client's connection then ends with it. Answers
 * with 1xx are
 * dropped: we answer Expect ourselves, once the server is connected.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/conn.h"
#include "net/handshake.h"

#define READ_PIECE 16384

void exchange_free(struct conn *c)
{
    struct exchange *x = TAKE_PTR(c->exchange);

    if (!x)
        return;
    buf_done(&x->request);
    buf_done(&x->response);
    body_done(&x->up);
    body_done(&x->down);
    free(x);
}

/* ---- the request ---- */

static void write_request(struct conn *c, const struct http1_request *request)
{
    const struct upstream *up = &conn_rules(c)->how.upstream;
    struct exchange *x = c->exchange;
    _buf_ struct buf extra = { .limit = 1024 };
    struct http1_out how = {
        .framing = x->framing, .length = x->length, .upgrade = x->upgrade, .absolute = x->absolute
    };

    if (x->absolute && up->user[0]) {
        (void)buf_puts(&extra, "Proxy-Authorization: ");
        handshake_basic(&extra, up->user, up->password);
        (void)buf_puts(&extra, "\r\n");
        how.extra = extra.failed ? NULL : extra.data;
    }
    http1_write_request(&x->request, request, &how);
}

static bool exchange_new(struct conn *c, const struct http1_request *request)
{
    struct exchange *x = calloc(1, sizeof *x);

    if (!x)
        return false;
    exchange_free(c);
    c->exchange = x;
    x->is_head = request->is_head;
    x->keep_alive = request->message.keep_alive;
    x->old_client = request->message.minor == 0;
    x->upgrade = request->message.upgrade == HTTP1_WEBSOCKET;
    x->expects_continue = request->expects_continue;
    x->wants_json = request->wants_json;
    x->framing = request->message.framing;
    x->length = request->message.length;
    x->absolute = conn_is_absolute(c);
    buf_init(&x->request, HTTP1_HEAD_MAX + 4096);
    buf_init(&x->response, HTTP1_HEAD_MAX);
    body_init(&x->up, &c->server->pool, x->framing, x->length, x->framing == HTTP1_CHUNKED);
    write_request(c, request);
    return !x->request.failed;
}

static uint64_t body_limit(const struct conn *c)
{
    uint64_t own = conn_rules(c)->how.request_body;

    return own ? own : c->server->limits.request_body;
}

enum conn_step conn_http_request(struct conn *c, size_t len)
{
    struct http1_request request;
    struct http1_fault fault = { 0 };
    const char *bytes;

    (void)conn_input(c, &bytes);
    if (!http1_parse_request(bytes, len, &request, &fault)) {
        struct reply reply = { .kind = REPLY_BAD_REQUEST,
                               .status = fault.status,
                               .detail = fault.why };

        c->protocol = CONN_HTTP;
        return conn_refuse(c, &reply);
    }
    c->protocol = request.is_connect ? CONN_CONNECT : CONN_HTTP;
    c->host = request.host;
    c->port = request.port;
    c->has_target = true;
    if (!request.is_connect && !exchange_new(c, &request))
        return CONN_CLOSE;
    conn_used(c, len); /* what the request points at is gone now */
    if (c->exchange && c->exchange->framing == HTTP1_LENGTH && c->exchange->length > body_limit(c))
        return conn_fail(c, REPLY_TOO_LARGE, NULL);
    conn_set_state(c, CONN_JUDGE);
    return CONN_GO_ON;
}

enum conn_step conn_http_connected(struct conn *c)
{
    struct exchange *x = c->exchange;

    /* The rules may have changed while we were connecting. */
    if (x->absolute != conn_is_absolute(c))
        return conn_fail(c, REPLY_INTERNAL, "the rules changed");
    if (x->expects_continue && !x->old_client)
        (void)buf_puts(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
    conn_set_state(c, CONN_EXCHANGE);
    conn_deadline(c, c->server->limits.idle_ns);
    return CONN_GO_ON;
}

/* ---- up: from the client to the server ---- */

/* Sends bytes to the server. A server that takes no more may still answer. */
static size_t send_up(struct conn *c, const char *bytes, size_t len)
{
    if (!c->upstream_writable || len == 0)
        return 0;
    ssize_t n = send(c->upstream.fd, bytes, len, MSG_NOSIGNAL);
    if (n >= 0)
        return (size_t)n;
    c->upstream_writable = false;
    c->exchange->upload_broken = errno != EAGAIN;
    return 0;
}

/* Takes raw bytes of the request's body: those that came with its head first. */
static enum conn_step fill_up(struct conn *c, bool *moved)
{
    struct exchange *x = c->exchange;
    _buf_ struct buf extra = { .limit = RELAY_CHUNK };
    const char *input;
    char *at;
    size_t n = conn_input(c, &input), room = body_room(&x->up, &at);
    bool from_input = n > 0;

    if (room == 0)
        return x->up.buffer ? CONN_GO_ON : CONN_CLOSE;
    if (from_input) {
        n = MIN_OF(n, room);
        memcpy(at, input, n);
    } else {
        ssize_t got = c->client_readable ? recv(c->client.fd, at, room, 0) : -1;

        if (got == 0)
            return CONN_CLOSE; /* half a request */
        if (got < 0) {
            if (c->client_readable && errno != EAGAIN)
                return CONN_CLOSE;
            c->client_readable = false;
            body_done(&x->up);
            return CONN_GO_ON;
        }
        n = (size_t)got;
    }
    *moved = true;
    if (!body_took(&x->up, n, &extra))
        return conn_fail(c, REPLY_BAD_REQUEST, "the chunked body is malformed");
    if (from_input)
        conn_used(c, n - extra.len);
    else if (extra.len > 0 && buf_append(&c->in, extra.data, extra.len) < 0)
        return CONN_CLOSE;
    return x->up.total > body_limit(c) ? conn_fail(c, REPLY_TOO_LARGE, NULL) : CONN_GO_ON;
}

static enum conn_step upload(struct conn *c, bool *moved)
{
    struct exchange *x = c->exchange;
    const char *bytes;

    if (x->upload_broken)
        return CONN_GO_ON;
    if (x->request_sent < x->request.len) {
        size_t n = send_up(c, x->request.data + x->request_sent, x->request.len - x->request_sent);

        x->request_sent += n;
        *moved = *moved || n > 0;
        if (x->request_sent < x->request.len)
            return CONN_GO_ON;
    }
    size_t len = body_pending(&x->up, &bytes);
    if (len > 0) {
        size_t n = send_up(c, bytes, len);

        body_sent(&x->up, n);
        *moved = *moved || n > 0;
        return CONN_GO_ON;
    }
    return x->up.ended ? CONN_GO_ON : fill_up(c, moved);
}

/* ---- down: from the server to the client ---- */

/* The final head is known. How the body goes on to the client depends on both. */
static void begin_response(struct conn *c, const struct http1_response *response)
{
    struct exchange *x = c->exchange;
    const struct http1_message *m = &response->message;
    bool unknown_length = m->framing == HTTP1_CHUNKED || m->framing == HTTP1_UNTIL_CLOSE;
    struct http1_out how = { .framing = m->framing, .length = m->length };

    if (unknown_length)
        how.framing = x->old_client ? HTTP1_UNTIL_CLOSE : HTTP1_CHUNKED;
    x->keep_alive = x->keep_alive && x->up.ended && !c->server->stopping &&
                    how.framing != HTTP1_UNTIL_CLOSE;
    how.keep_alive = x->keep_alive;
    http1_write_response(&c->out, response, &how);
    body_init(&x->down, &c->server->pool, m->framing, m->length, how.framing == HTTP1_CHUNKED);
    x->response_begun = true;
}

/* A WebSocket from here on; what the server sent already follows its head. */
static enum conn_step switch_protocols(struct conn *c, const struct http1_response *response,
                                       const char *rest, size_t len)
{
    http1_write_response(&c->out, response, &(struct http1_out){ .upgrade = true });
    if (buf_append(&c->out, rest, len) < 0)
        return CONN_CLOSE;
    exchange_free(c);
    return conn_tunnel_start(c, false);
}

static enum conn_step take_head(struct conn *c, const char *rest, size_t len)
{
    struct exchange *x = c->exchange;
    struct http1_response response;
    struct http1_fault fault = { 0 };

    if (!http1_parse_response(x->response.data, x->response.len, x->is_head, &response, &fault))
        return conn_fail(c, REPLY_BAD_RESPONSE, fault.why);
    if (response.status == 101)
        return x->upgrade ? switch_protocols(c, &response, rest, len)
                          : conn_fail(c, REPLY_BAD_RESPONSE, "it switches protocols unasked");
    if (response.status >= 200)
        begin_response(c, &response);
    buf_done(&x->response);
    buf_init(&x->response, HTTP1_HEAD_MAX);
    x->scan = (struct http1_scan){ 0 };
    return CONN_GO_ON;
}

/* Bytes of the server before and at the beginning of the body. */
static enum conn_step take_response(struct conn *c, const char *bytes, size_t len)
{
    struct exchange *x = c->exchange;

    while (len > 0 && !x->response_begun) {
        struct http1_fault fault = { 0 };
        size_t used = http1_scan(&x->scan, bytes, len, &fault);

        if (fault.status || buf_append(&x->response, bytes, used) < 0)
            return conn_fail(c, REPLY_BAD_RESPONSE, fault.why);
        bytes += used;
        len -= used;
        if (x->scan.done) {
            enum conn_step step = take_head(c, bytes, len);
            if (step != CONN_GO_ON || c->state != CONN_EXCHANGE)
                return step;
        }
    }
    char *at;
    size_t room = len > 0 ? body_room(&x->down, &at) : 0;
    _buf_ struct buf extra = { .limit = RELAY_CHUNK };
    if (room == 0)
        return CONN_GO_ON; /* a body that must not be there is not passed on */
    len = MIN_OF(len, room);
    memcpy(at, bytes, len);
    return body_took(&x->down, len, &extra) ? CONN_GO_ON : CONN_CLOSE;
}

/* 1: something came; 0: the end; -EAGAIN; another -errno. */
static ssize_t recv_down(struct conn *c, char *to, size_t room)
{
    if (!c->upstream_readable)
        return -EAGAIN;
    ssize_t n = recv(c->upstream.fd, to, room, 0);
    if (n >= 0)
        return n;
    c->upstream_readable = errno != EAGAIN;
    return -errno;
}

static enum conn_step read_head(struct conn *c, bool *moved)
{
    char piece[READ_PIECE];
    ssize_t n = recv_down(c, piece, sizeof piece);

    if (n == -EAGAIN)
        return CONN_GO_ON;
    if (n <= 0)
        return conn_fail(c, REPLY_BAD_RESPONSE, "the server closed the connection");
    *moved = true;
    return take_response(c, piece, (size_t)n);
}

static enum conn_step read_body(struct conn *c, bool *moved)
{
    struct exchange *x = c->exchange;
    _buf_ struct buf extra = { .limit = RELAY_CHUNK };
    char *at;
    size_t room = body_room(&x->down, &at);

    if (room == 0)
        return CONN_CLOSE;
    ssize_t n = recv_down(c, at, room);
    if (n == -EAGAIN) {
        body_done(&x->down);
        return CONN_GO_ON;
    }
    *moved = true;
    if (n == 0)
        return body_stream_ended(&x->down) ? CONN_GO_ON : CONN_CLOSE;
    return n > 0 && body_took(&x->down, (size_t)n, &extra) ? CONN_GO_ON : CONN_CLOSE;
}

static enum conn_step download(struct conn *c, bool *moved)
{
    struct exchange *x = c->exchange;
    const char *bytes;
    int r = conn_flush(c);

    if (r < 0)
        return r == -EAGAIN ? CONN_GO_ON : CONN_CLOSE;
    if (!x->response_begun)
        return read_head(c, moved);
    size_t len = body_pending(&x->down, &bytes);
    if (len == 0)
        return x->down.ended ? CONN_GO_ON : read_body(c, moved);
    if (!c->client_writable)
        return CONN_GO_ON;
    ssize_t n = send(c->client.fd, bytes, len, MSG_NOSIGNAL);
    if (n < 0) {
        c->client_writable = errno != EAGAIN;
        return c->client_writable ? CONN_CLOSE : CONN_GO_ON;
    }
    body_sent(&x->down, (size_t)n);
    *moved = true;
    return CONN_GO_ON;
}

/* ---- both ---- */

static enum conn_step finish(struct conn *c)
{
    const struct exchange *x = c->exchange;

    if (x->keep_alive && body_is_over(&x->up))
        return conn_next_request(c);
    conn_close_upstream(c);
    conn_set_state(c, CONN_REPLY);
    return CONN_GO_ON;
}

enum conn_step conn_exchange(struct conn *c)
{
    bool moved = false;
    enum conn_step step = upload(c, &moved);

    if (step == CONN_GO_ON && c->state == CONN_EXCHANGE)
        step = download(c, &moved);
    if (step != CONN_GO_ON || c->state != CONN_EXCHANGE)
        return step;
    if (moved)
        c->active = loop_now(c->server->loop);
    if (c->exchange->response_begun && body_is_over(&c->exchange->down) && c->out.len == 0)
        return finish(c);
    return moved ? CONN_GO_ON : CONN_WAIT;
}
