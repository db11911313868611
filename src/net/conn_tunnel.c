/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tunnels: CONNECT, SOCKS5, and what a WebSocket becomes.
 *
 * The name that was judged is the one that the client asked for. A TLS client then names the server
 * once more, to the server; if these two differ the client talks to somebody else than was allowed
 * (a CDN serves many names at one address), so the tunnel is closed before a byte of it went out.
 * The client's first bytes are therefore held back until the name is known. The other direction is
 * open at once: in many protocols the server speaks first.
 *
 * What is not TLS is not looked at. encrypted_client_hello hides a name that may be another than
 * the one outside; browsers send a meaningless one always, so it is refused only where the rules
 * say so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/conn.h"

/* What a TLS server says of its own accord after the handshake: two tickets of OpenSSL are 510. */
#define TICKETS_MAX 576

void tunnel_free(struct conn *c)
{
    if (c->relay)
        relay_done(c->relay);
    free(c->relay);
    c->relay = NULL;
    if (c->peek)
        relay_give_buffer(&c->server->pool, c->peek->bytes);
    free(c->peek);
    c->peek = NULL;
}

/* ---- the beginning ---- */

enum conn_step conn_tunnel_connected(struct conn *c)
{
    uint8_t reply[SOCKS5_REPLY_LEN];

    if (c->protocol == CONN_SOCKS5) {
        socks5_reply(SOCKS5_SUCCEEDED, reply);
        (void)buf_append(&c->out, reply, sizeof reply);
    } else {
        (void)buf_puts(&c->out, "HTTP/1.1 200 Connection established\r\n\r\n");
    }
    return conn_tunnel_start(c, true);
}

/* What was said already, as the first bytes of a direction. */
static bool preload(struct conn *c, enum relay_side side, const char *bytes, size_t len)
{
    if (len == 0)
        return true;
    char *buffer = len <= RELAY_CHUNK ? relay_take_buffer(&c->server->pool) : NULL;
    if (!buffer)
        return false;
    memcpy(buffer, bytes, len);
    relay_preload(c->relay, side, buffer, len);
    return true;
}

static bool start_peek(struct conn *c)
{
    c->peek = calloc(1, sizeof *c->peek);
    if (!c->peek)
        return false;
    c->relay->flows[RELAY_CLIENT].held = true;
    return true;
}

enum conn_step conn_tunnel_start(struct conn *c, bool judge)
{
    const char *input;
    size_t len = conn_input(c, &input);

    c->relay = calloc(1, sizeof *c->relay);
    if (!c->relay || c->out.failed)
        return CONN_CLOSE;
    relay_init(c->relay, &c->server->pool, c->client.fd, c->upstream.fd);
    c->relay->flows[RELAY_CLIENT].ending = c->client_ends;
    c->relay->flows[RELAY_SERVER].readable = c->upstream_readable;
    if (!preload(c, RELAY_SERVER, c->out.data + c->out_sent, c->out.len - c->out_sent))
        return CONN_CLOSE;
    buf_done(&c->out);
    buf_init(&c->out, CONN_OUT_MAX);
    c->out_sent = 0;
    if (judge ? !start_peek(c) : !preload(c, RELAY_CLIENT, input, len))
        return CONN_CLOSE;
    if (!judge)
        conn_used(c, len);
    conn_set_state(c, CONN_TUNNEL);
    conn_deadline(c, c->server->limits.idle_ns);
    return CONN_GO_ON;
}

/* ---- the TLS client's name ---- */

/* NULL: fine; else what is wrong. */
static const char *judge_hello(const struct conn *c, const struct clienthello *hello)
{
    const struct rules *rules = conn_rules(c);
    struct filter_verdict verdict;

    if (hello->step == CLIENTHELLO_NOT_TLS)
        return NULL;
    if (hello->step == CLIENTHELLO_MALFORMED)
        return "the TLS client's first message is malformed";
    if (hello->step == CLIENTHELLO_ECH && rules->how.refuse_ech)
        return "the TLS client hides the server's name (ECH)";
    if (!hello->has_host)
        return c->host.is_address || rules->how.allow_tls_without_name
                   ? NULL
                   : "the TLS client names no server";
    if (host_eq(&hello->host, &c->host))
        return NULL;
    if (!c->host.is_address)
        return "the TLS client names another server";
    /* An address was allowed, whatever is served there; but not what is denied by name. */
    filter_check_host(rules->filter, &hello->host, c->port, &verdict);
    return verdict.decision == FILTER_DENY && !verdict.blocked
               ? "the TLS client names a denied host"
               : NULL;
}

static enum conn_step refuse_hello(struct conn *c, const char *why)
{
    /* Fatal alert unrecognized_name: the client says that much to its user. */
    static const uint8_t alert[] = { 0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x70 };

    conn_record(c, &(struct reply){ .kind = REPLY_SERVER_NAME, .detail = why });
    tunnel_free(c);
    conn_close_upstream(c);
    (void)buf_append(&c->out, alert, sizeof alert);
    conn_deadline(c, c->server->limits.head_ns);
    conn_set_state(c, CONN_REPLY);
    return CONN_GO_ON;
}

/* Nothing is held back any more. */
static enum conn_step end_peek(struct conn *c)
{
    struct peek *p = TAKE_PTR(c->peek);

    relay_preload(c->relay, RELAY_CLIENT, p->bytes, p->len);
    c->relay->flows[RELAY_CLIENT].held = false;
    c->relay->flows[RELAY_CLIENT].readable = c->client_readable;
    c->is_tls = p->len > 0 && p->hello.step != CLIENTHELLO_NOT_TLS;
    free(p);
    conn_deadline(c, c->server->limits.idle_ns);
    return CONN_GO_ON;
}

/* Bytes that came with the request, then the socket's. -errno, or how many (0: the end). */
static ssize_t peek_more(struct conn *c, char *to, size_t room)
{
    const char *input;
    size_t len = MIN_OF(conn_input(c, &input), room);

    if (len > 0) {
        memcpy(to, input, len);
        conn_used(c, len);
        return (ssize_t)len;
    }
    if (!c->client_readable)
        return -EAGAIN;
    ssize_t n = recv(c->client.fd, to, room, 0);
    if (n >= 0) {
        c->client_readable = c->client_ends || (size_t)n == room;
        return n;
    }
    c->client_readable = errno != EAGAIN;
    return -errno;
}

/* CONN_GO_ON: the relay may go on, with or without the client's bytes. */
static enum conn_step peek_client(struct conn *c)
{
    struct peek *p = c->peek;

    if (!p->bytes)
        p->bytes = relay_take_buffer(&c->server->pool);
    if (!p->bytes)
        return CONN_CLOSE;
    while (p->hello.step == CLIENTHELLO_MORE) {
        size_t room = RELAY_CHUNK - p->len;
        ssize_t n = room > 0 ? peek_more(c, p->bytes + p->len, room) : -EMSGSIZE;

        if (n == -EMSGSIZE)
            return refuse_hello(c, "the TLS client's first message is too long");
        if (n == -EAGAIN) {
            if (p->len == 0) { /* an idle tunnel holds no buffer */
                relay_give_buffer(&c->server->pool, p->bytes);
                p->bytes = NULL;
            }
            return CONN_GO_ON;
        }
        if (n == 0 && p->len == 0) /* it only wants to listen */
            return end_peek(c);
        if (n <= 0)
            return CONN_CLOSE;
        if (p->len == 0)
            conn_deadline(c, c->server->limits.head_ns);
        (void)clienthello_feed(&p->hello, (const uint8_t *)p->bytes + p->len, (size_t)n);
        p->len += (size_t)n;
    }
    const char *why = judge_hello(c, &p->hello);
    return why ? refuse_hello(c, why) : end_peek(c);
}

/* ---- in between ---- */

/* What the server said in the same moment, it said before it heard the client. */
static void note_client(struct conn *c, uint64_t server_before)
{
    c->turns += c->turns == 0 || server_before != c->heard;
    c->heard = c->relay->flows[RELAY_SERVER].total;
}

bool tunnel_awaits_answer(const struct conn *c)
{
    uint64_t said = c->relay->flows[RELAY_SERVER].total - c->heard;
    /* The second turn ends a handshake and asks, which tickets only seem to answer. */
    bool tickets = c->is_tls && c->turns == 2 && said <= TICKETS_MAX;

    return c->turns > 0 && (said == 0 || tickets);
}

enum conn_step conn_tunnel(struct conn *c)
{
    if (c->peek) {
        enum conn_step step = peek_client(c);

        if (step != CONN_GO_ON || c->state != CONN_TUNNEL)
            return step;
    }
    const struct relay_flow *flows = c->relay->flows;
    uint64_t client = flows[RELAY_CLIENT].total, server = flows[RELAY_SERVER].total;
    enum relay_step step = relay_pump(c->relay);
    if (flows[RELAY_CLIENT].total != client)
        note_client(c, server);
    if (relay_total(c->relay) != client + server)
        c->active = loop_now(c->server->loop);
    if (step == RELAY_MORE)
        loop_post(c->server->loop, &c->task);
    return step == RELAY_WAIT || step == RELAY_MORE ? CONN_WAIT : CONN_CLOSE;
}
