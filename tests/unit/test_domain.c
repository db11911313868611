/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of hosts: which are taken, which are refused and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/domain.h"

#define LABEL_63 "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc"

static void hosts_addresses_and_networks_are_taken(void **state)
{
    static const char *const table[] = {
        "example.com",
        "EXAMPLE.com",
        "example.com.",
        "*.example.com",
        "*.co.uk",
        "a-b.c1.org:443",
        "*.example.com:65535",
        "xn--bcher-kva.example",
        "1a.example",
        "192.0.2.7",
        "192.0.2.7:1",
        "10.0.0.0/8",
        "10.0.0.0/8:443",
        "0.0.0.0/0",
        "10.1.2.3/32",
        "::1",
        "fd00::/8",
        "[fd00::/8]:443",
        "[::1]:80",
        "[::1]",
        "::ffff:192.0.2.1",
        "2001:db8::1/128",
        LABEL_63 ".org",
        "0.0.0.0",
    };
    struct domain_fault fault = { NULL, NULL };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (!domain_is_pattern(table[i], &fault))
            fail_msg("%s: %s", table[i], fault.why);
}

static const struct {
    const char *text, *why;
} refused[] = {
    { "", "empty" },
    { "*", "everything" },
    { "*.", "a label" },
    { "*.com", "needs a dot" },
    { "*.com.", "needs a dot" },
    { "**.example.com", "'*' stands only" },
    { "*.*.com", "'*' stands only" },
    { "a.*.com", "'*' stands only" },
    { "*example.com", "'*' stands only" },
    { "example.*", "'*' stands only" },
    { "localhost", "needs a dot" },
    { "localhost:80", "needs a dot" },
    { "com.", "needs a dot" },
    { "https://example.com", "the web" },
    { "example.com/path", "only a network" },
    { "example.com/8", "only a network" },
    { "*.example.com/24", "only a network" },
    { "me@example.com", "letters, digits" },
    { "exa mple.com", "letters, digits" },
    { " example.com", "letters, digits" },
    { "example.com\n", "letters, digits" },
    { "exam_ple.com", "letters, digits" },
    { "b\xc3\xbc"
      "cher.example",
      "ASCII" },
    { "example..com", "a label of the name is empty" },
    { ".example.com", "a label of the name is empty" },
    { "example.com..", "a label of the name is empty" },
    { ".", "not an address" },
    { "-a.example", "begins or ends" },
    { "a-.example", "begins or ends" },
    { LABEL_63 "x.org", "63" },
    { LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_63 ".org", "253" },
    { "example.com:", "not a port" },
    { "example.com:0", "not a port" },
    { "example.com:080", "not a port" },
    { "example.com:65536", "not a port" },
    { "example.com:http", "not a port" },
    { "example.com:80:80", "not an address" },
    { "1.2.3", "not an address" },
    { "1.2.3.4.5", "not an address" },
    { "256.1.1.1", "not an address" },
    { "010.1.1.1", "not an address" },
    { "2130706433", "not an address" },
    { "0x7f.1", "neither a name nor an address" },
    { "0x7f000001", "neither a name nor an address" },
    { "example.0x7f", "neither a name nor an address" },
    { "example.123", "neither a name nor an address" },
    { "*.0.0.1", "neither a name nor an address" },
    { "10.0.0.1/8", "behind its prefix" },
    { "10.0.0.0/33", "prefix length" },
    { "10.0.0.0/08", "prefix length" },
    { "10.0.0.0/", "prefix length" },
    { "10.0.0.0/-1", "prefix length" },
    { "fd00::1/8", "behind its prefix" },
    { "fd00::/129", "prefix length" },
    { "fe80::1%eth0", "not an address" },
    { "[fd00::]/8:443", "not an address" },
    { "[::1", "not an address" },
    { "[1.2.3.4]", "letters, digits" },
    { "[example.com]:80", "letters, digits" },
};

static void everything_else_is_refused_with_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct domain_fault fault = { NULL, NULL };
        if (domain_is_pattern(refused[i].text, &fault))
            fail_msg("taken: %s", refused[i].text);
        if (!strstr(fault.why, refused[i].why))
            fail_msg("%s: %s", refused[i].text, fault.why);
    }
}

static void long_texts_are_refused(void **state)
{
    struct domain_fault fault;
    char text[100000];

    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_false(domain_is_pattern(text, &fault));
    assert_string_equal(fault.why, "it is too long");
}

static void proxies_have_scheme_host_and_port(void **state)
{
    static const char *const right[] = { "http://proxy:3128", "https://p.example.com:443",
                                         "socks5://127.0.0.1:1080", "http://[::1]:8080" };
    static const char *const wrong[] = { "",
                                         "proxy:3128",
                                         "http://",
                                         "http://proxy",
                                         "http://:3128",
                                         "http://proxy:0",
                                         "http://proxy:3128/",
                                         "http://u:p@proxy:3128",
                                         "ftp://proxy:21",
                                         "http://*.x.org:80",
                                         "http://pro xy:80",
                                         "HTTP://proxy:80" };
    struct domain_fault fault;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(right); i++)
        if (!domain_is_proxy(right[i], &fault))
            fail_msg("%s: %s", right[i], fault.why);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (domain_is_proxy(wrong[i], &fault))
            fail_msg("taken: %s", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_addresses_and_networks_are_taken),
        cmocka_unit_test(everything_else_is_refused_with_a_reason),
        cmocka_unit_test(long_texts_are_refused),
        cmocka_unit_test(proxies_have_scheme_host_and_port),
    };

    return cmocka_run_group_tests_name("domain", tests, NULL, NULL);
}
