/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's connection: its states up to the request, its end, and what all states share.
 *
 * Bytes of the client are hostile. Nothing is done for it before a whole request was understood;
 * until then it costs one small struct and at most a head's worth of buffer, has ten seconds, and
 * is the first to go when there are too many.
 *
 * A reply that ends a connection is followed by a lingering close: the sending side is shut, and
 * what the client still sends is thrown away for a moment, or the kernel would answer it with a
 * reset that destroys the reply before the client has read it.
 */
#include "net/conn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/list.h"

#define READ_PIECE 16384
#define LINGER_NS  (2 * NSEC_PER_SEC)
#define STEPS_MAX  64 /* before others have their turn */
#define TLS_RECORD 0x16

/* ---- life ---- */

static void client_ready(struct loop_io *io, unsigned events)
{
    struct conn *c = CONTAINER_OF(io, struct conn, client);

    c->client_readable = c->client_readable || (events & LOOP_READ);
    c->client_writable = c->client_writable || (events & LOOP_WRITE);
    c->client_ends = c->client_ends || (events & LOOP_END);
    if (c->relay)
        relay_ready(c->relay, RELAY_CLIENT, events);
    if ((events & LOOP_GONE) && c->state >= CONN_JUDGE && c->state <= CONN_DIAL)
        conn_free(c); /* nobody waits for the answer any more */
    else
        conn_run(c);
}

static void upstream_ready(struct loop_io *io, unsigned events)
{
    struct conn *c = CONTAINER_OF(io, struct conn, upstream);

    c->upstream_readable = c->upstream_readable || (events & LOOP_READ);
    c->upstream_writable = c->upstream_writable || (events & LOOP_WRITE);
    if (c->relay)
        relay_ready(c->relay, RELAY_SERVER, events);
    conn_run(c);
}

static void task_run(struct loop_task *task)
{
    conn_run(CONTAINER_OF(task, struct conn, task));
}

/* The client sees an end without a reason, and nobody else that it was us. */
static void tell_silence(const struct conn *c)
{
    char why[80];

    (void)snprintf(why, sizeof why, "the proxy closed the connection after %lld s of silence",
                   (long long)(c->server->limits.idle_ns / NSEC_PER_SEC));
    conn_record(c, &(struct reply){ .kind = REPLY_SILENT, .detail = why });
}

/* Time is over; but for what only has to stay in motion, look when it last moved. */
static void timer_expired(struct loop_timer *timer)
{
    struct conn *c = CONTAINER_OF(timer, struct conn, timer);
    struct server *s = c->server;
    bool moving = c->state == CONN_TUNNEL || c->state == CONN_EXCHANGE;
    bool judging = c->peek && c->peek->len > 0; /* half a ClientHello has not all the time */

    if (moving && !judging && loop_now(s->loop) - c->active < s->limits.idle_ns) {
        loop_timer_set(s->loop, timer, c->active + s->limits.idle_ns);
        return;
    }
    bool slow = c->state == CONN_HEAD && c->in.len > c->in_from;
    if (slow || (c->state == CONN_EXCHANGE && !c->exchange->response_begun)) {
        enum conn_step step = conn_fail(c, slow ? REPLY_SLOW_REQUEST : REPLY_DIAL_TIMEOUT, NULL);
        if (step == CONN_GO_ON) {
            conn_run(c);
            return;
        }
    }
    if (c->state == CONN_TUNNEL && !judging && tunnel_awaits_answer(c))
        tell_silence(c);
    conn_free(c);
}

int conn_new(struct listener *listener, int fd)
{
    struct server *s = listener->server;
    struct conn *c = calloc(1, sizeof *c);

    if (!c) {
        fd_close(fd);
        return -ENOMEM;
    }
    c->server = s;
    c->listener = listener;
    c->client = (struct loop_io){ .fd = fd, .ready = client_ready };
    c->upstream = (struct loop_io){ .fd = -1, .ready = upstream_ready };
    c->timer.expired = timer_expired;
    c->task.run = task_run;
    c->client_readable = c->client_writable = true;
    buf_init(&c->in, HTTP1_HEAD_MAX + RELAY_CHUNK);
    buf_init(&c->out, CONN_OUT_MAX);
    LIST_PUSH(s->conns, c);
    s->count++;
    listener->rules->connections++;
    young_add(c);
    conn_deadline(c, s->limits.head_ns);
    conn_run(c);
    return 0;
}

void conn_free(struct conn *c)
{
    struct server *s = c->server;

    young_remove(c);
    conn_open_cancel(c);
    exchange_free(c);
    tunnel_free(c);
    loop_close(s->loop, &c->client);
    conn_close_upstream(c);
    loop_timer_clear(s->loop, &c->timer);
    loop_unpost(s->loop, &c->task);
    buf_done(&c->in);
    buf_done(&c->out);
    LIST_REMOVE(c);
    s->count--;
    c->listener->rules->connections--;
    free(c);
    server_lost_connection(s);
}

void conn_close_upstream(struct conn *c)
{
    loop_close(c->server->loop, &c->upstream);
    c->upstream_events = 0;
}

void conn_set_state(struct conn *c, enum conn_state state)
{
    c->state = state;
    if (state > CONN_REQUEST)
        young_remove(c);
}

void conn_deadline(struct conn *c, int64_t ns)
{
    c->active = loop_now(c->server->loop);
    loop_timer_set(c->server->loop, &c->timer, c->active + ns);
}

const struct rules *conn_rules(const struct conn *c)
{
    return c->listener->rules;
}

/* ---- bytes ---- */

size_t conn_input(const struct conn *c, const char **ret)
{
    *ret = c->in.data ? c->in.data + c->in_from : "";
    return c->in.len - c->in_from;
}

void conn_used(struct conn *c, size_t n)
{
    c->in_from += n;
    if (c->in_from == c->in.len) { /* an idle connection holds no buffer */
        size_t limit = c->in.limit;

        buf_done(&c->in);
        buf_init(&c->in, limit);
        c->in_from = 0;
    }
}

/* A client that asks without a pause never has all of it used: what was gives its room back. */
static int keep_input(struct conn *c, const char *bytes, size_t len)
{
    if (c->in_from > 0) {
        c->in.len -= c->in_from;
        memmove(c->in.data, c->in.data + c->in_from, c->in.len);
        c->in_from = 0;
    }
    return buf_append(&c->in, bytes, len);
}

/* 1: something came; 0: the stream ended; -EAGAIN; another -errno. */
static int read_client(struct conn *c)
{
    char piece[READ_PIECE];

    if (c->client_ended)
        return 0;
    if (!c->client_readable)
        return -EAGAIN;
    ssize_t n = recv(c->client.fd, piece, sizeof piece, 0);
    if (n < 0) {
        c->client_readable = errno != EAGAIN;
        return -errno;
    }
    if (n == 0) {
        c->client_ended = true;
        return 0;
    }
    /* Less than asked for: that was all. An end that came with it was told. */
    c->client_readable = c->client_ends || (size_t)n == sizeof piece;
    c->active = loop_now(c->server->loop);
    int r = keep_input(c, piece, (size_t)n);
    return r < 0 ? r : 1;
}

int conn_flush(struct conn *c)
{
    while (c->out_sent < c->out.len) {
        if (!c->client_writable)
            return -EAGAIN;
        ssize_t n = send(c->client.fd, c->out.data + c->out_sent, c->out.len - c->out_sent,
                         MSG_NOSIGNAL);
        if (n < 0) {
            c->client_writable = errno != EAGAIN;
            return -errno;
        }
        c->out_sent += (size_t)n;
        c->active = loop_now(c->server->loop);
    }
    c->out_sent = 0;
    buf_done(&c->out);
    buf_init(&c->out, CONN_OUT_MAX);
    return 0;
}

/* Waits for more of the client, or for its end. */
static enum conn_step want_more(struct conn *c)
{
    int r = read_client(c);

    if (r == 1)
        return CONN_GO_ON;
    return r == -EAGAIN ? CONN_WAIT : CONN_CLOSE;
}

/* ---- the request ---- */

static enum conn_step step_first(struct conn *c)
{
    const char *bytes;

    if (conn_input(c, &bytes) == 0)
        return want_more(c);
    unsigned char first = (unsigned char)bytes[0];
    if (first == TLS_RECORD) /* a client that takes this for the server itself */
        return CONN_CLOSE;
    conn_deadline(c, c->server->limits.head_ns);
    conn_set_state(c, first == 5 || first == 4 ? CONN_GREETING : CONN_HEAD);
    return CONN_GO_ON;
}

static enum conn_step step_head(struct conn *c)
{
    struct http1_fault fault = { 0 };
    const char *bytes;
    size_t len = conn_input(c, &bytes);

    (void)http1_scan(&c->scan, bytes + c->scan.seen, len - c->scan.seen, &fault);
    if (fault.status) {
        struct reply reply = { .kind = REPLY_BAD_REQUEST,
                               .status = fault.status,
                               .detail = fault.why };

        c->protocol = CONN_HTTP;
        return conn_refuse(c, &reply);
    }
    return c->scan.done ? conn_http_request(c, c->scan.seen) : want_more(c);
}

static enum conn_step last_words(struct conn *c, const void *bytes, size_t len)
{
    (void)buf_append(&c->out, bytes, len);
    conn_set_state(c, CONN_REPLY);
    return CONN_GO_ON;
}

static enum conn_step step_greeting(struct conn *c)
{
    const char *bytes;
    size_t used = 0, len = conn_input(c, &bytes);
    uint8_t method[2], refusal[SOCKS4_REPLY_LEN];

    c->protocol = CONN_SOCKS5;
    switch (socks5_parse_greeting((const uint8_t *)bytes, len, &used)) {
    case SOCKS5_MORE:
        return want_more(c);
    case SOCKS5_OK:
        conn_used(c, used);
        socks5_method(true, method);
        (void)buf_append(&c->out, method, sizeof method);
        conn_set_state(c, CONN_REQUEST);
        return CONN_GO_ON;
    case SOCKS5_NO_METHOD:
        socks5_method(false, method);
        return last_words(c, method, sizeof method);
    case SOCKS5_IS_SOCKS4:
        socks4_refusal(refusal);
        return last_words(c, refusal, sizeof refusal);
    default:
        return CONN_CLOSE;
    }
}

static enum conn_step step_request(struct conn *c)
{
    struct socks5_request request;
    const char *bytes;
    size_t used = 0, len = conn_input(c, &bytes);
    uint8_t reply[SOCKS5_REPLY_LEN];
    int r = conn_flush(c);

    if (r < 0 && r != -EAGAIN)
        return CONN_CLOSE;
    switch (socks5_parse_request((const uint8_t *)bytes, len, &used, &request)) {
    case SOCKS5_MORE:
        return want_more(c);
    case SOCKS5_OK:
        conn_used(c, used);
        c->host = request.host;
        c->port = request.port;
        c->has_target = true;
        conn_set_state(c, CONN_JUDGE);
        return CONN_GO_ON;
    case SOCKS5_REFUSED:
        conn_record(c, &(struct reply){ .kind = REPLY_BAD_REQUEST, .detail = request.why });
        socks5_reply(request.code, reply);
        return last_words(c, reply, sizeof reply);
    default:
        return CONN_CLOSE;
    }
}

enum conn_step conn_next_request(struct conn *c)
{
    struct server *s = c->server;

    conn_close_upstream(c);
    exchange_free(c);
    c->has_target = c->granted = false;
    c->scan = (struct http1_scan){ 0 };
    if (s->stopping)
        return CONN_CLOSE;
    c->state = CONN_FIRST;
    young_add(c);
    conn_deadline(c, s->limits.idle_ns);
    loop_post(s->loop, &c->task); /* not at once: a pipeline must not keep others waiting */
    return CONN_WAIT;
}

/* ---- the end ---- */

static void throw_away_input(struct conn *c)
{
    conn_used(c, c->in.len - c->in_from);
}

static enum conn_step step_reply(struct conn *c)
{
    int r = c->out.failed ? -ENOMEM : conn_flush(c);

    if (r < 0)
        return r == -EAGAIN ? CONN_WAIT : CONN_CLOSE;
    if (shutdown(c->client.fd, SHUT_WR) < 0)
        return CONN_CLOSE;
    conn_deadline(c, LINGER_NS);
    conn_set_state(c, CONN_LINGER);
    return CONN_GO_ON;
}

static enum conn_step step_linger(struct conn *c)
{
    throw_away_input(c);
    return want_more(c);
}

static enum conn_step step_wait(struct conn *c)
{
    (void)c;
    return CONN_WAIT;
}

static enum conn_step (*const steps[CONN_STATES])(struct conn *c) = {
    [CONN_FIRST] = step_first,       [CONN_HEAD] = step_head,   [CONN_GREETING] = step_greeting,
    [CONN_REQUEST] = step_request,   [CONN_JUDGE] = conn_judge, [CONN_ASKED] = step_wait,
    [CONN_RESOLVE] = step_wait,      [CONN_DIAL] = step_wait,   [CONN_TUNNEL] = conn_tunnel,
    [CONN_EXCHANGE] = conn_exchange, [CONN_REPLY] = step_reply, [CONN_LINGER] = step_linger,
};

/*
 * The loop hears of a descriptor when there is something to wait for, and of writing only once a
 * send did not go through: most connections never come to that. What happened before counts as
 * news, too.
 */
static bool watch(struct conn *c, struct loop_io *io, unsigned *told, bool writable)
{
    unsigned events = *told | LOOP_READ | LOOP_EDGE | (writable ? 0 : LOOP_WRITE);
    int r = 0;

    if (io->fd < 0 || *told == events)
        return true;
    if (*told)
        loop_change(c->server->loop, io, events);
    else
        r = loop_add(c->server->loop, io, events);
    *told = events;
    return r == 0;
}

static bool watch_both(struct conn *c)
{
    const struct relay *relay = c->relay;
    bool to_client = relay ? relay->flows[RELAY_SERVER].writable : c->client_writable;
    bool to_server = relay ? relay->flows[RELAY_CLIENT].writable : c->upstream_writable;

    return watch(c, &c->client, &c->client_events, to_client) &&
           watch(c, &c->upstream, &c->upstream_events, to_server);
}

void conn_run(struct conn *c)
{
    enum conn_step step = CONN_GO_ON;

    for (unsigned i = 0; i < STEPS_MAX && step == CONN_GO_ON; i++)
        step = steps[c->state](c);
    if (step == CONN_CLOSE || (step == CONN_WAIT && !watch_both(c)))
        conn_free(c);
    else if (step == CONN_GO_ON)
        loop_post(c->server->loop, &c->task);
}
