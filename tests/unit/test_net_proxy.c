/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abx_proxy_*: questions, updates and two proxies at once, against a server of this process. The
 * proxy's process is the program that $AGENTBOX names.
 */
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agentbox/agentbox.h"
#include "base/defs.h"
#include "lib/echo_server.h"

#define CLIENTS 8
#define WAIT_MS 20000

static struct echo_server server;

/* ---- the proxy ---- */

struct seen {
    unsigned questions, refused;
    uint32_t last;
    char host[64];
    char record[1024];
};

static void on_ask(void *user, uint32_t question, const char *host, int32_t port)
{
    struct seen *seen = user;

    assert_int_equal(port, server.port);
    seen->questions++;
    seen->last = question;
    (void)snprintf(seen->host, sizeof seen->host, "%s", host);
}

static void on_record(void *user, const char *json)
{
    struct seen *seen = user;

    (void)snprintf(seen->record, sizeof seen->record, "%s", json);
    seen->refused += strstr(json, "\"event\":\"refused\"") != NULL;
}

/* allowed: up to two patterns. */
static abx_config *config_of(const char *first, const char *second)
{
    abx_config *config = NULL;

    assert_int_equal(abx_config_new(&config, NULL), ABX_OK);
    if (first)
        assert_int_equal(abx_config_append(config, "network.allowedDomains", first, NULL), ABX_OK);
    if (second)
        assert_int_equal(abx_config_append(config, "network.allowedDomains", second, NULL), ABX_OK);
    return config;
}

static abx_proxy *start(struct seen *seen, const abx_config *config, bool ask, uint16_t *ret_port)
{
    char hosts[] = "/tmp/abx-hosts.XXXXXX";
    int fd = mkstemp(hosts);
    abx_proxy_options options = { .size = sizeof options,
                                  .program = getenv("AGENTBOX"),
                                  .hosts_file = hosts,
                                  .record = on_record,
                                  .ask = ask ? on_ask : NULL,
                                  .user = seen };
    abx_error *err = NULL;
    abx_proxy *p = NULL;
    int32_t port = 0;

    assert_int_equal(write(fd, "127.0.0.1 a.test b.test\n", 24), 24);
    close(fd);
    int32_t code = abx_proxy_new(config, &options, &p, &err);
    unlink(hosts);
    if (code != ABX_OK)
        fail_msg("%s", abx_error_message(err));
    assert_int_equal(abx_proxy_listen(p, "127.0.0.1:0", &port, NULL), ABX_OK);
    *ret_port = (uint16_t)port;
    return p;
}

static int ask_for(uint16_t proxy, const char *host)
{
    int fd = echo_connect(proxy);
    char text[128];
    int n = snprintf(text, sizeof text, "CONNECT %s:%u HTTP/1.1\r\n\r\n", host, server.port);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, (size_t)n), n);
    return fd;
}

/* Serves the proxy until the socket has something; what it says first. */
static void read_reply(abx_proxy *p, int fd, char *text, size_t size)
{
    struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
                            { .fd = abx_proxy_fd(p), .events = POLLIN } };

    do {
        assert_true(poll(fds, 2, WAIT_MS) > 0);
        if (fds[1].revents)
            assert_int_equal(abx_proxy_dispatch(p, 0, NULL), ABX_OK);
    } while (!fds[0].revents);
    ssize_t n = read(fd, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
}

static void wait_for_question(abx_proxy *p, const struct seen *seen, unsigned count)
{
    for (int i = 0; i < 100 && seen->questions < count; i++)
        assert_int_equal(abx_proxy_dispatch(p, 50, NULL), ABX_OK);
    assert_int_equal(seen->questions, count);
}

static void expect(abx_proxy *p, int fd, const char *beginning)
{
    char text[1024];

    read_reply(p, fd, text, sizeof text);
    text[strlen(beginning)] = '\0';
    assert_string_equal(text, beginning);
}

/* ---- tests ---- */

static void concurrent_connections_to_a_host_ask_once(void **state)
{
    struct seen seen = { 0 };
    abx_config *config = config_of("127.0.0.1", NULL);
    uint16_t port;
    abx_proxy *p = start(&seen, config, true, &port);
    int fds[CLIENTS];

    (void)state;
    for (unsigned i = 0; i < CLIENTS; i++)
        fds[i] = ask_for(port, "a.test");
    wait_for_question(p, &seen, 1);
    (void)abx_proxy_dispatch(p, 100, NULL);
    assert_int_equal(seen.questions, 1);
    assert_string_equal(seen.host, "a.test");
    assert_int_equal(abx_proxy_answer(p, seen.last, ABX_ANSWER_YES_SESSION, NULL), ABX_OK);
    for (unsigned i = 0; i < CLIENTS; i++) {
        expect(p, fds[i], "HTTP/1.1 200 ");
        close(fds[i]);
    }
    int again = ask_for(port, "a.test"); /* kept */
    expect(p, again, "HTTP/1.1 200 ");
    close(again);
    int other = ask_for(port, "b.test");
    wait_for_question(p, &seen, 2);
    assert_int_equal(abx_proxy_answer(p, seen.last, ABX_ANSWER_NO, NULL), ABX_OK);
    expect(p, other, "HTTP/1.1 403 ");
    close(other);
    other = ask_for(port, "b.test"); /* asked anew */
    wait_for_question(p, &seen, 3);
    close(other);
    assert_int_equal(seen.refused, 1);
    abx_proxy_free(p);
    abx_config_free(config);
}

static void a_yes_opens_no_internal_address(void **state)
{
    struct seen seen = { 0 };
    uint16_t port;
    abx_proxy *p = start(&seen, NULL, true, &port);
    int fd = ask_for(port, "a.test");

    (void)state;
    wait_for_question(p, &seen, 1);
    assert_int_equal(abx_proxy_answer(p, seen.last, ABX_ANSWER_YES, NULL), ABX_OK);
    expect(p, fd, "HTTP/1.1 403 ");
    close(fd);
    fd = ask_for(port, "127.0.0.1"); /* is not even asked about */
    expect(p, fd, "HTTP/1.1 403 ");
    assert_int_equal(seen.questions, 1);
    close(fd);
    abx_proxy_free(p);
}

static void an_update_closes_what_it_no_longer_allows_and_nothing_else(void **state)
{
    struct seen seen = { 0 };
    abx_config *both = config_of("a.test", "127.0.0.1"), *one = config_of("a.test", "127.0.0.1");
    uint16_t port;

    (void)state;
    assert_int_equal(abx_config_append(both, "network.allowedDomains", "b.test", NULL), ABX_OK);
    abx_proxy *p = start(&seen, both, false, &port);
    int a = ask_for(port, "a.test"), b = ask_for(port, "b.test");
    char text[256];

    expect(p, a, "HTTP/1.1 200 ");
    expect(p, b, "HTTP/1.1 200 ");
    assert_int_equal(abx_proxy_update(p, one, NULL), ABX_OK);
    do
        read_reply(p, b, text, sizeof text);
    while (text[0]);
    (void)abx_proxy_dispatch(p, 100, NULL);
    assert_non_null(strstr(seen.record, "the rules changed"));
    assert_int_equal(seen.refused, 1);
    assert_int_equal(write(a, "still here", 10), 10);
    for (text[0] = '\0'; !strstr(text, "here");)
        read_reply(p, a, text, sizeof text);
    close(a);
    close(b);
    b = ask_for(port, "b.test");
    expect(p, b, "HTTP/1.1 403 ");
    close(b);
    abx_proxy_free(p);
    abx_config_free(both);
    abx_config_free(one);
}

static void a_blocked_network_has_no_proxy_and_an_update_to_it_closes_all(void **state)
{
    struct seen seen = { 0 };
    abx_config *open = config_of("a.test", "127.0.0.1"), *blocked = config_of("a.test", NULL);
    abx_proxy_options options = { .size = sizeof options, .program = getenv("AGENTBOX") };
    abx_error *err = NULL;
    abx_proxy *p = NULL;
    uint16_t port;
    char text[256];

    (void)state;
    assert_int_equal(abx_config_set_string(blocked, "network.mode", "blocked", NULL), ABX_OK);
    assert_int_equal(abx_proxy_new(blocked, &options, &p, &err), ABX_E_CONFIG);
    assert_non_null(strstr(abx_error_message(err), "network.mode is 'blocked'"));
    abx_error_free(err);
    p = start(&seen, open, true, &port);
    int a = ask_for(port, "a.test");
    expect(p, a, "HTTP/1.1 200 ");
    assert_int_equal(abx_proxy_update(p, blocked, NULL), ABX_OK);
    do
        read_reply(p, a, text, sizeof text);
    while (text[0]);
    close(a);
    a = ask_for(port, "b.test"); /* and nobody is asked */
    expect(p, a, "HTTP/1.1 403 ");
    assert_int_equal(seen.questions, 0);
    close(a);
    abx_proxy_free(p);
    abx_config_free(open);
    abx_config_free(blocked);
}

/* ---- new rules while a connection is being opened ---- */

/* A listener whose queue is full: a connect to it waits. *ret_client is what fills it. */
static int full_listener(uint16_t *ret_port, int *ret_client)
{
    int fd = echo_listen(0, ret_port);
    struct tcp_info info = { 0 };
    socklen_t len = sizeof info;

    assert_true(fd >= 0);
    *ret_client = echo_connect(*ret_port);
    assert_true(*ret_client >= 0);
    do /* its last packet may still be on its way */
        assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
    while (info.tcpi_unacked == 0);
    return fd;
}

/* Whether somebody is connecting to the port, as the kernel's table says. */
static bool is_dialled(uint16_t port)
{
    char line[256], wanted[32];
    FILE *f = fopen("/proc/net/tcp", "re");
    bool found = false;

    (void)snprintf(wanted, sizeof wanted, " 0100007F:%04X 02 ", port); /* SYN_SENT */
    assert_non_null(f);
    while (!found && fgets(line, sizeof line, f))
        found = strstr(line, wanted) != NULL;
    (void)fclose(f);
    return found;
}

static int ask_for_port(uint16_t proxy, const char *host, uint16_t port)
{
    uint16_t own = server.port;

    server.port = port;
    int fd = ask_for(proxy, host);
    server.port = own;
    return fd;
}

/* The name is allowed before and after; its address, an internal one, only before. */
static void an_address_that_is_being_dialled_is_judged_by_the_new_rules(void **state)
{
    struct seen seen = { 0 };
    abx_config *before = config_of("a.test", "127.0.0.1"), *after = config_of("a.test", NULL);
    uint16_t port, target = 0;
    int filler, full = full_listener(&target, &filler);
    abx_proxy *p = start(&seen, before, false, &port);
    int fd = ask_for_port(port, "a.test", target);

    (void)state;
    for (int i = 0; !is_dialled(target); i++) {
        assert_true(i < WAIT_MS);
        (void)abx_proxy_dispatch(p, 1, NULL);
    }
    assert_int_equal(abx_proxy_update(p, after, NULL), ABX_OK);
    assert_false(is_dialled(target));
    expect(p, fd, "HTTP/1.1 403 ");
    close(fd);
    close(filler);
    close(full);
    abx_proxy_free(p);
    abx_config_free(before);
    abx_config_free(after);
}

/* It stands still in the upstream proxy's hands, and the new rules have none. */
static void a_connection_does_not_go_on_through_a_proxy_that_is_none_any_more(void **state)
{
    struct seen seen = { 0 };
    abx_config *before = config_of("a.test", NULL), *after = config_of("a.test", "127.0.0.1");
    uint16_t port, upstream_port = 0;
    int upstream = echo_listen(8, &upstream_port);
    char url[64], text[256], all[1024];

    (void)state;
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", upstream_port);
    assert_int_equal(abx_config_set_string(before, "network.upstreamProxy", url, NULL), ABX_OK);
    abx_proxy *p = start(&seen, before, false, &port);
    int fd = ask_for(port, "a.test"), peer = accept(upstream, NULL, NULL);
    assert_true(peer >= 0);
    ssize_t n = read(peer, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    assert_non_null(strstr(text, "CONNECT a.test:"));
    assert_int_equal(abx_proxy_update(p, after, NULL), ABX_OK);
    assert_int_equal(read(peer, text, sizeof text), 0); /* hung up */
    for (all[0] = '\0'; !strstr(all, "hello");) {       /* by the server itself */
        read_reply(p, fd, text, sizeof text);
        assert_true(text[0] && strlen(all) + strlen(text) < sizeof all);
        memcpy(all + strlen(all), text, strlen(text) + 1);
    }
    assert_memory_equal(all, "HTTP/1.1 200 ", 13);
    close(fd);
    close(peer);
    close(upstream);
    abx_proxy_free(p);
    abx_config_free(before);
    abx_config_free(after);
}

static void two_proxies_have_two_sets_of_rules(void **state)
{
    struct seen seen[2] = { 0 };
    abx_config *a = config_of("a.test", "127.0.0.1"), *b = config_of("b.test", "127.0.0.1");
    uint16_t ports[2];
    abx_proxy *first = start(&seen[0], a, false, &ports[0]);
    abx_proxy *second = start(&seen[1], b, false, &ports[1]);

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        int fd = ask_for(ports[i], "a.test");
        expect(i ? second : first, fd, i ? "HTTP/1.1 403 " : "HTTP/1.1 200 ");
        close(fd);
    }
    assert_int_equal(abx_proxy_close(first, 2000, NULL), ABX_OK);
    assert_int_equal(abx_proxy_close(second, 2000, NULL), ABX_OK);
    abx_proxy_free(first);
    abx_proxy_free(second);
    abx_config_free(a);
    abx_config_free(b);
}

static void misuse_is_an_error(void **state)
{
    abx_proxy_options options = { .size = sizeof options, .program = "/nonexistent" };
    struct seen seen = { 0 };
    abx_proxy *p = NULL;
    uint16_t port;
    int32_t ignored;

    (void)state;
    assert_int_equal(abx_proxy_new(NULL, NULL, NULL, NULL), ABX_E_INVALID);
    assert_int_not_equal(abx_proxy_new(NULL, &options, &p, NULL), ABX_OK);
    assert_null(p);
    assert_int_equal(abx_proxy_listen(NULL, "127.0.0.1:0", &ignored, NULL), ABX_E_INVALID);
    assert_int_equal(abx_proxy_fd(NULL), -1);
    abx_proxy_free(NULL);
    p = start(&seen, NULL, false, &port);
    assert_int_equal(abx_proxy_listen(p, "localhost:0", &ignored, NULL), ABX_E_INVALID);
    assert_int_equal(abx_proxy_listen(p, "127.0.0.1", &ignored, NULL), ABX_E_INVALID);
    assert_int_equal(abx_proxy_answer(p, 1, 17, NULL), ABX_E_INVALID);
    abx_proxy_free(p);
}

static int start_server(void **state)
{
    (void)state;
    return echo_start(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concurrent_connections_to_a_host_ask_once),
        cmocka_unit_test(a_yes_opens_no_internal_address),
        cmocka_unit_test(an_update_closes_what_it_no_longer_allows_and_nothing_else),
        cmocka_unit_test(a_blocked_network_has_no_proxy_and_an_update_to_it_closes_all),
        cmocka_unit_test(an_address_that_is_being_dialled_is_judged_by_the_new_rules),
        cmocka_unit_test(a_connection_does_not_go_on_through_a_proxy_that_is_none_any_more),
        cmocka_unit_test(two_proxies_have_two_sets_of_rules),
        cmocka_unit_test(misuse_is_an_error),
    };

    return cmocka_run_group_tests(tests, start_server, NULL);
}
