/* SPDX-License-Identifier: Apache-2.0 */
/* What the proxy says to clients, and the variables that lead them to it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/envvars.h"
#include "net/reply.h"

static const struct filter_verdict unlisted = { .decision = FILTER_UNLISTED,
                                                .rule = "default",
                                                .origin = "built-in",
                                                .grant = "--allow-domain evil.test:80" };
static const struct filter_verdict denied = { .decision = FILTER_DENY,
                                              .rule = "*.evil.test",
                                              .origin = "/x\n/.agentbox.json:3:4" };
static const struct filter_verdict blocked = {
    .decision = FILTER_DENY,
    .rule = "blocked",
    .origin = "built-in",
    .blocked = "metadata",
    .addr = { { [10] = 0xff, 0xff, 169, 254, 169, 254 }, ADDR_V4, 0 },
    .grant = "--allow-domain 169.254.169.254:80",
};

static void lines_say_why_and_what_to_do(void **state)
{
    static const struct {
        struct reply reply;
        const char *line;
    } table[] = {
        { { REPLY_UNLISTED, 0, NULL, "evil.test:80", &unlisted },
          "evil.test:80 is not allowed; to allow it: --allow-domain evil.test:80" },
        { { REPLY_DENIED, 0, NULL, "a.evil.test:80", &denied },
          "a.evil.test:80 is denied by '*.evil.test' of /x\\x0a/.agentbox.json:3:4" },
        { { REPLY_BLOCKED, 0, NULL, "ok.test:80", &blocked },
          "ok.test:80 is an internal address (169.254.169.254, metadata); to allow it: "
          "--allow-domain 169.254.169.254:80" },
        { { REPLY_BAD_REQUEST, 431, "too many headers", NULL, NULL },
          "the request is not valid: too many headers" },
        { { REPLY_UNRESOLVED, 0, NULL, "ok.test:80", NULL }, "ok.test:80 cannot be resolved" },
        { { REPLY_DIAL_FAILED, 0, NULL, NULL, NULL }, "the target cannot be reached" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _buf_ struct buf b = { .limit = REPLY_MAX };
        reply_line(&b, &table[i].reply);
        assert_string_equal(b.data, table[i].line);
    }
}

static void responses_are_whole(void **state)
{
    _buf_ struct buf text = { .limit = REPLY_MAX }, head = { .limit = REPLY_MAX };
    struct reply r = { REPLY_UNLISTED, 0, NULL, "evil.test:80", &unlisted };

    (void)state;
    reply_http(&text, &r, false, false, true);
    assert_string_equal(text.data,
                        "HTTP/1.1 403 agentbox: evil.test:80 is not allowed; to allow it: "
                        "--allow-domain evil.test:80\r\n"
                        "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 80\r\n"
                        "Cache-Control: no-store\r\nConnection: keep-alive\r\n\r\n"
                        "agentbox: evil.test:80 is not allowed; to allow it: "
                        "--allow-domain evil.test:80\n");
    reply_http(&head, &r, false, true, false);
    assert_non_null(strstr(head.data, "Content-Length: 80\r\n"));
    assert_non_null(strstr(head.data, "Connection: close\r\n\r\n"));
    assert_string_equal(strstr(head.data, "\r\n\r\n"), "\r\n\r\n");
}

static void json_is_given_to_those_who_ask(void **state)
{
    _buf_ struct buf b = { .limit = REPLY_MAX };
    struct reply r = { REPLY_BLOCKED, 0, NULL, "ok.test:80", &blocked };
    const char *body;

    (void)state;
    reply_http(&b, &r, true, false, false);
    assert_non_null(strstr(b.data, "Content-Type: application/json\r\n"));
    body = strstr(b.data, "\r\n\r\n");
    assert_string_equal(
        body + 4, "{\"error\":\"blocked\",\"message\":\"ok.test:80 is an internal address "
                  "(169.254.169.254, metadata); to allow it: --allow-domain "
                  "169.254.169.254:80\",\"host\":\"ok.test:80\",\"rule\":\"blocked\","
                  "\"origin\":\"built-in\",\"grant\":\"--allow-domain 169.254.169.254:80\"}\n");
}

/* Whatever is in the texts: one head, one body of the length it says. */
static void no_text_can_end_the_status_line(void **state)
{
    _buf_ struct buf b = { .limit = REPLY_MAX };
    struct reply r = { REPLY_DIAL_FAILED, 0, "a\r\nX: y\r\n\r\n\xc3\xbc\x80", "h\r\n", NULL };
    struct http1_scan scan = { 0 };
    static struct http1_response response;
    struct http1_fault fault;
    size_t head;

    (void)state;
    reply_http(&b, &r, false, false, false);
    head = http1_scan(&scan, b.data, b.len, &fault);
    assert_true(scan.done);
    assert_true(http1_parse_response(b.data, head, false, &response, &fault));
    assert_int_equal(response.status, 502);
    assert_int_equal(response.message.header_count, 4);
    assert_int_equal(response.message.length, b.len - head);
}

static void long_texts_are_cut(void **state)
{
    _buf_ struct buf b = { .limit = REPLY_MAX };
    char detail[3000];
    struct reply r = { REPLY_DIAL_FAILED, 0, detail, "ok.test:80", NULL };

    (void)state;
    memset(detail, 'x', sizeof detail - 1);
    detail[sizeof detail - 1] = '\0';
    reply_http(&b, &r, true, false, false);
    assert_int_equal(b.failed, 0);
    assert_true(strcspn(b.data, "\r") < 300);
}

static void socks_has_its_own_codes(void **state)
{
    (void)state;
    assert_int_equal(reply_socks_code(reply_of_verdict(&unlisted)), SOCKS5_NOT_ALLOWED);
    assert_int_equal(reply_socks_code(reply_of_verdict(&denied)), SOCKS5_NOT_ALLOWED);
    assert_int_equal(reply_of_verdict(&blocked), REPLY_BLOCKED);
    assert_int_equal(reply_socks_code(REPLY_BLOCKED), SOCKS5_NOT_ALLOWED);
    assert_int_equal(reply_socks_code(reply_of_dial(-ECONNREFUSED)), SOCKS5_CONNECTION_REFUSED);
    assert_int_equal(reply_socks_code(reply_of_dial(-ENETUNREACH)), SOCKS5_NET_UNREACHABLE);
    assert_int_equal(reply_socks_code(reply_of_dial(-EHOSTUNREACH)), SOCKS5_HOST_UNREACHABLE);
    assert_int_equal(reply_socks_code(reply_of_dial(-ETIMEDOUT)), SOCKS5_HOST_UNREACHABLE);
    assert_int_equal(reply_socks_code(reply_of_dial(-EACCES)), SOCKS5_FAILED);
    assert_int_equal(reply_socks_code(REPLY_UNRESOLVED), SOCKS5_HOST_UNREACHABLE);
}

/* ---- variables ---- */

static const char *value_of(const char *const *list, const char *name)
{
    size_t len = strlen(name);

    for (; *list; list++)
        if (strncmp(*list, name, len) == 0 && (*list)[len] == '=')
            return *list + len + 1;
    return NULL;
}

static void variables_lead_to_the_ports(void **state)
{
    static const struct {
        struct envvars_ports ports;
        const char *name, *value;
    } table[] = {
        { { 3128, 1080, ENVVARS_SOCKS5H, NULL }, "HTTP_PROXY", "http://127.0.0.1:3128" },
        { { 3128, 1080, ENVVARS_SOCKS5H, NULL }, "http_proxy", "http://127.0.0.1:3128" },
        { { 3128, 1080, ENVVARS_SOCKS5H, NULL }, "ALL_PROXY", "socks5h://127.0.0.1:1080" },
        { { 3128, 1080, ENVVARS_SOCKS5, NULL }, "all_proxy", "socks5://127.0.0.1:1080" },
        { { 3128, 1080, ENVVARS_HTTP, NULL }, "all_proxy", "http://127.0.0.1:3128" },
        { { 3128, 0, ENVVARS_SOCKS5H, NULL }, "ALL_PROXY", "http://127.0.0.1:3128" },
        { { 0, 1080, ENVVARS_HTTP, NULL }, "ALL_PROXY", "socks5h://127.0.0.1:1080" },
        { { 0, 1080, ENVVARS_SOCKS5H, NULL }, "DOCKER_HTTP_PROXY", "socks5h://127.0.0.1:1080" },
        { { 0, 1080, ENVVARS_SOCKS5H, NULL }, "HTTP_PROXY", NULL },
        { { 3128, 1080, ENVVARS_SOCKS5H, NULL }, "RSYNC_PROXY", "127.0.0.1:3128" },
        { { 3128, 1080, ENVVARS_SOCKS5H, NULL }, "CLOUDSDK_PROXY_PORT", "3128" },
        { { 3128, 1080, ENVVARS_SOCKS5H, NULL }, "NODE_USE_ENV_PROXY", "1" },
        { { 3128, 1080, ENVVARS_SOCKS5H, NULL }, "NO_PROXY", "localhost,127.0.0.1,::1" },
        { { 3128, 1080, ENVVARS_SOCKS5H, NULL }, "GIT_SSH_COMMAND", NULL },
        { { 3128, 1080, ENVVARS_SOCKS5H, "/run/agentbox/connect --socks" },
          "GIT_SSH_COMMAND",
          "ssh -o ProxyCommand='/run/agentbox/connect --socks 127.0.0.1:1080 %h %p'" },
        { { 3128, 0, ENVVARS_SOCKS5H, "x" }, "GIT_SSH_COMMAND", NULL },
        { { 3128, 0, ENVVARS_SOCKS5H, NULL },
          "JAVA_TOOL_OPTIONS",
          "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 "
          "-Dhttps.proxyPort=3128 -Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]" },
        { { 0, 0, ENVVARS_SOCKS5H, NULL }, "SANDBOX_RUNTIME", "1" },
        { { 0, 0, ENVVARS_SOCKS5H, NULL }, "ALL_PROXY", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _arena_ struct arena arena;
        const char *const *list = NULL;
        const char *value;

        arena_init(&arena, ARENA_DEFAULT_LIMIT);
        assert_int_equal(envvars_make(&table[i].ports, &arena, &list), 0);
        value = value_of(list, table[i].name);
        if (!value != !table[i].value || (value && strcmp(value, table[i].value) != 0))
            fail_msg("row %zu: %s=%s", i, table[i].name, value ? value : "(none)");
    }
}

static void without_ports_nobody_is_led_anywhere(void **state)
{
    struct envvars_ports ports = { 0, 0, ENVVARS_SOCKS5H, NULL };
    _arena_ struct arena arena;
    const char *const *list = NULL;
    size_t n = 0;

    (void)state;
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    assert_int_equal(envvars_make(&ports, &arena, &list), 0);
    while (list[n])
        n++;
    assert_int_equal(n, 3); /* NO_PROXY, no_proxy and the marker */
}

static void a_helper_is_plain_words(void **state)
{
    static const char *const wrong[] = {
        "", "a'b", "a;b", "$x", "a\nb", "%h", "a|b", "`x`", "a\\"
    };
    _arena_ struct arena arena;

    (void)state;
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct envvars_ports ports = { 1, 2, ENVVARS_SOCKS5H, wrong[i] };
        const char *const *list = NULL;
        assert_int_equal(envvars_make(&ports, &arena, &list), -EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_say_why_and_what_to_do),
        cmocka_unit_test(responses_are_whole),
        cmocka_unit_test(json_is_given_to_those_who_ask),
        cmocka_unit_test(no_text_can_end_the_status_line),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(socks_has_its_own_codes),
        cmocka_unit_test(variables_lead_to_the_ports),
        cmocka_unit_test(without_ports_nobody_is_led_anywhere),
        cmocka_unit_test(a_helper_is_plain_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
