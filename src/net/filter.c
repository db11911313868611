/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter.
 *
 * Each list becomes one hash table. Its keys are (kind, port, name) and (port, family, bits,
 * network); a target is looked up by every key that could match it: its name, each name above it,
 * or itself cut to each prefix length in use, each with its port and with none. So a verdict costs
 * some dozen look-ups whatever the number of rules. Targets are foreign, keys come from
 * configurations: nobody inside can make the tables slow.
 *
 * The rule that is reported is the most exact one: exact host before the longest "*.", the longest
 * prefix, with a port before without. Among equals the first in the list counts.
 *
 * Nothing is allowed by default: an empty filter has no ALLOW.
 */
#include "net/filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "net/pattern.h"

#define KEY_MAX (HOST_MAX + 3)

struct key {
    uint8_t bytes[KEY_MAX];
    size_t len;
};

struct rule {
    const char *text, *origin;
    const uint8_t *key;
    size_t key_len;
    uint64_t hash;
};

struct table {
    const struct rule **slots; /* open addressing; at most half of them are used */
    size_t mask;
    bool bits_used[2][129]; /* prefix lengths of IPv4, of IPv6 */
};

struct filter {
    struct arena arena;
    struct table allowed, denied, mitm;
};

/* ---- keys ---- */

static void key_begin(struct key *k, enum pattern_kind kind, uint16_t port)
{
    k->bytes[0] = (uint8_t)kind;
    k->bytes[1] = (uint8_t)(port >> 8);
    k->bytes[2] = (uint8_t)port;
    k->len = 3;
}

static void key_add(struct key *k, const void *bytes, size_t len)
{
    memcpy(k->bytes + k->len, bytes, len);
    k->len += len;
}

static void key_of_net(struct key *k, const struct addr *network, unsigned bits, uint16_t port)
{
    const uint8_t head[] = { network->family, (uint8_t)bits };

    key_begin(k, PATTERN_NETWORK, port);
    key_add(k, head, sizeof head);
    key_add(k, network->bytes, sizeof network->bytes);
}

static void key_of_pattern(struct key *k, const struct pattern *p)
{
    if (p->kind == PATTERN_NETWORK) {
        key_of_net(k, &p->net.addr, p->net.bits, p->port);
        return;
    }
    key_begin(k, p->kind, p->port);
    key_add(k, p->host.text, p->host.len);
}

static uint64_t hash_of(const uint8_t *bytes, size_t len)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < len; i++)
        h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    return h ^ (h >> 32);
}

/* ---- tables ---- */

/* The slot that has the key, or the empty one where it would be. */
static size_t find_slot(const struct table *t, uint64_t hash, const uint8_t *key, size_t len)
{
    size_t i = (size_t)hash & t->mask;

    for (; t->slots[i]; i = (i + 1) & t->mask) {
        const struct rule *r = t->slots[i];
        if (r->hash == hash && r->key_len == len && memcmp(r->key, key, len) == 0)
            break;
    }
    return i;
}

static const struct rule *look_up(const struct table *t, const struct key *k)
{
    return t->slots[find_slot(t, hash_of(k->bytes, k->len), k->bytes, k->len)];
}

static int32_t add_rule(struct filter *f, struct table *t, const struct filter_pattern *source,
                        const char *list, abx_error **err)
{
    struct pattern p;
    struct rule *rule;
    struct key k;
    size_t slot;

    if (!pattern_parse(source->text, &p)) {
        int32_t code = err_new(err, ABX_E_CONFIG, "%s: '%s' is no pattern of a host", list,
                               source->text);
        err_subject(err, source->text);
        return code;
    }
    key_of_pattern(&k, &p);
    rule = arena_alloc(&f->arena, 1, sizeof *rule);
    if (!rule)
        return err_nomem(err);
    rule->hash = hash_of(k.bytes, k.len);
    slot = find_slot(t, rule->hash, k.bytes, k.len);
    if (t->slots[slot])
        return ABX_OK;
    rule->text = arena_strdup(&f->arena, source->text);
    rule->origin = arena_strdup(&f->arena, source->origin);
    rule->key = (const uint8_t *)arena_strndup(&f->arena, (const char *)k.bytes, k.len);
    rule->key_len = k.len;
    if (!rule->text || !rule->origin || !rule->key)
        return err_nomem(err);
    if (p.kind == PATTERN_NETWORK)
        t->bits_used[p.net.addr.family == ADDR_V6][p.net.bits] = true;
    t->slots[slot] = rule;
    return ABX_OK;
}

static int32_t fill_table(struct filter *f, struct table *t, const struct filter_list *list,
                          const char *name, abx_error **err)
{
    size_t size = 2;

    while (size < 2 * list->count)
        size *= 2;
    t->slots = arena_alloc(&f->arena, size, sizeof(const struct rule *));
    if (!t->slots)
        return err_nomem(err);
    t->mask = size - 1;
    for (size_t i = 0; i < list->count; i++) {
        int32_t code = add_rule(f, t, &list->patterns[i], name, err);
        if (code != ABX_OK)
            return code;
    }
    return ABX_OK;
}

int32_t filter_new(const struct filter_lists *lists, struct filter **ret, abx_error **err)
{
    const struct filter_list *const all[] = { &lists->allowed, &lists->denied, &lists->mitm };
    static const char *const names[] = { "network.allowedDomains", "network.deniedDomains",
                                         "network.mitmProxy.domains" };
    _filter_ struct filter *f = NULL;
    struct table *tables[3];
    size_t total = 0;

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i]->count > FILTER_MAX_RULES || (total += all[i]->count) > FILTER_MAX_RULES)
            return err_new(err, ABX_E_CONFIG, "more than %d patterns of hosts", FILTER_MAX_RULES);
    f = calloc(1, sizeof *f);
    if (!f)
        return err_nomem(err);
    arena_init(&f->arena, ARENA_DEFAULT_LIMIT);
    tables[0] = &f->allowed;
    tables[1] = &f->denied;
    tables[2] = &f->mitm;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        int32_t code = fill_table(f, tables[i], all[i], names[i], err);
        if (code != ABX_OK)
            return code;
    }
    *ret = TAKE_PTR(f);
    return ABX_OK;
}

void filter_free(struct filter *f)
{
    if (!f)
        return;
    arena_done(&f->arena);
    free(f);
}

void filter_freep(struct filter **f)
{
    filter_free(*f);
}

/* ---- look-ups ---- */

static const struct rule *find_name(const struct table *t, enum pattern_kind kind, const char *name,
                                    size_t len, uint16_t port)
{
    const uint16_t ports[] = { port, 0 };

    for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
        const struct rule *rule;
        struct key k;
        key_begin(&k, kind, ports[i]);
        key_add(&k, name, len);
        rule = look_up(t, &k);
        if (rule)
            return rule;
    }
    return NULL;
}

static const struct rule *find_addr(const struct table *t, const struct addr *a, uint16_t port)
{
    bool six = a->family == ADDR_V6;
    const uint16_t ports[] = { port, 0 };

    if (a->zoned)
        return NULL;
    for (unsigned n = six ? 129 : 33; n > 0; n--) {
        struct addr network;
        if (!t->bits_used[six][n - 1])
            continue;
        network = addr_masked(a, n - 1);
        for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
            const struct rule *rule;
            struct key k;
            key_of_net(&k, &network, n - 1, ports[i]);
            rule = look_up(t, &k);
            if (rule)
                return rule;
        }
    }
    return NULL;
}

static const struct rule *find_host(const struct table *t, const struct host *h, uint16_t port)
{
    const struct rule *rule;

    if (h->is_address)
        return find_addr(t, &h->addr, port);
    rule = find_name(t, PATTERN_HOST, h->text, h->len, port);
    for (size_t i = 0; !rule && i < h->len; i++)
        if (h->text[i] == '.')
            rule = find_name(t, PATTERN_BELOW, h->text + i + 1, h->len - i - 1u, port);
    return rule;
}

/* ---- verdicts ---- */

static void decide(struct filter_verdict *v, enum filter_decision decision, const struct rule *rule,
                   const char *built_in)
{
    *v = (struct filter_verdict){
        .decision = decision,
        .rule = rule ? rule->text : built_in,
        .origin = rule ? rule->origin : "built-in",
    };
}

static void set_grant(struct filter_verdict *v, const struct host *h, uint16_t port)
{
    static const char option[] = "--allow-domain ";

    _Static_assert(sizeof option + HOST_AUTHORITY_MAX <= sizeof v->grant, "a grant fits");
    if (h->is_address && h->addr.zoned)
        return;
    if (!h->is_address && !memchr(h->text, '.', h->len))
        return; /* no pattern names a single label */
    memcpy(v->grant, option, sizeof option - 1);
    (void)host_format(h, port, v->grant + sizeof option - 1);
}

/* True if the address is blocked and nothing listed opens it; *ret_opened is what does. */
static bool refuse_blocked(const struct filter *f, const struct addr *a, uint16_t port,
                           struct filter_verdict *ret, const struct rule **ret_opened)
{
    const char *kind = addr_blocked(a);
    struct host h = { .is_address = true, .addr = *a };

    if (!kind)
        return false;
    *ret_opened = find_addr(&f->allowed, a, port);
    if (*ret_opened)
        return false;
    decide(ret, FILTER_DENY, NULL, "blocked");
    ret->blocked = kind;
    ret->addr = *a;
    h.len = (uint8_t)addr_format(a, h.text);
    set_grant(ret, &h, port);
    return true;
}

void filter_check_host(const struct filter *f, const struct host *host, uint16_t port,
                       struct filter_verdict *ret)
{
    const struct rule *rule = NULL;

    if (host->is_address && refuse_blocked(f, &host->addr, port, ret, &rule))
        return;
    rule = find_host(&f->denied, host, port);
    if (rule) {
        decide(ret, FILTER_DENY, rule, NULL);
        return;
    }
    rule = find_host(&f->allowed, host, port);
    if (rule) {
        decide(ret, FILTER_ALLOW, rule, NULL);
        return;
    }
    decide(ret, FILTER_UNLISTED, NULL, "default");
    set_grant(ret, host, port);
}

void filter_check_addresses(const struct filter *f, const struct addr *addrs, size_t count,
                            uint16_t port, struct filter_verdict *ret)
{
    const struct rule *opened = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct rule *rule = NULL;
        if (refuse_blocked(f, &addrs[i], port, ret, &rule))
            return;
        if (!opened)
            opened = rule;
        rule = find_addr(&f->denied, &addrs[i], port);
        if (rule) {
            decide(ret, FILTER_DENY, rule, NULL);
            ret->addr = addrs[i];
            return;
        }
    }
    decide(ret, count > 0 ? FILTER_ALLOW : FILTER_DENY, opened, "resolved");
}

bool filter_routes_to_mitm(const struct filter *f, const struct host *host, uint16_t port)
{
    return find_host(&f->mitm, host, port) != NULL;
}
