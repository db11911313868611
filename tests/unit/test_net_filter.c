/* SPDX-License-Identifier: Apache-2.0 */
/* The network's rules: order, blocked addresses, what is reported; and against a slow model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "net/filter.h"
#include "net/pattern.h"

#define MAX_RULES 64

/* Texts separated by blanks. */
static struct filter_list list_of(const char *texts, char *store, struct filter_pattern *patterns)
{
    struct filter_list list = { patterns, 0 };
    char *save = NULL;

    strcpy(store, texts);
    for (char *t = strtok_r(store, " ", &save); t; t = strtok_r(NULL, " ", &save))
        patterns[list.count++] = (struct filter_pattern){ t, "file:1:2" };
    return list;
}

static struct filter *filter_of(const char *allowed, const char *denied, const char *mitm)
{
    char store[3][4096];
    struct filter_pattern patterns[3][MAX_RULES];
    struct filter_lists lists = { list_of(allowed, store[0], patterns[0]),
                                  list_of(denied, store[1], patterns[1]),
                                  list_of(mitm, store[2], patterns[2]) };
    struct filter *f = NULL;

    assert_int_equal(filter_new(&lists, &f, NULL), ABX_OK);
    return f;
}

static void parse_target(const char *text, struct host *ret, uint16_t *ret_port)
{
    assert_int_equal(host_parse_authority(text, strlen(text), 443, ret, ret_port), HOST_OK);
}

static struct addr addr_of(const char *text)
{
    struct addr a;

    assert_int_equal(addr_parse(text, strlen(text), &a), 0);
    return a;
}

static void hosts_are_judged_in_order(void **state)
{
    static const struct {
        const char *allowed, *denied, *target;
        enum filter_decision decision;
        const char *rule, *origin, *grant;
    } table[] = {
        { "", "", "ok.test", FILTER_UNLISTED, "default", "built-in", "--allow-domain ok.test:443" },
        { "ok.test", "", "OK.TEST.", FILTER_ALLOW, "ok.test", "file:1:2", "" },
        { "ok.test", "", "evil.test:80", FILTER_UNLISTED, "default", "built-in",
          "--allow-domain evil.test:80" },
        { "*.wild.test", "", "wild.test", FILTER_UNLISTED, "default", "built-in",
          "--allow-domain wild.test:443" },
        { "*.wild.test", "", "a.b.wild.test", FILTER_ALLOW, "*.wild.test", "file:1:2", "" },
        { "*.wild.test", "a.wild.test", "a.wild.test", FILTER_DENY, "a.wild.test", "file:1:2", "" },
        { "a.wild.test", "*.wild.test", "a.wild.test", FILTER_DENY, "*.wild.test", "file:1:2", "" },
        { "ok.test", "ok.test:22", "ok.test:22", FILTER_DENY, "ok.test:22", "file:1:2", "" },
        { "ok.test", "ok.test:22", "ok.test:443", FILTER_ALLOW, "ok.test", "file:1:2", "" },
        { "ok.test:443", "", "ok.test:22", FILTER_UNLISTED, "default", "built-in",
          "--allow-domain ok.test:22" },
        { "ok.test ok.test:443", "", "ok.test", FILTER_ALLOW, "ok.test:443", "file:1:2", "" },
        { "*.test.test *.a.test.test", "", "b.a.test.test", FILTER_ALLOW, "*.a.test.test",
          "file:1:2", "" },
        /* addresses */
        { "", "", "8.8.8.8", FILTER_UNLISTED, "default", "built-in", "--allow-domain 8.8.8.8:443" },
        { "8.8.8.8", "", "0x8.8.8.8", FILTER_ALLOW, "8.8.8.8", "file:1:2", "" },
        { "8.0.0.0/8", "8.8.8.8", "8.8.8.8", FILTER_DENY, "8.8.8.8", "file:1:2", "" },
        { "ok.test", "", "2130706433", FILTER_DENY, "blocked", "built-in",
          "--allow-domain 127.0.0.1:443" },
        { "127.0.0.1", "", "0177.1:80", FILTER_ALLOW, "127.0.0.1", "file:1:2", "" },
        { "127.0.0.1:80", "", "127.0.0.1:81", FILTER_DENY, "blocked", "built-in",
          "--allow-domain 127.0.0.1:81" },
        { "127.0.0.0/8", "", "[::ffff:127.9.9.9]", FILTER_ALLOW, "127.0.0.0/8", "file:1:2", "" },
        { "0.0.0.0/0", "", "[::1]:80", FILTER_DENY, "blocked", "built-in",
          "--allow-domain [::1]:80" },
        { "127.0.0.1", "127.0.0.0/8", "127.0.0.1", FILTER_DENY, "127.0.0.0/8", "file:1:2", "" },
        { "", "127.0.0.1", "127.0.0.1", FILTER_DENY, "blocked", "built-in",
          "--allow-domain 127.0.0.1:443" },
        { "fe80::/10", "", "[fe80::1]:80", FILTER_ALLOW, "fe80::/10", "file:1:2", "" },
        { "ok.test", "", "localhost", FILTER_UNLISTED, "default", "built-in", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _filter_ struct filter *f = filter_of(table[i].allowed, table[i].denied, "");
        struct filter_verdict v;
        struct host h;
        uint16_t port;

        parse_target(table[i].target, &h, &port);
        filter_check_host(f, &h, port, &v);
        if (v.decision != table[i].decision || !str_eq(v.rule, table[i].rule) ||
            !str_eq(v.origin, table[i].origin) || !str_eq(v.grant, table[i].grant))
            fail_msg("row %zu, %s: %d by '%s' of %s, grant '%s'", i, table[i].target, v.decision,
                     v.rule, v.origin, v.grant);
    }
}

static void all_answers_of_a_name_are_judged(void **state)
{
    static const struct {
        const char *allowed, *denied, *addrs[3];
        enum filter_decision decision;
        const char *rule, *blocked;
    } table[] = {
        { "ok.test", "", { "8.8.8.8" }, FILTER_ALLOW, "resolved", NULL },
        { "ok.test", "", { "8.8.8.8", "2606:4700::1" }, FILTER_ALLOW, "resolved", NULL },
        /* A105, A106 */
        { "ok.test", "", { "127.0.0.1" }, FILTER_DENY, "blocked", "loopback" },
        { "ok.test", "", { "169.254.169.254" }, FILTER_DENY, "blocked", "metadata" },
        { "ok.test", "", { "100.100.100.200" }, FILTER_DENY, "blocked", "metadata" },
        { "ok.test", "", { "fd00:ec2::254" }, FILTER_DENY, "blocked", "metadata" },
        { "ok.test", "", { "8.8.8.8", "10.0.0.1" }, FILTER_DENY, "blocked", "private" },
        { "ok.test", "", { "64:ff9b::808:808" }, FILTER_DENY, "blocked", "NAT64" },
        { "ok.test 10.0.0.1", "", { "8.8.8.8", "10.0.0.1" }, FILTER_ALLOW, "10.0.0.1", NULL },
        { "ok.test 10.0.0.1:22", "", { "10.0.0.1" }, FILTER_DENY, "blocked", "private" },
        { "10.0.0.0/8", "10.0.0.1", { "10.0.0.1" }, FILTER_DENY, "10.0.0.1", NULL },
        { "ok.test", "8.0.0.0/8", { "9.9.9.9", "8.8.8.8" }, FILTER_DENY, "8.0.0.0/8", NULL },
        { "ok.test", "", { NULL }, FILTER_DENY, "resolved", NULL },
        { "fe80::/10", "", { "fe80::1%eth0" }, FILTER_DENY, "blocked", "link-local" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _filter_ struct filter *f = filter_of(table[i].allowed, table[i].denied, "");
        struct filter_verdict v;
        struct addr addrs[3];
        size_t n = 0;

        for (; n < 3 && table[i].addrs[n]; n++)
            addrs[n] = addr_of(table[i].addrs[n]);
        filter_check_addresses(f, addrs, n, 443, &v);
        if (v.decision != table[i].decision || !str_eq(v.rule, table[i].rule) ||
            !v.blocked != !table[i].blocked || (v.blocked && !str_eq(v.blocked, table[i].blocked)))
            fail_msg("row %zu: %d by '%s'", i, v.decision, v.rule);
    }
}

static void routes_to_mitm_by_name(void **state)
{
    _filter_ struct filter *f = filter_of("ok.test", "", "ok.test *.wild.test:443");
    static const struct {
        const char *target;
        bool routed;
    } table[] = { { "ok.test", true },
                  { "a.ok.test", false },
                  { "a.wild.test", true },
                  { "a.wild.test:80", false },
                  { "127.0.0.1:443", false } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct host h;
        uint16_t port;
        parse_target(table[i].target, &h, &port);
        assert_int_equal(filter_routes_to_mitm(f, &h, port), table[i].routed);
    }
}

static void what_is_no_pattern_is_an_error(void **state)
{
    static const char *const wrong[] = { "*", "", "localhost", "*.com", "http://a.test", "127.1" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct filter_pattern patterns[] = { { "ok.test", "x" }, { wrong[i], "x" } };
        struct filter_lists lists = { .denied = { patterns, 2 } };
        struct filter *f = NULL;
        _err_ abx_error *err = NULL;

        assert_int_equal(filter_new(&lists, &f, &err), ABX_E_CONFIG);
        assert_null(f);
        assert_non_null(strstr(abx_error_message(err), "network.deniedDomains"));
    }
}

static void too_many_rules_are_an_error(void **state)
{
    struct filter_pattern *patterns = calloc(FILTER_MAX_RULES + 1, sizeof *patterns);
    struct filter *f = NULL;
    struct filter_lists lists = { .allowed = { patterns, FILTER_MAX_RULES } };

    (void)state;
    assert_non_null(patterns);
    for (size_t i = 0; i <= FILTER_MAX_RULES; i++)
        patterns[i] = (struct filter_pattern){ "ok.test", "x" };
    assert_int_equal(filter_new(&lists, &f, NULL), ABX_OK);
    filter_free(f);
    lists.denied = (struct filter_list){ patterns, 1 };
    assert_int_equal(filter_new(&lists, &f, NULL), ABX_E_CONFIG);
    free(patterns);
}

/* ---- the same by definition, slowly ---- */

static uint32_t seed = 7;

static uint32_t next_random(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static const char *pick(const char *const *words, size_t count)
{
    return words[next_random((uint32_t)count)];
}

static void random_pattern(char *text, size_t size)
{
    static const char *const hosts[] = { "a.test",      "b.a.test",     "*.a.test",  "*.b.a.test",
                                         "c.test",      "*.x.test",     "1.1.1.1",   "1.1.0.0/16",
                                         "0.0.0.0/0",   "10.0.0.0/8",   "127.0.0.1", "10.1.0.0/16",
                                         "[fd00::/8]",  "[::1]",        "[::/0]",    "[2606::/16]",
                                         "10.1.2.3/32", "[2606::1]",    "*.c.test",  "d.c.a.test",
                                         "8.8.8.8",     "127.0.0.0/31", "1.0.0.0/8", "*.d.c.test" };
    static const char *const ports[] = { "", "", ":443", ":80" };

    snprintf(text, size, "%s%s", pick(hosts, ARRAY_LEN(hosts)), pick(ports, ARRAY_LEN(ports)));
}

struct model {
    char text[3][MAX_RULES][64];
    struct filter_pattern sources[3][MAX_RULES];
    struct pattern patterns[3][MAX_RULES];
    size_t count[3];
};

static const char *model_find(const struct model *m, int list, const struct host *h, uint16_t port)
{
    for (size_t i = 0; i < m->count[list]; i++)
        if (pattern_matches(&m->patterns[list][i], h, port))
            return m->text[list][i];
    return NULL;
}

static enum filter_decision model_check(const struct model *m, const struct host *h, uint16_t port)
{
    if (h->is_address && addr_blocked(&h->addr) && !model_find(m, 0, h, port))
        return FILTER_DENY;
    if (model_find(m, 1, h, port))
        return FILTER_DENY;
    return model_find(m, 0, h, port) ? FILTER_ALLOW : FILTER_UNLISTED;
}

static struct filter *random_filter(struct model *m)
{
    struct filter_lists lists;
    struct filter_list *all[] = { &lists.allowed, &lists.denied, &lists.mitm };
    struct filter *f = NULL;

    for (int list = 0; list < 3; list++) {
        m->count[list] = next_random(list == 0 ? 20 : 6);
        for (size_t i = 0; i < m->count[list]; i++) {
            random_pattern(m->text[list][i], sizeof m->text[list][i]);
            m->sources[list][i] = (struct filter_pattern){ m->text[list][i], "o" };
            assert_true(pattern_parse(m->text[list][i], &m->patterns[list][i]));
        }
        *all[list] = (struct filter_list){ m->sources[list], m->count[list] };
    }
    assert_int_equal(filter_new(&lists, &f, NULL), ABX_OK);
    return f;
}

static void check_target(const struct filter *f, const struct model *m, const char *target)
{
    enum filter_decision expected;
    struct filter_verdict v;
    struct host h;
    uint16_t port;

    parse_target(target, &h, &port);
    filter_check_host(f, &h, port, &v);
    expected = model_check(m, &h, port);
    if (v.decision != expected)
        fail_msg("%s: %d, not %d", target, v.decision, expected);
    if (!str_eq(v.origin, "built-in")) {
        struct pattern p;
        assert_true(pattern_parse(v.rule, &p) && pattern_matches(&p, &h, port));
    }
    assert_int_equal(filter_routes_to_mitm(f, &h, port), model_find(m, 2, &h, port) != NULL);
    if (h.is_address) {
        bool refused = (addr_blocked(&h.addr) && !model_find(m, 0, &h, port)) ||
                       model_find(m, 1, &h, port);
        filter_check_addresses(f, &h.addr, 1, port, &v);
        assert_int_equal(v.decision, refused ? FILTER_DENY : FILTER_ALLOW);
    }
    if (v.decision == FILTER_UNLISTED && h.len > 1 && v.grant[0]) {
        struct pattern p; /* the grant would help, and is for this target alone */
        assert_true(pattern_parse(v.grant + strlen("--allow-domain "), &p));
        assert_true(pattern_matches(&p, &h, port) &&
                    !pattern_matches(&p, &h, (uint16_t)(port + 1)));
    }
}

static void decides_like_the_slow_model(void **state)
{
    static const char *const targets[] = {
        "a.test",
        "b.a.test",
        "c.b.a.test",
        "xa.test",
        "c.test",
        "x.c.test",
        "y.d.c.test",
        "test",
        "1.1.1.1",
        "1.1.2.2",
        "1.2.3.4",
        "10.1.2.3",
        "10.1.9.9",
        "10.9.9.9",
        "127.1",
        "127.0.0.2",
        "[::1]",
        "[fd12::1]",
        "[2606::1]",
        "[2606::2]",
        "[2a00::1]",
        "8.8.8.8",
        "d.c.a.test",
        "a.test.x.test",
        "[::ffff:10.1.2.3]",
        "0x0a010203",
        "[fe80::1]",
        "a.b.c.d.e.f.a.test",
    };
    static struct model m;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        _filter_ struct filter *f = random_filter(&m);
        for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
            static const char *const ports[] = { ":443", ":80", ":8080" };
            char target[64];
            snprintf(target, sizeof target, "%s%s", targets[i], pick(ports, ARRAY_LEN(ports)));
            check_target(f, &m, target);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_judged_in_order),
        cmocka_unit_test(all_answers_of_a_name_are_judged),
        cmocka_unit_test(routes_to_mitm_by_name),
        cmocka_unit_test(what_is_no_pattern_is_an_error),
        cmocka_unit_test(too_many_rules_are_an_error),
        cmocka_unit_test(decides_like_the_slow_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
