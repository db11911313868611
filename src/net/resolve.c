/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver.
 *
 * A query asks for both kinds of addresses at the same time; each lookup goes by itself from server
 * to server. UDP first, from a socket of its own for every question: connected, so that only the
 * server's packets come, with a port that the kernel picks at random and an id from getrandom. A
 * packet that is not the answer to our question is passed over (dns.h says what is). An answer that
 * was cut is asked for again over TCP. A server that does not know EDNS is asked without.
 *
 * Servers and search domains are the host's; answers are anybody's and read as such.
 */
#include "net/resolve.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/list.h"
#include "net/dns.h"
#include "net/resolvconf.h"
#include "net/resolve_cache.h"
#include "net/span.h"

#define TCP_PREFIX 2  /* a message over TCP has its length in front */
#define UDP_ROUND  16 /* packets that are not for us, before others have their turn */

/* One kind of address. */
struct lookup {
    struct loop_io io; /* fd < 0: nothing under way */
    struct loop_timer timer;
    struct resolve_query *query;
    enum dns_type type;
    uint16_t id;
    unsigned tries;
    bool no_edns, tcp, sent, over;
    enum dns_status status; /* once it is over */
    struct dns_answer answer;
    uint8_t *message; /* TCP: what was received, prefix included */
    size_t have;
};

struct resolve_query {
    struct resolver *resolver;
    struct resolve_query *next, **prev;
    struct resolve_waiter *waiters;
    uint32_t owner;          /* who asked first */
    struct host name, asked; /* as the caller said it, and with a search domain */
    size_t candidate;
    struct lookup lookups[2];
    struct loop_timer deadline;
    struct loop_task start;
};

struct resolver {
    struct loop *loop;
    uint16_t port;
    struct resolv_conf conf;
    unsigned scopes[RESOLV_MAX_SERVERS];
    char *hosts;
    size_t hosts_len;
    struct cache cache;
    struct resolve_query *queries;
    unsigned query_count;
};

/* ---- the end of a query ---- */

static void lookup_stop(struct resolver *r, struct lookup *l)
{
    loop_close(r->loop, &l->io);
    loop_timer_clear(r->loop, &l->timer);
    free(l->message);
    l->message = NULL;
    l->have = 0;
}

static void query_free(struct resolve_query *q)
{
    struct resolver *r = q->resolver;

    for (size_t i = 0; i < 2; i++)
        lookup_stop(r, &q->lookups[i]);
    loop_timer_clear(r->loop, &q->deadline);
    loop_unpost(r->loop, &q->start);
    LIST_REMOVE(q);
    r->query_count--;
    free(q);
}

static void waiter_leave(struct resolve_waiter *w)
{
    LIST_REMOVE(w);
    w->query = NULL;
}

/* A waiter may ask for something else, or cancel others, while it is told. */
static void query_finish(struct resolve_query *q, enum resolve_status status,
                         const struct addr *addrs, size_t count)
{
    while (q->waiters) {
        struct resolve_waiter *w = q->waiters;

        waiter_leave(w);
        w->done(w, status, addrs, count);
    }
    query_free(q);
}

static void query_expired(struct loop_timer *timer)
{
    query_finish(CONTAINER_OF(timer, struct resolve_query, deadline), RESOLVE_TIMEOUT, NULL, 0);
}

static void keep(struct resolver *r, const struct resolve_query *q, const struct addr *addrs,
                 size_t count, uint32_t ttl)
{
    uint32_t most = count > 0 ? RESOLVE_TTL_MAX : RESOLVE_NEGATIVE_MAX;
    int64_t seconds = MAX_OF(MIN_OF(ttl, most), (uint32_t)RESOLVE_TTL_MIN);

    cache_put(&r->cache, &q->name, addrs, count, loop_now(r->loop) + seconds * NSEC_PER_SEC);
}

static void query_start_candidate(struct resolve_query *q);

/* Both lookups are over. */
static void query_judge(struct resolve_query *q)
{
    struct resolver *r = q->resolver;
    struct addr addrs[2 * DNS_MAX_ADDRS];
    size_t count = 0;
    uint32_t ttl = RESOLVE_TTL_MAX;
    bool failed = false;

    for (size_t i = 0; i < 2; i++) {
        const struct lookup *l = &q->lookups[i];
        bool known = l->status == DNS_OK || l->status == DNS_NO_DATA || l->status == DNS_NO_NAME;

        failed = failed || !known;
        if (l->status == DNS_OK) {
            memcpy(addrs + count, l->answer.addrs, l->answer.count * sizeof *addrs);
            count += l->answer.count;
        }
        if (known && (l->status == DNS_OK || l->answer.ttl > 0))
            ttl = MIN_OF(ttl, l->answer.ttl);
    }
    if (count > 0) {
        if (!failed)
            keep(r, q, addrs, count, ttl);
        query_finish(q, RESOLVE_OK, addrs, count);
        return;
    }
    if (failed) {
        query_finish(q, RESOLVE_FAILED, NULL, 0);
        return;
    }
    q->candidate++;
    if (resolv_candidate(&r->conf, &q->name, q->candidate, &q->asked)) {
        query_start_candidate(q);
        return;
    }
    keep(r, q, NULL, 0, ttl);
    query_finish(q, RESOLVE_NO_NAME, NULL, 0);
}

/* ---- one lookup ---- */

static void lookup_try(struct lookup *l);

static void lookup_over(struct lookup *l, enum dns_status status)
{
    struct resolve_query *q = l->query;

    lookup_stop(q->resolver, l);
    l->status = status;
    l->over = true;
    if (q->lookups[0].over && q->lookups[1].over)
        query_judge(q);
}

/* This server did not help. */
static void lookup_next(struct lookup *l)
{
    const struct resolver *r = l->query->resolver;

    l->tries++;
    l->tcp = r->conf.use_tcp;
    l->no_edns = false;
    if (l->tries >= r->conf.attempts * MAX_OF(r->conf.server_count, (size_t)1))
        lookup_over(l, DNS_SERVER_FAILED);
    else
        lookup_try(l);
}

static void lookup_expired(struct loop_timer *timer)
{
    lookup_next(CONTAINER_OF(timer, struct lookup, timer));
}

/* false: the message was not for us, and the lookup is as it was. Else it, or all, may be gone. */
static bool lookup_take(struct lookup *l, const uint8_t *message, size_t len)
{
    enum dns_status status = dns_parse_answer(message, len, &l->query->asked, l->type, l->id,
                                              &l->answer);

    switch (status) {
    case DNS_OK:
    case DNS_NO_DATA:
    case DNS_NO_NAME:
        lookup_over(l, status);
        break;
    case DNS_NOT_OURS:
        if (!l->tcp)
            return false;
        lookup_next(l);
        break;
    case DNS_TRUNCATED:
        if (l->tcp) {
            lookup_next(l);
        } else {
            l->tcp = true;
            lookup_try(l);
        }
        break;
    case DNS_NO_EDNS:
        if (l->no_edns) {
            lookup_next(l);
        } else {
            l->no_edns = true;
            lookup_try(l);
        }
        break;
    default:
        lookup_next(l);
    }
    return true;
}

static bool lookup_send(struct lookup *l)
{
    uint8_t query[TCP_PREFIX + DNS_QUERY_MAX];
    size_t len = dns_build_query(&l->query->asked, l->type, l->id, !l->no_edns, query + TCP_PREFIX);

    query[0] = (uint8_t)(len >> 8);
    query[1] = (uint8_t)len;
    const uint8_t *from = l->tcp ? query : query + TCP_PREFIX;
    len += l->tcp ? TCP_PREFIX : 0;
    l->sent = send(l->io.fd, from, len, MSG_NOSIGNAL) == (ssize_t)len;
    return l->sent;
}

static void udp_ready(struct lookup *l)
{
    uint8_t message[4096];

    for (unsigned i = 0; i < UDP_ROUND; i++) {
        ssize_t n = recv(l->io.fd, message, sizeof message, 0);
        if (n < 0) {
            if (errno != EAGAIN)
                lookup_next(l); /* ECONNREFUSED: nobody there */
            return;
        }
        if (lookup_take(l, message, (size_t)n))
            return;
    }
}

static void tcp_ready(struct lookup *l, unsigned events)
{
    if (!l->sent && !((events & LOOP_WRITE) && lookup_send(l))) {
        lookup_next(l);
        return;
    }
    if (!l->message)
        l->message = calloc(1, TCP_PREFIX + DNS_MESSAGE_MAX);
    if (!l->message) {
        lookup_over(l, DNS_SERVER_FAILED);
        return;
    }
    for (;;) {
        size_t want = TCP_PREFIX;
        if (l->have >= TCP_PREFIX)
            want += (size_t)l->message[0] << 8 | l->message[1];
        if (l->have >= TCP_PREFIX && l->have == want) {
            uint8_t *message = TAKE_PTR(l->message);
            (void)lookup_take(l, message + TCP_PREFIX, want - TCP_PREFIX);
            free(message);
            return;
        }
        ssize_t n = recv(l->io.fd, l->message + l->have, want - l->have, 0);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            lookup_next(l);
            return;
        }
        l->have += (size_t)n;
    }
}

static void lookup_ready(struct loop_io *io, unsigned events)
{
    struct lookup *l = CONTAINER_OF(io, struct lookup, io);

    if (l->tcp)
        tcp_ready(l, events);
    else
        udp_ready(l);
}

static int lookup_connect(const struct resolver *r, size_t server, bool tcp)
{
    const struct addr *a = &r->conf.servers[server].addr;
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(r->port) };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(r->port) };
    const struct sockaddr *to = (const struct sockaddr *)(const void *)&in;
    socklen_t len = sizeof in;

    if (a->family == ADDR_V6) {
        memcpy(&in6.sin6_addr, a->bytes, 16);
        in6.sin6_scope_id = r->scopes[server];
        to = (const struct sockaddr *)(const void *)&in6;
        len = sizeof in6;
    } else {
        memcpy(&in.sin_addr, a->bytes + 12, 4);
    }
    _fd_ int fd = socket(to->sa_family,
                         (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (connect(fd, to, len) < 0 && errno != EINPROGRESS))
        return -errno;
    return TAKE_FD(fd);
}

/* Asks one server; what goes wrong here is served by the timer at once, never by recursion. */
static void lookup_try(struct lookup *l)
{
    struct resolver *r = l->query->resolver;
    size_t servers = r->conf.server_count;
    int64_t now = loop_now(r->loop);

    lookup_stop(r, l);
    l->sent = false;
    loop_timer_set(r->loop, &l->timer, now);
    if (servers == 0 || getrandom(&l->id, sizeof l->id, GRND_NONBLOCK) != sizeof l->id)
        return;
    l->io.fd = lookup_connect(r, l->tries % servers, l->tcp);
    if (l->io.fd < 0 || (!l->tcp && !lookup_send(l)))
        return;
    if (loop_add(r->loop, &l->io, LOOP_READ | (l->tcp ? LOOP_WRITE | LOOP_EDGE : 0)) < 0)
        return;
    loop_timer_set(r->loop, &l->timer, now + r->conf.timeout * NSEC_PER_SEC);
}

static void query_start_candidate(struct resolve_query *q)
{
    for (size_t i = 0; i < 2; i++) {
        struct lookup *l = &q->lookups[i];

        l->tries = 0;
        l->over = l->no_edns = false;
        l->tcp = q->resolver->conf.use_tcp;
    }
    for (size_t i = 0; i < 2; i++)
        lookup_try(&q->lookups[i]);
}

static void query_start(struct loop_task *task)
{
    struct resolve_query *q = CONTAINER_OF(task, struct resolve_query, start);

    if (resolv_candidate(&q->resolver->conf, &q->name, 0, &q->asked))
        query_start_candidate(q);
    else
        query_finish(q, RESOLVE_NO_NAME, NULL, 0);
}

/* ---- for the caller ---- */

static bool may_ask(const struct resolver *r, uint32_t owner)
{
    unsigned own = 0;

    for (const struct resolve_query *q = r->queries; q; q = q->next)
        own += q->owner == owner;
    return own < RESOLVE_MAX_QUERIES - r->query_count;
}

static struct resolve_query *query_new(struct resolver *r, const struct host *name, uint32_t owner)
{
    static const enum dns_type types[2] = { DNS_AAAA, DNS_A };
    struct resolve_query *q = may_ask(r, owner) ? calloc(1, sizeof *q) : NULL;

    if (!q)
        return NULL;
    q->resolver = r;
    q->owner = owner;
    q->name = *name;
    q->start.run = query_start;
    q->deadline.expired = query_expired;
    for (size_t i = 0; i < 2; i++)
        q->lookups[i] = (struct lookup){ .io = { .fd = -1, .ready = lookup_ready },
                                         .timer.expired = lookup_expired,
                                         .query = q,
                                         .type = types[i] };
    LIST_PUSH(r->queries, q);
    r->query_count++;
    loop_timer_set(r->loop, &q->deadline, loop_now(r->loop) + RESOLVE_TIME_LIMIT);
    loop_post(r->loop, &q->start);
    return q;
}

/* What is known without asking anybody. */
static bool ask_locally(struct resolver *r, const struct host *name, struct resolve_waiter *w)
{
    const struct cache_entry *kept = cache_find(&r->cache, name, loop_now(r->loop));
    struct addr addrs[HOSTS_MAX_ADDRS];

    if (kept) {
        w->done(w, kept->count ? RESOLVE_OK : RESOLVE_NO_NAME, kept->addrs, kept->count);
        return true;
    }
    size_t count = hosts_find(r->hosts, r->hosts_len, name, addrs);
    if (count == 0)
        count = hosts_builtin(name, addrs);
    if (count == 0)
        return false;
    cache_put(&r->cache, name, addrs, count, loop_now(r->loop) + RESOLVE_TTL_MAX * NSEC_PER_SEC);
    w->done(w, RESOLVE_OK, addrs, count);
    return true;
}

bool resolver_ask(struct resolver *r, const struct host *name, struct resolve_waiter *w)
{
    struct resolve_query *q = r->queries;

    w->query = NULL;
    if (ask_locally(r, name, w))
        return true;
    while (q && !host_eq(&q->name, name))
        q = q->next;
    if (!q)
        q = query_new(r, name, w->owner);
    if (!q) {
        w->done(w, RESOLVE_FAILED, NULL, 0);
        return true;
    }
    w->query = q;
    LIST_PUSH(q->waiters, w);
    return false;
}

/* The query goes on: its answer will be kept. */
void resolver_cancel(struct resolve_waiter *w)
{
    if (w->query)
        waiter_leave(w);
}

int resolver_load(struct resolver *r, const char *hosts, size_t hosts_len, const char *resolv_conf,
                  size_t resolv_len)
{
    if (hosts_len > RESOLVE_FILE_MAX)
        return -E2BIG;
    char *copy = malloc(hosts_len + 1);
    if (!copy)
        return -ENOMEM;
    for (size_t i = 0; i < hosts_len; i++)
        copy[i] = ascii_lower(hosts[i]);
    free(r->hosts);
    r->hosts = copy;
    r->hosts_len = hosts_len;
    resolv_conf_parse(resolv_conf, resolv_len, &r->conf);
    for (size_t i = 0; i < r->conf.server_count; i++)
        r->scopes[i] = r->conf.servers[i].zone[0] ? if_nametoindex(r->conf.servers[i].zone) : 0;
    cache_clear(&r->cache);
    return 0;
}

int resolver_new(struct loop *loop, uint16_t port, struct resolver **ret)
{
    struct resolver *r = calloc(1, sizeof *r);

    if (!r)
        return -ENOMEM;
    r->loop = loop;
    r->port = port;
    int result = resolver_load(r, "", 0, "", 0);
    if (result < 0) {
        free(r);
        return result;
    }
    *ret = r;
    return 0;
}

void resolver_free(struct resolver *r)
{
    if (!r)
        return;
    for (struct resolve_query *q = r->queries, *next; q; q = next) {
        next = q->next;
        for (struct resolve_waiter *w = q->waiters; w; w = w->next)
            w->query = NULL;
        query_free(q);
    }
    cache_clear(&r->cache);
    free(r->hosts);
    free(r);
}
