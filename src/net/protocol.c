/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of the control socket.
 *
 * A writer leaves room for the head and fills it in when the fields are known. A reader checks
 * every length against what is left, every text for the NUL that it must end with and for those
 * that it must not hold, every number that stands for one of a few things; what is left over is
 * malformed, too. Nothing is allocated but the lists of rules, in the caller's arena.
 */
#include "net/protocol.h"

#include <string.h>

/* ---- writing ---- */

static void put_bytes(struct buf *out, const void *bytes, size_t len)
{
    (void)buf_append(out, bytes, len);
}

static void put_u32(struct buf *out, uint32_t v)
{
    put_bytes(out, &v, sizeof v);
}

static void put_u64(struct buf *out, uint64_t v)
{
    put_bytes(out, &v, sizeof v);
}

static void put_blob(struct buf *out, const char *text, size_t len)
{
    put_u32(out, (uint32_t)len);
    put_bytes(out, text, len);
    (void)buf_putc(out, '\0');
}

static void put_text(struct buf *out, const char *text)
{
    put_blob(out, text ? text : "", text ? strlen(text) : 0);
}

/* Returns where the message begins. */
static size_t begin(struct buf *out, enum protocol_type type, uint32_t serial)
{
    size_t at = out->len;
    struct protocol_head head = { 0, type, serial };

    _Static_assert(sizeof head == PROTOCOL_HEAD, "three numbers");
    put_bytes(out, &head, sizeof head);
    return at;
}

static void end(struct buf *out, size_t at)
{
    if (out->failed)
        return;
    uint32_t len = (uint32_t)(out->len - at - PROTOCOL_HEAD);
    memcpy(out->data + at, &len, sizeof len);
}

void protocol_put_setup(struct buf *out, uint32_t serial, const struct server_limits *limits,
                        uint16_t dns_port)
{
    size_t at = begin(out, PROTOCOL_SETUP, serial);

    put_u32(out, limits->connections);
    put_u64(out, limits->request_body);
    put_u64(out, (uint64_t)limits->head_ns);
    put_u64(out, (uint64_t)limits->dial_ns);
    put_u64(out, (uint64_t)limits->idle_ns);
    put_u64(out, (uint64_t)limits->ask_ns);
    put_u64(out, (uint64_t)limits->stop_ns);
    put_u32(out, dns_port);
    end(out, at);
}

void protocol_put_names(struct buf *out, uint32_t serial, const char *hosts, size_t hosts_len,
                        const char *resolv_conf, size_t resolv_len)
{
    size_t at = begin(out, PROTOCOL_NAMES, serial);

    put_blob(out, hosts, hosts_len);
    put_blob(out, resolv_conf, resolv_len);
    end(out, at);
}

static void put_list(struct buf *out, const struct filter_list *list)
{
    put_u32(out, (uint32_t)list->count);
    for (size_t i = 0; i < list->count; i++) {
        put_text(out, list->patterns[i].text);
        put_text(out, list->patterns[i].origin);
    }
}

void protocol_put_rules(struct buf *out, uint32_t serial, uint32_t id,
                        const struct server_rules *rules, const char *upstream)
{
    size_t at = begin(out, PROTOCOL_RULES, serial);

    put_u32(out, id);
    put_u32(out, (rules->ask ? 1u : 0) | (rules->allow_tls_without_name ? 2u : 0) |
                     (rules->refuse_ech ? 4u : 0) | (rules->tell_allowed ? 8u : 0));
    put_u64(out, rules->request_body);
    put_text(out, upstream);
    put_text(out, rules->mitm_path);
    put_list(out, &rules->lists.allowed);
    put_list(out, &rules->lists.denied);
    put_list(out, &rules->lists.mitm);
    end(out, at);
}

void protocol_put_numbers(struct buf *out, enum protocol_type type, uint32_t serial, uint32_t a,
                          uint32_t b)
{
    size_t at = begin(out, type, serial);

    put_u32(out, a);
    put_u32(out, b);
    end(out, at);
}

void protocol_put_done(struct buf *out, uint32_t serial, int32_t code, const char *text)
{
    size_t at = begin(out, PROTOCOL_DONE, serial);

    put_u32(out, (uint32_t)code);
    put_text(out, text);
    end(out, at);
}

void protocol_put_record(struct buf *out, const struct server_record *r)
{
    size_t at = begin(out, PROTOCOL_RECORD, 0);

    put_u32(out, r->listener);
    put_u32(out, r->outcome);
    put_u32(out, r->kind);
    put_u32(out, r->port);
    put_text(out, r->protocol);
    put_text(out, r->host);
    put_text(out, r->rule);
    put_text(out, r->origin);
    put_text(out, r->grant);
    put_text(out, r->text);
    end(out, at);
}

void protocol_put_question(struct buf *out, uint32_t question, uint32_t listener, const char *host,
                           uint16_t port)
{
    size_t at = begin(out, PROTOCOL_QUESTION, 0);

    put_u32(out, question);
    put_u32(out, listener);
    put_u32(out, port);
    put_text(out, host);
    end(out, at);
}

/* ---- reading ---- */

struct reader {
    const char *at;
    size_t left;
    bool bad;
};

static void get_bytes(struct reader *r, void *to, size_t len)
{
    if (r->bad || r->left < len) {
        r->bad = true;
        memset(to, 0, len);
        return;
    }
    memcpy(to, r->at, len);
    r->at += len;
    r->left -= len;
}

static uint32_t get_u32(struct reader *r)
{
    uint32_t v;

    get_bytes(r, &v, sizeof v);
    return v;
}

static uint32_t get_below(struct reader *r, uint32_t limit)
{
    uint32_t v = get_u32(r);

    r->bad = r->bad || v >= limit;
    return r->bad ? 0 : v;
}

static uint64_t get_u64(struct reader *r)
{
    uint64_t v;

    get_bytes(r, &v, sizeof v);
    return v;
}

static int64_t get_time(struct reader *r)
{
    uint64_t v = get_u64(r);

    r->bad = r->bad || v > INT64_MAX / 2; /* added to a clock */
    return r->bad ? 0 : (int64_t)v;
}

static const char *get_blob(struct reader *r, size_t *ret_len)
{
    size_t len = get_u32(r);
    const char *text = r->at;

    *ret_len = 0;
    if (r->bad || r->left <= len || text[len] != '\0') {
        r->bad = true;
        return "";
    }
    r->at += len + 1;
    r->left -= len + 1;
    *ret_len = len;
    return text;
}

static const char *get_text(struct reader *r)
{
    size_t len;
    const char *text = get_blob(r, &len);

    r->bad = r->bad || strlen(text) != len;
    return r->bad ? "" : text;
}

static bool is_whole(const struct reader *r)
{
    return !r->bad && r->left == 0;
}

int protocol_get_head(const char *bytes, size_t len, size_t max, struct protocol_head *ret)
{
    if (len < PROTOCOL_HEAD)
        return 0;
    memcpy(ret, bytes, PROTOCOL_HEAD);
    if (ret->len > max - PROTOCOL_HEAD)
        return -1;
    return len - PROTOCOL_HEAD >= ret->len;
}

bool protocol_get_setup(const char *bytes, size_t len, struct server_limits *ret,
                        uint16_t *ret_dns_port)
{
    struct reader r = { bytes, len, false };

    ret->connections = get_u32(&r);
    ret->request_body = get_u64(&r);
    ret->head_ns = get_time(&r);
    ret->dial_ns = get_time(&r);
    ret->idle_ns = get_time(&r);
    ret->ask_ns = get_time(&r);
    ret->stop_ns = get_time(&r);
    *ret_dns_port = (uint16_t)get_below(&r, 65536);
    return is_whole(&r);
}

bool protocol_get_names(const char *bytes, size_t len, const char **ret_hosts,
                        size_t *ret_hosts_len, const char **ret_resolv, size_t *ret_resolv_len)
{
    struct reader r = { bytes, len, false };

    *ret_hosts = get_blob(&r, ret_hosts_len);
    *ret_resolv = get_blob(&r, ret_resolv_len);
    return is_whole(&r);
}

static void get_list(struct reader *r, struct arena *arena, struct filter_list *ret)
{
    size_t count = get_u32(r);
    /* Each pattern has two lengths and two NULs at least. */
    r->bad = r->bad || count > FILTER_MAX_RULES || count > r->left / 10;
    struct filter_pattern *patterns = arena_alloc(arena, r->bad ? 0 : count, sizeof *patterns);

    *ret = (struct filter_list){ 0 };
    r->bad = r->bad || !patterns;
    for (size_t i = 0; i < count && !r->bad; i++) {
        patterns[i].text = get_text(r);
        patterns[i].origin = get_text(r);
    }
    if (!r->bad)
        *ret = (struct filter_list){ patterns, count };
}

bool protocol_get_rules(const char *bytes, size_t len, struct arena *arena, uint32_t *ret_id,
                        struct server_rules *ret)
{
    struct reader r = { bytes, len, false };

    *ret = (struct server_rules){ 0 };
    *ret_id = get_u32(&r);
    uint32_t flags = get_below(&r, 16);
    ret->request_body = get_u64(&r);
    ret->ask = flags & 1;
    ret->allow_tls_without_name = flags & 2;
    ret->refuse_ech = flags & 4;
    ret->tell_allowed = flags & 8;
    r.bad = !upstream_parse(get_text(&r), &ret->upstream) || r.bad;
    ret->mitm_path = get_text(&r);
    get_list(&r, arena, &ret->lists.allowed);
    get_list(&r, arena, &ret->lists.denied);
    get_list(&r, arena, &ret->lists.mitm);
    return is_whole(&r);
}

bool protocol_get_numbers(const char *bytes, size_t len, uint32_t *ret_a, uint32_t *ret_b)
{
    struct reader r = { bytes, len, false };

    *ret_a = get_u32(&r);
    *ret_b = get_u32(&r);
    return is_whole(&r);
}

bool protocol_get_done(const char *bytes, size_t len, int32_t *ret_code, const char **ret_text)
{
    struct reader r = { bytes, len, false };

    *ret_code = (int32_t)get_below(&r, ABX_E_FORKED + 1);
    *ret_text = get_text(&r);
    return is_whole(&r);
}

bool protocol_get_record(const char *bytes, size_t len, struct server_record *ret)
{
    struct reader r = { bytes, len, false };

    ret->listener = get_u32(&r);
    ret->outcome = get_below(&r, SERVER_FAILED + 1);
    ret->kind = get_below(&r, REPLY_UPSTREAM + 1);
    ret->port = (uint16_t)get_below(&r, 65536);
    ret->protocol = get_text(&r);
    ret->host = get_text(&r);
    ret->rule = get_text(&r);
    ret->origin = get_text(&r);
    ret->grant = get_text(&r);
    ret->text = get_text(&r);
    return is_whole(&r);
}

bool protocol_get_question(const char *bytes, size_t len, uint32_t *ret_question,
                           uint32_t *ret_listener, const char **ret_host, uint16_t *ret_port)
{
    struct reader r = { bytes, len, false };

    *ret_question = get_u32(&r);
    *ret_listener = get_u32(&r);
    *ret_port = (uint16_t)get_below(&r, 65536);
    *ret_host = get_text(&r);
    return is_whole(&r);
}
