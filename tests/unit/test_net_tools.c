/* SPDX-License-Identifier: Apache-2.0 */
/* The network's rules asked by hand: abx_filter_check, patterns, the proxy's variables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agentbox/agentbox.h"
#include "base/defs.h"

static abx_config *make_config(void)
{
    abx_config *c = NULL;

    assert_int_equal(abx_config_new(&c, NULL), ABX_OK);
    assert_int_equal(abx_config_append(c, "network.allowedDomains", "*.example.com", NULL), ABX_OK);
    assert_int_equal(abx_config_append(c, "network.allowedDomains", "10.1.2.3:80", NULL), ABX_OK);
    assert_int_equal(abx_config_append(c, "network.deniedDomains", "ads.example.com", NULL),
                     ABX_OK);
    return c;
}

static void hosts_are_judged_by_the_rules(void **state)
{
    static const struct {
        const char *host;
        int32_t port, decision;
    } rows[] = {
        { "a.example.com", 443, ABX_FILTER_ALLOW },  { "A.EXAMPLE.com.", 443, ABX_FILTER_ALLOW },
        { "example.com", 443, ABX_FILTER_UNLISTED }, { "ads.example.com", 443, ABX_FILTER_DENY },
        { "10.1.2.3", 80, ABX_FILTER_ALLOW },        { "0x0a010203", 80, ABX_FILTER_ALLOW },
        { "10.1.2.3", 81, ABX_FILTER_DENY },         { "127.0.0.1", 80, ABX_FILTER_DENY },
        { "192.0.32.7", 80, ABX_FILTER_UNLISTED },
    };
    abx_config *c = make_config();
    int32_t decision;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(abx_filter_check(c, rows[i].host, rows[i].port, &decision, NULL, NULL),
                         ABX_OK);
        assert_int_equal(decision, rows[i].decision);
    }
    char *json = NULL;
    assert_int_equal(abx_filter_check(c, "Ads.Example.com", 443, &decision, &json, NULL), ABX_OK);
    assert_non_null(strstr(json, "\"host\":\"ads.example.com\",\"port\":443"));
    assert_non_null(strstr(json, "\"decision\":\"deny\",\"rule\":\"ads.example.com\""));
    abx_free(json);
    /* Without a configuration nothing is listed. */
    assert_int_equal(abx_filter_check(NULL, "a.example.com", 443, &decision, NULL, NULL), ABX_OK);
    assert_int_equal(decision, ABX_FILTER_UNLISTED);
    abx_config_free(c);
}

static void what_is_no_host_is_refused(void **state)
{
    static const char *const hosts[] = { "",     "a b",   "a..b",    "127.0.0.1.5",
                                         "[::1", "a_b.c", "1.2.3.0x" };
    int32_t decision = 77;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
        assert_int_equal(abx_filter_check(NULL, hosts[i], 80, &decision, NULL, NULL),
                         ABX_E_INVALID);
    assert_int_equal(abx_filter_check(NULL, NULL, 80, &decision, NULL, NULL), ABX_E_INVALID);
    assert_int_equal(abx_filter_check(NULL, "a.b", 0, &decision, NULL, NULL), ABX_E_INVALID);
    assert_int_equal(abx_filter_check(NULL, "a.b", 65536, &decision, NULL, NULL), ABX_E_INVALID);
    assert_int_equal(abx_filter_check(NULL, "a.b", 80, NULL, NULL, NULL), ABX_E_INVALID);
    assert_int_equal(decision, 77);
}

static void patterns_are_validated_with_a_reason(void **state)
{
    abx_error *err = NULL;

    (void)state;
    assert_int_equal(abx_domain_pattern_validate("*.example.com:443", NULL), ABX_OK);
    assert_int_equal(abx_domain_pattern_validate("10.0.0.0/8", NULL), ABX_OK);
    assert_int_equal(abx_domain_pattern_validate("*.com", &err), ABX_E_CONFIG);
    assert_non_null(strstr(abx_error_message(err), "'*.com' is no pattern of hosts"));
    abx_error_free(err);
    assert_int_equal(abx_domain_pattern_validate("http://a.b", NULL), ABX_E_CONFIG);
    assert_int_equal(abx_domain_pattern_validate("", NULL), ABX_E_CONFIG);
    assert_int_equal(abx_domain_pattern_validate(NULL, NULL), ABX_E_INVALID);
}

static bool has(char **env, const char *text)
{
    for (; *env; env++)
        if (strcmp(*env, text) == 0)
            return true;
    return false;
}

static void variables_lead_to_the_ports(void **state)
{
    char **env = NULL;

    (void)state;
    assert_int_equal(abx_proxy_env(3128, 1080, NULL, &env, NULL), ABX_OK);
    assert_true(has(env, "https_proxy=http://127.0.0.1:3128"));
    assert_true(has(env, "ALL_PROXY=socks5h://127.0.0.1:1080"));
    assert_true(has(env, "NODE_USE_ENV_PROXY=1"));
    abx_free(env);
    assert_int_equal(abx_proxy_env(3128, 0, "http", &env, NULL), ABX_OK);
    assert_true(has(env, "all_proxy=http://127.0.0.1:3128"));
    abx_free(env);
    assert_int_equal(abx_proxy_env(0, 1080, "socks5", &env, NULL), ABX_OK);
    assert_true(has(env, "all_proxy=socks5://127.0.0.1:1080"));
    abx_free(env);
    assert_int_equal(abx_proxy_env(3128, 0, "ftp", &env, NULL), ABX_E_INVALID);
    assert_int_equal(abx_proxy_env(-1, 0, NULL, &env, NULL), ABX_E_INVALID);
    assert_int_equal(abx_proxy_env(0, 65536, NULL, &env, NULL), ABX_E_INVALID);
    assert_int_equal(abx_proxy_env(0, 0, NULL, NULL, NULL), ABX_E_INVALID);
}

static void a_proxy_without_its_program_says_where_it_looked(void **state)
{
    const abx_proxy_options options = { .size = sizeof options,
                                        .program = "/nonexistent/agentbox" };
    abx_error *err = NULL;
    abx_proxy *p = NULL;

    (void)state;
    assert_int_not_equal(abx_proxy_new(NULL, &options, &p, &err), ABX_OK);
    assert_non_null(strstr(abx_error_hint(err), "'/nonexistent/agentbox' should be"));
    abx_error_free(err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_judged_by_the_rules),
        cmocka_unit_test(what_is_no_host_is_refused),
        cmocka_unit_test(patterns_are_validated_with_a_reason),
        cmocka_unit_test(variables_lead_to_the_ports),
        cmocka_unit_test(a_proxy_without_its_program_says_where_it_looked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
