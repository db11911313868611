/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages, hosts files, resolv.conf: what they say, and what they cannot make us believe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "net/dns.h"
#include "net/resolvconf.h"

#define ID                     0x1234
#define OK_Q                   "\x02ok\x04test\x00" /* at offset 12 */
#define TO_OK                  "\xc0\x0c"
#define TTL_60                 "\x00\x00\x00\x3c"
#define A(name, ttl, addr)     name "\x00\x01\x00\x01" ttl "\x00\x04" addr
#define CNAME(name, len, data) name "\x00\x05\x00\x01" TTL_60 "\x00" len data
#define BYTES(literal)         (literal), sizeof(literal) - 1

static struct host host_of(const char *text)
{
    struct host h;

    assert_int_equal(host_parse(text, strlen(text), &h), HOST_OK);
    return h;
}

static void put16(struct buf *b, unsigned v)
{
    (void)buf_putc(b, (char)(v >> 8));
    (void)buf_putc(b, (char)v);
}

/* The answer to A for ok.test. */
static void put_answer(struct buf *b, unsigned flags, unsigned answers, unsigned authorities,
                       const char *records, size_t len)
{
    buf_init(b, 65535);
    put16(b, ID);
    put16(b, flags);
    put16(b, 1);
    put16(b, answers);
    put16(b, authorities);
    put16(b, 0);
    (void)buf_append(b, OK_Q "\x00\x01\x00\x01", sizeof OK_Q - 1 + 4);
    (void)buf_append(b, records, len);
}

static enum dns_status parse(const struct buf *b, struct dns_answer *ret)
{
    struct host name = host_of("ok.test");

    return dns_parse_answer((const uint8_t *)b->data, b->len, &name, DNS_A, ID, ret);
}

static void queries_are_exact(void **state)
{
    static const uint8_t expected[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01"
                                      "\x02ok\x04test\x00\x00\x1c\x00\x01"
                                      "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00";
    uint8_t query[DNS_QUERY_MAX];
    struct host name = host_of("OK.test.");
    char longest[HOST_MAX + 1];

    (void)state;
    assert_int_equal(dns_build_query(&name, DNS_AAAA, ID, true, query), sizeof expected - 1);
    assert_memory_equal(query, expected, sizeof expected - 1);
    assert_int_equal(dns_build_query(&name, DNS_AAAA, ID, false, query), sizeof expected - 1 - 11);
    memset(longest, 'a', HOST_MAX);
    longest[63] = longest[127] = longest[191] = '.';
    longest[HOST_MAX] = '\0';
    name = host_of(longest);
    assert_int_equal(dns_build_query(&name, DNS_A, ID, true, query), DNS_QUERY_MAX);
}

static const struct {
    unsigned flags, answers, authorities;
    const char *records;
    size_t len;
    enum dns_status status;
    size_t count;
    uint32_t ttl;
} answers[] = {
    { 0x8180, 1, 0, BYTES(A(TO_OK, TTL_60, "\x08\x08\x08\x08")), DNS_OK, 1, 60 },
    { 0x8180, 1, 0, BYTES(A("\x02OK\x04TEST\x00", TTL_60, "\x08\x08\x08\x08")), DNS_OK, 1, 60 },
    { 0x8180, 2, 0,
      BYTES(A(TO_OK, TTL_60, "\x08\x08\x08\x08") A(TO_OK, "\0\0\0\x05", "\x01\x02\x03\x04")),
      DNS_OK, 2, 5 },
    /* an alias, in either order */
    { 0x8180, 2, 0,
      BYTES(CNAME(TO_OK, "\x04", "\x01x\xc0\x0f") A("\x01x\xc0\x0f", TTL_60, "\x0a\0\0\x01")),
      DNS_OK, 1, 60 },
    { 0x8180, 2, 0,
      BYTES(A("\x01x\xc0\x0f", TTL_60, "\x0a\0\0\x01") CNAME(TO_OK, "\x04", "\x01x\xc0\x0f")),
      DNS_OK, 1, 60 },
    { 0x8180, 1, 0, BYTES(CNAME(TO_OK, "\x04", "\x01x\xc0\x0f")), DNS_NO_DATA, 0, 0 },
    /* records of others do not count */
    { 0x8180, 1, 0,
      BYTES(A("\x04"
              "evil\xc0\x0f",
              TTL_60, "\x08\x08\x08\x08")),
      DNS_NO_DATA, 0, 0 },
    { 0x8180, 1, 0, BYTES(TO_OK "\x00\x1c\x00\x01" TTL_60 "\x00\x04\x08\x08\x08\x08"), DNS_NO_DATA,
      0, 0 },
    { 0x8180, 1, 0, BYTES(TO_OK "\x00\x01\x00\x03" TTL_60 "\x00\x04\x08\x08\x08\x08"), DNS_NO_DATA,
      0, 0 },
    /* time to live: long ones are cut, negative ones are none */
    { 0x8180, 1, 0, BYTES(A(TO_OK, "\x7f\xff\xff\xff", "\x08\x08\x08\x08")), DNS_OK, 1,
      DNS_TTL_MAX },
    { 0x8180, 1, 0, BYTES(A(TO_OK, "\x80\x00\x00\x00", "\x08\x08\x08\x08")), DNS_OK, 1, 0 },
    /* no */
    { 0x8183, 0, 0, BYTES(""), DNS_NO_NAME, 0, 0 },
    { 0x8180, 0, 0, BYTES(""), DNS_NO_DATA, 0, 0 },
    { 0x8183, 0, 1,
      BYTES("\x00\x00\x06\x00\x01" TTL_60 "\x00\x16\x00\x00"
            "aaaabbbbccccdddd\0\0\0\x1e"),
      DNS_NO_NAME, 0, 30 },
    { 0x8182, 0, 0, BYTES(""), DNS_SERVER_FAILED, 0, 0 },
    { 0x8185, 0, 0, BYTES(""), DNS_SERVER_FAILED, 0, 0 },
    { 0x8181, 0, 0, BYTES(""), DNS_NO_EDNS, 0, 0 },
    { 0x8380, 1, 0, BYTES(A(TO_OK, TTL_60, "\x08\x08\x08\x08")), DNS_TRUNCATED, 0, 0 },
    /* not an answer */
    { 0x0100, 0, 0, BYTES(""), DNS_NOT_OURS, 0, 0 },
    { 0xa980, 0, 0, BYTES(""), DNS_NOT_OURS, 0, 0 },
    /* nonsense: names that loop, lead forward or out, data of a wrong length, too few records */
    { 0x8180, 1, 0, BYTES(A("\xc0\x19", TTL_60, "\x08\x08\x08\x08")), DNS_MALFORMED, 0, 0 },
    { 0x8180, 1, 0, BYTES(A("\xc0\x1b", TTL_60, "\x08\x08\x08\x08")), DNS_MALFORMED, 0, 0 },
    { 0x8180, 1, 0, BYTES(A("\xff\xff", TTL_60, "\x08\x08\x08\x08")), DNS_MALFORMED, 0, 0 },
    { 0x8180, 1, 0, BYTES(A("\x01x\xc0\x19", TTL_60, "\x08\x08\x08\x08")), DNS_MALFORMED, 0, 0 },
    { 0x8180, 1, 0, BYTES(A("\x80x\x00", TTL_60, "\x08\x08\x08\x08")), DNS_MALFORMED, 0, 0 },
    { 0x8180, 1, 0, BYTES(TO_OK "\x00\x01\x00\x01" TTL_60 "\x00\x05\x08\x08\x08\x08\x08"),
      DNS_MALFORMED, 0, 0 },
    { 0x8180, 1, 0, BYTES(TO_OK "\x00\x01\x00\x01" TTL_60 "\x00\x09\x08\x08\x08\x08"),
      DNS_MALFORMED, 0, 0 },
    { 0x8180, 2, 0, BYTES(A(TO_OK, TTL_60, "\x08\x08\x08\x08")), DNS_MALFORMED, 0, 0 },
    { 0x8180, 1, 0, BYTES(CNAME(TO_OK, "\x02", TO_OK)), DNS_MALFORMED, 0, 0 }, /* of itself */
    { 0x8180, 1, 0,
      BYTES(CNAME(TO_OK, "\x05",
                  "\x01x\xc0\x0f"
                  "y")),
      DNS_MALFORMED, 0, 0 },
    { 0x8180, 2, 0,
      BYTES(CNAME(TO_OK, "\x04", "\x01x\xc0\x0f") CNAME(TO_OK, "\x04", "\x01y\xc0\x0f")),
      DNS_MALFORMED, 0, 0 },
    { 0x8180, 2, 0,
      BYTES(CNAME(TO_OK, "\x04", "\x01x\xc0\x0f") A(TO_OK, TTL_60, "\x08\x08\x08\x08")),
      DNS_MALFORMED, 0, 0 },
    { 0x8180, 2, 0,
      BYTES(CNAME(TO_OK, "\x04", "\x01x\xc0\x0f") CNAME("\x01x\xc0\x0f", "\x02", TO_OK)),
      DNS_MALFORMED, 0, 0 },
};

static void answers_say_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        _buf_ struct buf b = { 0 };
        struct dns_answer got;
        enum dns_status status;

        put_answer(&b, answers[i].flags, answers[i].answers, answers[i].authorities,
                   answers[i].records, answers[i].len);
        status = parse(&b, &got);
        if (status != answers[i].status)
            fail_msg("row %zu: %d", i, status);
        if (status == DNS_OK || status == DNS_NO_DATA || status == DNS_NO_NAME) {
            assert_int_equal(got.count, answers[i].count);
            assert_int_equal(got.ttl, answers[i].ttl);
        }
    }
}

static void a_part_of_an_answer_is_none(void **state)
{
    static const char records[] = CNAME(TO_OK, "\x04", "\x01x\xc0\x0f")
        A("\x01x\xc0\x0f", TTL_60, "\x08\x08\x08\x08");
    _buf_ struct buf b = { 0 };
    struct dns_answer got;

    (void)state;
    put_answer(&b, 0x8180, 2, 0, records, sizeof records - 1);
    assert_int_equal(parse(&b, &got), DNS_OK);
    while (b.len > 0) {
        enum dns_status status;
        b.len--;
        status = parse(&b, &got);
        assert_true(status == DNS_NOT_OURS || status == DNS_MALFORMED);
    }
}

static void answers_to_other_questions_are_not_ours(void **state)
{
    static const char records[] = A(TO_OK, TTL_60, "\x08\x08\x08\x08");
    _buf_ struct buf b = { 0 };
    struct host ok = host_of("ok.test"), other = host_of("oj.test");
    struct dns_answer got;
    const uint8_t *bytes;

    (void)state;
    put_answer(&b, 0x8180, 1, 0, records, sizeof records - 1);
    bytes = (const uint8_t *)b.data;
    assert_int_equal(dns_parse_answer(bytes, b.len, &ok, DNS_A, ID, &got), DNS_OK);
    assert_int_equal(dns_parse_answer(bytes, b.len, &ok, DNS_A, ID + 1, &got), DNS_NOT_OURS);
    assert_int_equal(dns_parse_answer(bytes, b.len, &ok, DNS_AAAA, ID, &got), DNS_NOT_OURS);
    assert_int_equal(dns_parse_answer(bytes, b.len, &other, DNS_A, ID, &got), DNS_NOT_OURS);
}

static void more_addresses_than_can_be_judged_are_no_answer(void **state)
{
    static const char record[] = A(TO_OK, TTL_60, "\x08\x08\x08\x08");

    (void)state;
    for (unsigned n = DNS_MAX_ADDRS; n <= DNS_MAX_ADDRS + 1; n++) {
        _buf_ struct buf b = { 0 };
        struct dns_answer got;
        put_answer(&b, 0x8180, n, 0, "", 0);
        for (unsigned i = 0; i < n; i++)
            (void)buf_append(&b, record, sizeof record - 1);
        assert_int_equal(parse(&b, &got), n > DNS_MAX_ADDRS ? DNS_MALFORMED : DNS_OK);
    }
}

/* ---- files of the host ---- */

static void resolv_conf_is_read_like_libc_does(void **state)
{
    static const char text[] =
        "# nameserver 9.9.9.9\n; nameserver 9.9.9.8\n"
        "nameserver 10.0.0.53 # inside\n\tnameserver\tfe80::1%eth0\r\n"
        "nameserver nonsense\nnameserver 1.1\nnameserver 8.8.8.8\n"
        "domain old.example\nsearch corp.example  a_b Lab.Example.\n"
        "options ndots:99 timeout:0 attempts:3 rotate use-vc unknown\nfoo\nsearch2 x";
    struct resolv_conf c;

    (void)state;
    resolv_conf_parse(text, sizeof text - 1, &c);
    assert_int_equal(c.server_count, 3);
    assert_int_equal(c.servers[0].addr.family, ADDR_V4);
    assert_int_equal(c.servers[1].addr.family, ADDR_V6);
    assert_string_equal(c.servers[0].zone, "");
    assert_string_equal(c.servers[1].zone, "eth0");
    assert_int_equal(c.servers[2].addr.bytes[15], 1);
    assert_int_equal(c.search_count, 2);
    assert_string_equal(c.search[0].text, "corp.example");
    assert_string_equal(c.search[1].text, "lab.example");
    assert_int_equal(c.ndots, 15);
    assert_int_equal(c.timeout, 1);
    assert_int_equal(c.attempts, 3);
    assert_true(c.use_tcp);
}

static void an_empty_resolv_conf_means_loopback(void **state)
{
    struct resolv_conf c;

    (void)state;
    resolv_conf_parse("", 0, &c);
    assert_int_equal(c.server_count, 1);
    assert_non_null(addr_blocked(&c.servers[0].addr));
    assert_int_equal(c.ndots, 1);
    assert_int_equal(c.timeout, 5);
    assert_int_equal(c.attempts, 2);
}

static void candidates_follow_the_search_list(void **state)
{
    static const char text[] = "search a.test b.test\noptions ndots:1";
    static const struct {
        const char *name, *candidates[4];
    } table[] = {
        { "db", { "db.a.test", "db.b.test", "db", NULL } },
        { "db.x", { "db.x", "db.x.a.test", "db.x.b.test", NULL } },
    };
    struct resolv_conf c;

    (void)state;
    resolv_conf_parse(text, sizeof text - 1, &c);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct host name = host_of(table[i].name), got;
        for (size_t n = 0; n < 4; n++) {
            assert_int_equal(resolv_candidate(&c, &name, n, &got), table[i].candidates[n] != NULL);
            if (table[i].candidates[n])
                assert_string_equal(got.text, table[i].candidates[n]);
        }
    }
}

static void hosts_files_give_addresses_in_order(void **state)
{
    static const char text[] = "127.0.0.1 localhost\n# 6.6.6.6 ok.test\n"
                               "8.8.8.8\tother.test ok.test. x # ok2.test\n::1 ok.test\r\n"
                               "bad ok.test\n8.8.8.8 ok.test\n1.2.3.4 ok.test.evil";
    struct host ok = host_of("ok.test"), no = host_of("ok2.test");
    struct addr addrs[HOSTS_MAX_ADDRS];
    char shown[ADDR_TEXT_MAX];

    (void)state;
    assert_int_equal(hosts_find(text, sizeof text - 1, &ok, addrs), 2);
    (void)addr_format(&addrs[0], shown);
    assert_string_equal(shown, "8.8.8.8");
    (void)addr_format(&addrs[1], shown);
    assert_string_equal(shown, "::1");
    assert_int_equal(hosts_find(text, sizeof text - 1, &no, addrs), 0);
    assert_int_equal(hosts_find("", 0, &ok, addrs), 0);
}

static void localhost_is_the_loopback_without_a_hosts_file(void **state)
{
    static const struct {
        const char *name;
        size_t count;
    } table[] = {
        { "localhost", 2 },       { "LocalHost.", 2 },        { "a.b.localhost", 2 },
        { "notlocalhost", 0 },    { "localhost.example", 0 }, { "localhos", 0 },
        { "not-a-localhost", 0 }, { "127.0.0.1", 0 },
    };
    struct addr addrs[HOSTS_MAX_ADDRS];
    char shown[ADDR_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct host name = host_of(table[i].name);

        assert_int_equal(hosts_builtin(&name, addrs), table[i].count);
    }
    (void)addr_format(&addrs[0], shown);
    assert_string_equal(shown, "127.0.0.1");
    (void)addr_format(&addrs[1], shown);
    assert_string_equal(shown, "::1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_are_exact),
        cmocka_unit_test(answers_say_what_they_say),
        cmocka_unit_test(a_part_of_an_answer_is_none),
        cmocka_unit_test(answers_to_other_questions_are_not_ours),
        cmocka_unit_test(more_addresses_than_can_be_judged_are_no_answer),
        cmocka_unit_test(resolv_conf_is_read_like_libc_does),
        cmocka_unit_test(an_empty_resolv_conf_means_loopback),
        cmocka_unit_test(candidates_follow_the_search_list),
        cmocka_unit_test(hosts_files_give_addresses_in_order),
        cmocka_unit_test(localhost_is_the_loopback_without_a_hosts_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
