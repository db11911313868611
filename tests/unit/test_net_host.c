/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts and patterns of hosts: one form for each, and nothing that has two readings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/host.h"
#include "net/pattern.h"
#include "policy/domain.h"

#define LABEL_63 "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc"
#define LABEL_61 "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghija"
#define NAME_253 LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_61

static void hosts_have_one_form(void **state)
{
    static const struct {
        const char *text, *canonical;
        bool is_address;
    } table[] = {
        { "ok.test", "ok.test", false },
        { "OK.Test", "ok.test", false },
        { "ok.test.", "ok.test", false },
        { "localhost", "localhost", false },
        { "a", "a", false },
        { "1a.test", "1a.test", false },
        { "1.2.3.test", "1.2.3.test", false },
        { "xn--bcher-kva.example", "xn--bcher-kva.example", false },
        { NAME_253, NAME_253, false },
        { NAME_253 ".", NAME_253, false },
        { "127.0.0.1", "127.0.0.1", true },
        { "127.0.0.1.", "127.0.0.1", true },
        { "2130706433", "127.0.0.1", true },
        { "0x7f.1", "127.0.0.1", true },
        { "0", "0.0.0.0", true },
        { "0x7f000001", "127.0.0.1", true },
        { "::1", "::1", true },
        { "[::1]", "::1", true },
        { "[::ffff:127.0.0.1]", "127.0.0.1", true },
    };
    struct host h;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        enum host_fault fault = host_parse(table[i].text, strlen(table[i].text), &h);
        if (fault != HOST_OK)
            fail_msg("%s: %s", table[i].text, host_fault_text(fault));
        assert_string_equal(h.text, table[i].canonical);
        assert_int_equal(h.len, strlen(h.text));
        assert_int_equal(h.is_address, table[i].is_address);
    }
}

static const struct {
    const char *text;
    size_t len;
    enum host_fault fault;
} no_hosts[] = {
#define ROW(literal, fault)                                                                        \
    {                                                                                              \
        literal, sizeof(literal) - 1, fault                                                        \
    }
    ROW("", HOST_EMPTY),
    ROW(".", HOST_BAD_LABEL),
    ROW("..", HOST_BAD_LABEL),
    ROW("a..b", HOST_BAD_LABEL),
    ROW(".a", HOST_BAD_LABEL),
    ROW("a..", HOST_BAD_LABEL),
    ROW("-a.test", HOST_BAD_LABEL),
    ROW("a-.test", HOST_BAD_LABEL),
    /* A94, A95 */
    ROW("evil.test\0.wild.test", HOST_BAD_BYTE),
    ROW("ok.test\0", HOST_BAD_BYTE),
    ROW("ok.test\r\nx", HOST_BAD_BYTE),
    ROW("ok.test\n", HOST_BAD_BYTE),
    ROW("ok .test", HOST_BAD_BYTE),
    ROW(" ok.test", HOST_BAD_BYTE),
    ROW("ok.test\t", HOST_BAD_BYTE),
    ROW("ok%00.test", HOST_BAD_BYTE),
    ROW("ok%2etest", HOST_BAD_BYTE),
    ROW("o_k.test", HOST_BAD_BYTE),
    ROW("ok.test/", HOST_BAD_BYTE),
    ROW("ok.test\\", HOST_BAD_BYTE),
    ROW("user@ok.test", HOST_BAD_BYTE),
    ROW("*.ok.test", HOST_BAD_BYTE),
    ROW("\xd0\xbe"
        "k.test",
        HOST_BAD_BYTE),                       /* a Cyrillic o */
    ROW("ok\xe3\x80\x82test", HOST_BAD_BYTE), /* an ideographic full stop */
    ROW("\xef\xbc\x91.1.1.1", HOST_BAD_BYTE), /* a full-width digit */
    ROW("ok.test\x7f", HOST_BAD_BYTE),
    ROW(LABEL_63 "x.test", HOST_TOO_LONG),
    ROW(NAME_253 "x", HOST_TOO_LONG),
    ROW("256.1.1.1", HOST_BAD_ADDRESS),
    ROW("1.2.3.4.5", HOST_BAD_ADDRESS),
    ROW("example.123", HOST_BAD_ADDRESS),
    ROW("example.0x7f", HOST_BAD_ADDRESS),
    ROW("09.1.1.1", HOST_BAD_ADDRESS),
    ROW("0x", HOST_BAD_ADDRESS),
    ROW("4294967296", HOST_BAD_ADDRESS),
    ROW("[::1", HOST_BAD_ADDRESS),
    ROW("[1.2.3.4]", HOST_BAD_ADDRESS),
    ROW("[ok.test]", HOST_BAD_ADDRESS),
    ROW("ok.test:80", HOST_BAD_ADDRESS),
    ROW("::1\0", HOST_BAD_ADDRESS),
    ROW("fe80::1%eth0", HOST_BAD_ADDRESS),
    ROW("[fe80::1%25eth0]", HOST_BAD_ADDRESS),
    ROW("[2606:4700::1%1]", HOST_BAD_ADDRESS),
#undef ROW
};

static void everything_else_is_refused(void **state)
{
    struct host h;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(no_hosts); i++) {
        enum host_fault fault = host_parse(no_hosts[i].text, no_hosts[i].len, &h);
        if (fault != no_hosts[i].fault)
            fail_msg("%s (row %zu): %s", no_hosts[i].text, i, host_fault_text(fault));
    }
}

static void authorities_are_split_one_way(void **state)
{
    static const struct {
        const char *text;
        uint16_t default_port;
        const char *canonical; /* NULL: refused */
    } table[] = {
        { "ok.test:443", 80, "ok.test:443" },
        { "OK.test.", 80, "ok.test:80" },
        { "ok.test", 0, NULL },
        { "ok.test:", 80, NULL },
        { "ok.test:0", 80, NULL },
        { "ok.test:080", 80, NULL },
        { "ok.test:+80", 80, NULL },
        { "ok.test: 80", 80, NULL },
        { "ok.test:80 ", 80, NULL },
        { "ok.test:65535", 80, "ok.test:65535" },
        { "ok.test:65536", 80, NULL },
        { "ok.test:184467440737095516160", 80, NULL },
        { "ok.test:80:80", 80, NULL },
        { "ok.test:http", 80, NULL },
        { ":80", 80, NULL },
        { "", 80, NULL },
        { "[::1]:80", 443, "[::1]:80" },
        { "[::1]", 443, "[::1]:443" },
        { "[::1]x", 443, NULL },
        { "[::1]80", 443, NULL },
        { "[::1]]:80", 443, NULL },
        { "::1:80", 443, NULL },
        { "::1", 443, NULL },
        { "127.1:80", 443, "127.0.0.1:80" },
        { "user@ok.test:80", 443, NULL },
        { "user:pw@ok.test:80", 443, NULL },
    };
    char text[HOST_AUTHORITY_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct host h;
        uint16_t port = 0;
        bool taken = host_parse_authority(table[i].text, strlen(table[i].text),
                                          table[i].default_port, &h, &port) == HOST_OK;
        if (taken != (table[i].canonical != NULL))
            fail_msg("%s: %d", table[i].text, taken);
        if (!taken)
            continue;
        size_t len = host_format(&h, port, text);
        assert_int_equal(len, strlen(text));
        assert_string_equal(text, table[i].canonical);
    }
}

static void the_longest_authority_fits(void **state)
{
    char text[HOST_AUTHORITY_MAX];
    struct host h;

    (void)state;
    assert_int_equal(host_parse(NAME_253, 253, &h), HOST_OK);
    assert_int_equal(host_format(&h, 65535, text), 259);
    assert_string_equal(text, NAME_253 ":65535");
}

static void patterns_match_at_labels_only(void **state)
{
    static const struct {
        const char *pattern, *target;
        bool matches;
    } table[] = {
        { "ok.test", "ok.test:1", true },
        { "OK.test.", "ok.test:1", true },
        { "ok.test", "OK.TEST.:1", true },
        { "ok.test", "evilok.test:1", false }, /* A97 */
        { "ok.test", "ok.test.evil.test:1", false },
        { "ok.test", "a.ok.test:1", false },
        { "*.wild.test", "wild.test:1", false },
        { "*.wild.test", "a.wild.test:1", true },
        { "*.wild.test", "a.b.wild.test:1", true },
        { "*.wild.test", "evilwild.test:1", false },
        { "*.wild.test", "a.wild.test.evil.test:1", false },
        { "ok.test:443", "ok.test:443", true }, /* A108 */
        { "ok.test:443", "ok.test:22", false },
        { "*.wild.test:443", "a.wild.test:8443", false },
        { "127.0.0.1", "0x7f.1:1", true },
        { "127.0.0.1", "[::ffff:127.0.0.1]:1", true },
        { "::ffff:127.0.0.1", "127.1:1", true },
        { "127.0.0.1", "127.0.0.2:1", false },
        { "10.0.0.0/8:443", "10.1.1.1:443", true },
        { "10.0.0.0/8:443", "10.1.1.1:80", false },
        { "[fd00::/8]:443", "[fd01::1]:443", true },
        { "[::1]:80", "[::1]:80", true },
        { "0.0.0.0/0", "[::1]:80", false },
        { "0.0.0.0/0", "ok.test:80", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct pattern p;
        struct host h;
        uint16_t port;
        assert_true(pattern_parse(table[i].pattern, &p));
        assert_int_equal(
            host_parse_authority(table[i].target, strlen(table[i].target), 0, &h, &port), HOST_OK);
        if (pattern_matches(&p, &h, port) != table[i].matches)
            fail_msg("%s, %s", table[i].pattern, table[i].target);
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* One reader explains, the other matches; neither may take what the other does not. */
static void the_grammar_is_the_configurations(void **state)
{
    static const char *const pieces[] = {
        "a",     "B",    "example", ".", ".",    "*.", "*",  ":",  "::",  "[",    "]",      "/",
        "8",     "128",  "10",      "0", "443",  "0x", "-",  "_",  "://", "1",    "255",    "96",
        "65536", "ffff", "%",       " ", "\x80", "@",  "08", ":0", ":80", "0.0.", LABEL_63,
    };
    uint32_t seed = 1;
    char text[400];

    (void)state;
    for (int i = 0; i < 300000; i++) {
        size_t n = next_random(&seed) % 9;
        struct domain_fault fault;
        struct pattern p;

        text[0] = '\0';
        for (size_t k = 0; k < n; k++) {
            const char *piece = pieces[next_random(&seed) % ARRAY_LEN(pieces)];
            if (strlen(text) + strlen(piece) < sizeof text)
                strcat(text, piece);
        }
        if (domain_is_pattern(text, &fault) != pattern_parse(text, &p))
            fail_msg("'%s': the configuration says %d", text, domain_is_pattern(text, &fault));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_have_one_form),
        cmocka_unit_test(everything_else_is_refused),
        cmocka_unit_test(authorities_are_split_one_way),
        cmocka_unit_test(the_longest_authority_fits),
        cmocka_unit_test(patterns_match_at_labels_only),
        cmocka_unit_test(the_grammar_is_the_configurations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
