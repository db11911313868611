/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client and the host are told when something does not go through.
 *
 * One refusal is one record and one answer in the client's protocol. A record's texts are ours or
 * canonical (host.h, filter.h): no byte of a client that was not understood gets into one.
 */
#include "net/conn.h"

static const char *const protocol_names[] = {
    [CONN_HTTP] = "http", [CONN_CONNECT] = "connect", [CONN_SOCKS5] = "socks5"
};

static void tell(const struct conn *c, enum server_outcome outcome, const struct reply *reply)
{
    const struct filter_verdict *verdict = reply->verdict;
    char target[HOST_AUTHORITY_MAX] = "";
    _buf_ struct buf line = { .limit = REPLY_LINE_MAX };
    struct reply with_host = *reply;
    struct server_record record = {
        .listener = c->listener->id,
        .outcome = outcome,
        .kind = reply->kind,
        .protocol = protocol_names[c->protocol],
        .host = c->has_target ? c->host.text : "",
        .port = c->has_target ? c->port : 0,
        .rule = verdict && verdict->rule ? verdict->rule : "",
        .origin = verdict && verdict->origin ? verdict->origin : "",
        .grant = verdict && outcome != SERVER_ALLOWED ? verdict->grant : "",
    };

    if (c->has_target) {
        (void)host_format(&c->host, c->port, target);
        with_host.host = target;
    }
    if (outcome == SERVER_ALLOWED)
        (void)buf_printf(&line, "%s is allowed", target);
    else
        reply_line(&line, &with_host);
    record.text = line.data && !line.failed ? line.data : "";
    c->server->hooks.record(c->server->hooks.user, &record);
}

static bool is_violation(enum reply_kind kind)
{
    return kind == REPLY_DENIED || kind == REPLY_BLOCKED || kind == REPLY_UNLISTED ||
           kind == REPLY_SERVER_NAME || kind == REPLY_BAD_REQUEST || kind == REPLY_TOO_LARGE;
}

void conn_record(const struct conn *c, const struct reply *reply)
{
    tell(c, is_violation(reply->kind) ? SERVER_REFUSED : SERVER_FAILED, reply);
}

void conn_tell_allowed(const struct conn *c)
{
    struct filter_verdict verdict;

    if (!conn_rules(c)->how.tell_allowed)
        return;
    filter_check_host(conn_rules(c)->filter, &c->host, c->port, &verdict);
    if (c->granted && verdict.decision == FILTER_UNLISTED)
        verdict.rule = verdict.origin = "answer";
    tell(c, SERVER_ALLOWED, &(struct reply){ .verdict = &verdict });
}

/* A plain request without a body, refused before anything was sent: the next one may come. */
static bool may_go_on(const struct conn *c, const struct reply *reply)
{
    const struct exchange *x = c->exchange;

    return c->protocol == CONN_HTTP && x && x->keep_alive && !x->response_begun &&
           x->framing == HTTP1_NO_BODY && !c->server->stopping &&
           reply->kind != REPLY_BAD_REQUEST && c->upstream.fd < 0;
}

enum conn_step conn_refuse(struct conn *c, const struct reply *reply)
{
    char target[HOST_AUTHORITY_MAX];
    uint8_t socks[SOCKS5_REPLY_LEN];
    struct reply with_host = *reply;
    bool go_on = may_go_on(c, reply);

    conn_record(c, reply);
    if (c->has_target) {
        (void)host_format(&c->host, c->port, target);
        with_host.host = target;
    }
    if (c->protocol == CONN_SOCKS5) {
        socks5_reply(reply_socks_code(reply->kind), socks);
        (void)buf_append(&c->out, socks, sizeof socks);
    } else if (c->exchange && c->exchange->response_begun) {
        return CONN_CLOSE; /* the client has half of something else */
    } else {
        reply_http(&c->out, &with_host, c->exchange && c->exchange->wants_json,
                   c->exchange && c->exchange->is_head, go_on);
    }
    if (go_on && conn_flush(c) == 0)
        return conn_next_request(c);
    conn_deadline(c, c->server->limits.head_ns);
    conn_set_state(c, CONN_REPLY);
    return CONN_GO_ON;
}

enum conn_step conn_fail(struct conn *c, enum reply_kind kind, const char *detail)
{
    return conn_refuse(c, &(struct reply){ .kind = kind, .detail = detail });
}
