/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a request that was understood to a connected server.
 *
 * The order is what keeps the promise: the name is judged before anybody is asked for its
 * addresses; all addresses are judged before one is dialled; those that were judged are dialled, no
 * others. A reload in between begins all of it anew, but for what somebody answered: nothing that
 * the old rules decided is left, neither an address nor a proxy.
 *
 * With an upstream proxy the name goes there as it is, and addresses are that proxy's business: a
 * host behind one often cannot resolve names at all. Addresses in the request are judged as ever. A
 * plain request is the upstream's to answer, but a WebSocket gets a tunnel there first: an upstream
 * that passes a server's 101 on, and does not know what it means, would take what the client sends
 * behind it for requests, which nobody has judged.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "net/conn.h"

static bool is_mitm(const struct conn *c)
{
    const struct rules *rules = conn_rules(c);

    return rules->how.mitm_path && filter_routes_to_mitm(rules->filter, &c->host, c->port);
}

bool conn_is_absolute(const struct conn *c)
{
    return c->protocol == CONN_HTTP && !c->exchange->upgrade && !is_mitm(c) &&
           conn_rules(c)->how.upstream.kind == UPSTREAM_HTTP;
}

static void resume(struct conn *c, enum conn_step step)
{
    if (step == CONN_CLOSE)
        conn_free(c);
    else
        conn_run(c);
}

static enum conn_step refuse_by(struct conn *c, const struct filter_verdict *verdict)
{
    return conn_refuse(c, &(struct reply){ .kind = reply_of_verdict(verdict), .verdict = verdict });
}

/* ---- dial ---- */

static enum conn_step take_connection(struct conn *c, int fd)
{
    if (fd == -EPROTO)
        return conn_fail(c, REPLY_UPSTREAM, NULL);
    if (fd < 0)
        return conn_fail(c, reply_of_dial(fd), NULL);
    c->upstream.fd = fd;
    c->upstream_writable = true;  /* until a send says otherwise */
    c->upstream_readable = false; /* until the loop says otherwise */
    return c->protocol == CONN_HTTP ? conn_http_connected(c) : conn_tunnel_connected(c);
}

static void dialled(void *user, int fd)
{
    struct conn *c = user;

    c->dial = NULL;
    resume(c, take_connection(c, fd));
}

static enum conn_step start_dial(struct conn *c, const struct dial_target *target)
{
    c->dial = dial_start(c->server->loop, target, dialled, c);
    if (!c->dial)
        return conn_fail(c, REPLY_INTERNAL, NULL);
    conn_tell_allowed(c);
    conn_set_state(c, CONN_DIAL);
    return CONN_GO_ON;
}

static enum conn_step dial_upstream(struct conn *c, const struct addr *addrs, size_t count)
{
    const struct upstream *up = &conn_rules(c)->how.upstream;
    struct dial_target target = {
        .via = up->kind == UPSTREAM_SOCKS5 ? DIAL_SOCKS5
               : conn_is_absolute(c)       ? DIAL_PLAIN
                                           : DIAL_CONNECT,
        .addrs = addrs,
        .addr_count = count,
        .port = up->port,
        .host = &c->host,
        .host_port = c->port,
        .user = up->user,
        .password = up->password,
        .timeout = c->server->limits.dial_ns,
    };

    return start_dial(c, &target);
}

/* The addresses were judged; none of them: an upstream proxy's work. */
static enum conn_step dial_judged(struct conn *c, const struct addr *addrs, size_t count)
{
    struct dial_target target = {
        .via = DIAL_DIRECT,
        .addrs = addrs,
        .addr_count = count,
        .port = c->port,
        .host = &c->host,
        .host_port = c->port,
        .timeout = c->server->limits.dial_ns,
    };

    if (is_mitm(c)) {
        target.via = c->protocol == CONN_HTTP ? DIAL_UNIX : DIAL_UNIX_CONNECT;
        target.unix_path = conn_rules(c)->how.mitm_path;
    }
    return start_dial(c, &target);
}

/* ---- addresses ---- */

static enum conn_step fail_resolve(struct conn *c, enum resolve_status status)
{
    return conn_fail(c, REPLY_UNRESOLVED,
                     status == RESOLVE_NO_NAME   ? "there is no such name"
                     : status == RESOLVE_TIMEOUT ? "no name server answered in time"
                                                 : "no name server gave a usable answer");
}

static enum conn_step judge_addresses(struct conn *c, const struct addr *addrs, size_t count)
{
    struct filter_verdict verdict;

    filter_check_addresses(conn_rules(c)->filter, addrs, count, c->port, &verdict);
    if (verdict.decision != FILTER_ALLOW)
        return refuse_by(c, &verdict);
    return dial_judged(c, addrs, count);
}

static void told(struct conn *c, enum conn_step step)
{
    c->asked_step = step;
    if (!c->asking)
        resume(c, step);
}

static void target_resolved(struct resolve_waiter *waiter, enum resolve_status status,
                            const struct addr *addrs, size_t count)
{
    struct conn *c = CONTAINER_OF(waiter, struct conn, waiter);

    told(c, status == RESOLVE_OK ? judge_addresses(c, addrs, count) : fail_resolve(c, status));
}

static void upstream_resolved(struct resolve_waiter *waiter, enum resolve_status status,
                              const struct addr *addrs, size_t count)
{
    struct conn *c = CONTAINER_OF(waiter, struct conn, waiter);

    told(c, status == RESOLVE_OK ? dial_upstream(c, addrs, count)
                                 : conn_fail(c, REPLY_UPSTREAM, "its own name cannot be resolved"));
}

static enum conn_step resolve(struct conn *c, const struct host *name,
                              void (*done)(struct resolve_waiter *, enum resolve_status,
                                           const struct addr *, size_t))
{
    conn_set_state(c, CONN_RESOLVE);
    c->waiter.done = done;
    c->waiter.owner = conn_rules(c)->id;
    c->asking = true;
    bool now = resolver_ask(c->server->resolver, name, &c->waiter);
    c->asking = false;
    return now ? c->asked_step : CONN_WAIT;
}

/* The target's name is allowed. */
static enum conn_step open_target(struct conn *c)
{
    const struct upstream *up = &conn_rules(c)->how.upstream;

    if (up->kind != UPSTREAM_NONE && !is_mitm(c)) {
        struct filter_verdict literal;

        if (c->host.is_address) {
            filter_check_addresses(conn_rules(c)->filter, &c->host.addr, 1, c->port, &literal);
            if (literal.decision != FILTER_ALLOW)
                return refuse_by(c, &literal);
        }
        if (up->host.is_address)
            return dial_upstream(c, &up->host.addr, 1);
        return resolve(c, &up->host, upstream_resolved);
    }
    if (c->host.is_address)
        return judge_addresses(c, &c->host.addr, 1);
    return resolve(c, &c->host, target_resolved);
}

/* ---- names ---- */

enum conn_step conn_judge(struct conn *c)
{
    const struct rules *rules = conn_rules(c);
    struct filter_verdict verdict;

    loop_timer_clear(c->server->loop, &c->timer);
    filter_check_host(rules->filter, &c->host, c->port, &verdict);
    if (verdict.decision == FILTER_ALLOW)
        return open_target(c);
    if (verdict.decision == FILTER_UNLISTED && rules->how.ask) {
        int known = questions_known(rules, &c->host, c->port);

        c->granted = known == 1;
        if (c->granted)
            return open_target(c);
        if (known < 0 && questions_ask(c)) {
            conn_set_state(c, CONN_ASKED);
            return CONN_WAIT;
        }
    }
    return refuse_by(c, &verdict);
}

/*
 * By the rules of now and what was answered; nobody is asked again. A yes counts as long as these
 * rules let somebody be asked: those of a network that is blocked meanwhile do not.
 */
static bool name_is_open(const struct conn *c, struct filter_verdict *verdict)
{
    const struct rules *rules = conn_rules(c);

    filter_check_host(rules->filter, &c->host, c->port, verdict);
    return verdict->decision == FILTER_ALLOW ||
           (verdict->decision == FILTER_UNLISTED && c->granted && rules->how.ask);
}

static enum conn_step open_by_name(struct conn *c)
{
    struct filter_verdict verdict;

    return name_is_open(c, &verdict) ? open_target(c) : refuse_by(c, &verdict);
}

void conn_answered(struct conn *c, bool yes)
{
    c->granted = yes;
    resume(c, open_by_name(c));
}

void conn_open_cancel(struct conn *c)
{
    resolver_cancel(&c->waiter);
    questions_leave(c);
    dial_cancel(c->dial);
    c->dial = NULL;
}

/* ---- after a reload ---- */

void conn_open_again(struct conn *c)
{
    conn_open_cancel(c);
    resume(c, open_by_name(c));
}

static bool peer_address(const struct conn *c, struct addr *ret)
{
    struct sockaddr_storage peer = { 0 };
    socklen_t len = sizeof peer;

    if (getpeername(c->upstream.fd, (struct sockaddr *)(void *)&peer, &len) < 0)
        return false;
    if (peer.ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)&peer;

        *ret = addr_from_v4((const uint8_t *)&in->sin_addr);
        return true;
    }
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)&peer;
    *ret = addr_from_v6((const uint8_t *)&in6->sin6_addr);
    return peer.ss_family == AF_INET6;
}

bool conn_still_allowed(struct conn *c)
{
    const struct rules *rules = conn_rules(c);
    struct filter_verdict verdict;
    struct addr peer;

    if (!c->has_target || c->state <= CONN_DIAL || c->state >= CONN_REPLY)
        return true;
    bool open = name_is_open(c, &verdict);
    if (open && c->upstream.fd >= 0 && rules->how.upstream.kind == UPSTREAM_NONE && !is_mitm(c) &&
        peer_address(c, &peer)) {
        filter_check_addresses(rules->filter, &peer, 1, c->port, &verdict);
        open = verdict.decision == FILTER_ALLOW;
    }
    if (!open)
        conn_record(c, &(struct reply){ .kind = reply_of_verdict(&verdict),
                                        .detail = "the rules changed",
                                        .verdict = &verdict });
    return open;
}
