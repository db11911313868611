/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: every spelling, what is blocked, networks; compared with the C library's readers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netdb.h>

#include "base/addr.h"

static const char *canonical(const char *text)
{
    static char out[ADDR_TEXT_MAX];
    struct addr a;

    if (addr_parse(text, strlen(text), &a) < 0)
        return NULL;
    size_t len = addr_format(&a, out);
    assert_int_equal(len, strlen(out));
    return out;
}

static void all_spellings_are_the_address_they_are(void **state)
{
    static const struct {
        const char *text, *canonical;
    } table[] = {
        { "127.0.0.1", "127.0.0.1" },
        { "2130706433", "127.0.0.1" },
        { "0x7f000001", "127.0.0.1" },
        { "0X7F.1", "127.0.0.1" },
        { "0x7f.0x0.0x0.0x1", "127.0.0.1" },
        { "017700000001", "127.0.0.1" },
        { "0177.0.0.1", "127.0.0.1" },
        { "00000000000000177.0.0.01", "127.0.0.1" },
        { "127.1", "127.0.0.1" },
        { "127.0.1", "127.0.0.1" },
        { "127.65535", "127.0.255.255" },
        { "0", "0.0.0.0" },
        { "4294967295", "255.255.255.255" },
        { "1.2.65535", "1.2.255.255" },
        { "::ffff:127.0.0.1", "127.0.0.1" },
        { "::FFFF:7f00:1", "127.0.0.1" },
        { "[::ffff:127.0.0.1]", "127.0.0.1" },
        { "0:0:0:0:0:ffff:7f00:0001", "127.0.0.1" },
        { "::", "::" },
        { "[::]", "::" },
        { "::1", "::1" },
        { "0:0:0:0:0:0:0:1", "::1" },
        { "0000::0001", "::1" },
        { "1::", "1::" },
        { "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0" },
        { "::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8" },
        { "2001:DB8::0:0:1", "2001:db8::1" },
        { "2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
        { "2001:0:0:1::1", "2001:0:0:1::1" },
        { "64:ff9b::7f00:1", "64:ff9b::7f00:1" },
        { "64:ff9b::127.0.0.1", "64:ff9b::7f00:1" },
        { "::127.0.0.1", "::7f00:1" },
        { "fe80::1%eth0", "fe80::1" },
        { "[fe80::1%25eth0]", "fe80::1" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const char *got = canonical(table[i].text);
        if (!got || strcmp(got, table[i].canonical) != 0)
            fail_msg("%s: %s", table[i].text, got ? got : "refused");
    }
}

static void everything_else_is_no_address(void **state)
{
    static const char *const table[] = {
        "",
        " 127.0.0.1",
        "127.0.0.1 ",
        "127.0.0.1 x",
        "127.0.0.1\n",
        "1.2.3.4.5",
        "1.2.3.4.",
        ".1",
        "1..2",
        "256.1.1.1",
        "1.256.1",
        "1.2.3.256",
        "1.2.65536",
        "1.16777216",
        "4294967296",
        "99999999999999999999999",
        "08.1.1.1",
        "0x",
        "0xg",
        "+1",
        "-1",
        "1e3",
        "a",
        "1.2.3.0x",
        ":",
        ":::",
        "1:",
        ":1",
        "1:2",
        "1::2::3",
        "12345::",
        "g::",
        "::1.2.3",
        "::256.0.0.1",
        "::01.2.3.4",
        "1.2.3.4::",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7:8::",
        "::1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:1.2.3.4",
        "[::1",
        "::1]",
        "[]",
        "[127.0.0.1]",
        "[::1]]",
        "[[::1]]",
        "fe80::1%",
        "fe80::1%e/0",
        "fe80::1%%x",
        "127.0.0.1%lo",
        "::1/128",
        "::ffff:0x7f.1",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (canonical(table[i]))
            fail_msg("taken: '%s' as %s", table[i], canonical(table[i]));
}

static void a_nul_ends_nothing(void **state)
{
    struct addr a;

    (void)state;
    assert_int_not_equal(addr_parse("1.2.3.4\0", 8, &a), 0);
    assert_int_not_equal(addr_parse("::1\0", 4, &a), 0);
    assert_int_not_equal(addr_parse_strict("1.2.3.4\0", 8, &a), 0);
}

static void the_strict_spelling_is_one(void **state)
{
    static const char *const right[] = { "127.0.0.1", "0.0.0.0", "::", "::ffff:1.2.3.4", "1:2::" };
    static const char *const wrong[] = { "127.1", "0177.0.0.1",   "0x7f.0.0.1", "2130706433",
                                         "[::1]", "fe80::1%eth0", "1.2.3.4.",   "01.2.3.4" };
    struct addr a;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(right); i++)
        assert_int_equal(addr_parse_strict(right[i], strlen(right[i]), &a), 0);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_int_not_equal(addr_parse_strict(wrong[i], strlen(wrong[i]), &a), 0);
}

static const struct {
    const char *text, *kind;
} kinds[] = {
    { "127.0.0.1", "loopback" },
    { "127.255.255.255", "loopback" },
    { "0.0.0.0", "unspecified" },
    { "0.1.2.3", "unspecified" },
    { "10.0.0.1", "private" },
    { "172.16.0.0", "private" },
    { "172.31.255.255", "private" },
    { "172.32.0.0", NULL },
    { "172.15.255.255", NULL },
    { "192.168.1.1", "private" },
    { "192.169.0.0", NULL },
    { "100.64.0.0", "carrier-grade NAT" },
    { "100.127.255.255", "carrier-grade NAT" },
    { "100.128.0.0", NULL },
    { "100.100.100.200", "metadata" },
    { "168.63.129.16", "metadata" },
    { "169.254.169.254", "metadata" },
    { "169.254.1.1", "link-local" },
    { "192.0.0.8", "special-purpose" },
    { "192.0.1.1", NULL },
    { "192.0.2.1", "documentation" },
    { "198.18.0.1", "benchmarking" },
    { "198.20.0.0", NULL },
    { "224.0.0.1", "multicast" },
    { "240.0.0.1", "reserved" },
    { "255.255.255.255", "broadcast" },
    { "8.8.8.8", NULL },
    { "::ffff:8.8.8.8", NULL },
    { "::ffff:10.0.0.1", "private" },
    { "::", "unspecified" },
    { "::1", "loopback" },
    { "::2", "IPv4-compatible" },
    { "::8.8.8.8", "IPv4-compatible" },
    { "64:ff9b::8.8.8.8", "NAT64" },
    { "64:ff9b::7f00:1", "NAT64" },
    { "64:ff9b:1::1", "NAT64" },
    { "::ffff:0:7f00:1", "reserved" },
    { "::ffff:0:8.8.8.8", "reserved" },
    { "64:ff9c::1", "reserved" },
    { "2002:7f00:1::", "6to4" },
    { "2001::1", "Teredo" },
    { "2001:10::1", "special-purpose" },
    { "2001:200::1", NULL },
    { "2001:db8::1", "documentation" },
    { "fc00::1", "private" },
    { "fdff::1", "private" },
    { "fd00:ec2::254", "metadata" },
    { "fe80::1", "link-local" },
    { "fe80::1%eth0", "link-local" },
    { "2606:4700::1%eth0", "link-local" },
    { "fec0::1", "site-local" },
    { "ff02::1", "multicast" },
    { "100::1", "discard" },
    { "2606:4700:4700::1111", NULL },
    { "2a00:1450::1", NULL },
};

static void blocked_addresses_have_a_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct addr a;
        const char *kind;
        assert_int_equal(addr_parse(kinds[i].text, strlen(kinds[i].text), &a), 0);
        kind = addr_blocked(&a);
        if (!kind != !kinds[i].kind || (kind && strcmp(kind, kinds[i].kind) != 0))
            fail_msg("%s: %s", kinds[i].text, kind ? kind : "not blocked");
    }
}

static void networks_hold_their_addresses_and_no_others(void **state)
{
    static const struct {
        const char *net, *addr;
        bool has;
    } table[] = {
        { "10.0.0.0/8", "10.255.0.1", true },
        { "10.0.0.0/8", "11.0.0.0", false },
        { "10.0.0.0/8", "::ffff:10.1.1.1", true },
        { "0.0.0.0/0", "1.2.3.4", true },
        { "0.0.0.0/0", "::1", false },
        { "::/0", "1.2.3.4", false },
        { "::/0", "2001::", true },
        { "::ffff:0:0/96", "1.2.3.4", true },
        { "::ffff:10.0.0.0/104", "10.1.1.1", true },
        { "fd00::/8", "fd12::1", true },
        { "fd00::/8", "fe12::1", false },
        { "1.2.3.4/32", "1.2.3.4", true },
        { "1.2.3.4/32", "1.2.3.5", false },
        { "::1/128", "::1", true },
        { "fe80::/10", "fe80::1%eth0", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct addr_net net;
        struct addr a;
        assert_int_equal(addr_net_parse(table[i].net, strlen(table[i].net), &net), 0);
        assert_int_equal(addr_parse(table[i].addr, strlen(table[i].addr), &a), 0);
        if (addr_net_has(&net, &a) != table[i].has)
            fail_msg("%s, %s", table[i].net, table[i].addr);
    }
}

static void networks_have_no_bits_behind_their_prefix(void **state)
{
    static const char *const wrong[] = { "10.0.0.1/8",   "10.0.0.0",      "10.0.0.0/",
                                         "10.0.0.0/33",  "10.0.0.0/08",   "fd00::1/8",
                                         "::/129",       "::ffff:0:0/90", "/8",
                                         "10.0.0.0/8/8", "10/8",          "::/-1" };
    struct addr_net net;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (addr_net_parse(wrong[i], strlen(wrong[i]), &net) == 0)
            fail_msg("taken: %s", wrong[i]);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Texts that are nearly addresses. */
static void random_text(uint32_t *seed, char *text, size_t max)
{
    static const char *const pieces[] = { "0",    "1",   "7",   "8",          "255",  "256",  "0x",
                                          "f",    "00",  ".",   ".",          ".",    ":",    "::",
                                          ":",    "177", "127", "0177",       "ff",   "ffff", "1.",
                                          "::1.", "a",   "X",   "4294967295", "65536" };
    size_t n = 1 + next_random(seed) % 9;

    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const char *piece = pieces[next_random(seed) % ARRAY_LEN(pieces)];
        if (strlen(text) + strlen(piece) < max)
            strcat(text, piece);
    }
}

static void check_against_libc(const char *text)
{
    struct addr a, expected;
    struct in6_addr six;
    struct in_addr four;
    bool ours = addr_parse(text, strlen(text), &a) == 0, theirs = true;

    if (inet_pton(AF_INET6, text, &six) == 1)
        expected = addr_from_v6(six.s6_addr);
    else if (inet_aton(text, &four))
        expected = addr_from_v4((const uint8_t *)&four);
    else
        theirs = false;
    if (ours != theirs || (ours && !addr_eq(&a, &expected)))
        fail_msg("'%s': we say %d, libc %d", text, ours, theirs);
    if (addr_parse_strict(text, strlen(text), &a) == 0) {
        uint8_t bytes[16];
        if (inet_pton(strchr(text, ':') ? AF_INET6 : AF_INET, text, bytes) != 1)
            fail_msg("'%s' is not strict", text);
    } else if (inet_pton(AF_INET, text, &four) == 1 || inet_pton(AF_INET6, text, &six) == 1) {
        fail_msg("'%s' is strict", text);
    }
}

static void reads_what_libc_reads(void **state)
{
    uint32_t seed = 20260915;
    char text[48];

    (void)state;
    for (int i = 0; i < 300000; i++) {
        random_text(&seed, text, sizeof text);
        check_against_libc(text);
    }
}

static void reads_what_getaddrinfo_reads(void **state)
{
    const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
    uint32_t seed = 4711;
    char text[48];

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct addrinfo *info = NULL;
        struct addr a, expected;
        bool theirs;

        random_text(&seed, text, sizeof text);
        theirs = getaddrinfo(text, NULL, &hints, &info) == 0;
        if (theirs != (addr_parse(text, strlen(text), &a) == 0))
            fail_msg("'%s': getaddrinfo says %d", text, theirs);
        if (!theirs)
            continue;
        expected = info->ai_family == AF_INET
                       ? addr_from_v4(
                             (const uint8_t *)&((struct sockaddr_in *)info->ai_addr)->sin_addr)
                       : addr_from_v6(((struct sockaddr_in6 *)info->ai_addr)->sin6_addr.s6_addr);
        assert_true(addr_eq(&a, &expected));
        freeaddrinfo(info);
    }
}

static void canonical_text_is_what_libc_writes(void **state)
{
    uint32_t seed = 99;

    (void)state;
    for (int i = 0; i < 50000; i++) {
        char ours[ADDR_TEXT_MAX], theirs[INET6_ADDRSTRLEN];
        uint8_t bytes[16];
        struct addr a, again;

        for (size_t k = 0; k < 16; k++)
            bytes[k] = next_random(&seed) % 3 ? 0 : (uint8_t)next_random(&seed);
        bytes[0] |= 1; /* libc has a form of its own for ::a.b.c.d */
        a = i % 4 ? addr_from_v6(bytes) : addr_from_v4(bytes);
        (void)addr_format(&a, ours);
        assert_non_null(inet_ntop(i % 4 ? AF_INET6 : AF_INET, bytes, theirs, sizeof theirs));
        assert_string_equal(ours, theirs);
        assert_int_equal(addr_parse_strict(ours, strlen(ours), &again), 0);
        assert_true(addr_eq(&a, &again));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_spellings_are_the_address_they_are),
        cmocka_unit_test(everything_else_is_no_address),
        cmocka_unit_test(a_nul_ends_nothing),
        cmocka_unit_test(the_strict_spelling_is_one),
        cmocka_unit_test(blocked_addresses_have_a_kind),
        cmocka_unit_test(networks_hold_their_addresses_and_no_others),
        cmocka_unit_test(networks_have_no_bits_behind_their_prefix),
        cmocka_unit_test(reads_what_libc_reads),
        cmocka_unit_test(reads_what_getaddrinfo_reads),
        cmocka_unit_test(canonical_text_is_what_libc_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
