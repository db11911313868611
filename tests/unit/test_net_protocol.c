/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket's messages: what is written is read again, and nothing shorter or longer. */
#include "net/protocol.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/client.h"

static const struct filter_pattern some[] = { { "ok.test", "--allow-domain" },
                                              { "*.wild.test:443", "/etc/x:1:2" } };

static void put_example_rules(struct buf *out)
{
    const struct server_rules rules = { .lists = { .allowed = { some, 2 }, .mitm = { some, 1 } },
                                        .mitm_path = "/run/m.sock",
                                        .ask = true,
                                        .refuse_ech = true };

    protocol_put_rules(out, 7, 3, &rules, "http://u:p@proxy.test:1");
}

static bool read_rules(const char *bytes, size_t len, struct server_rules *rules)
{
    struct arena arena;
    uint32_t id;

    arena_init(&arena, 1 << 20);
    bool ok = protocol_get_rules(bytes, len, &arena, &id, rules);
    if (ok) {
        assert_int_equal(id, 3);
        assert_int_equal(rules->lists.allowed.count, 2);
        assert_string_equal(rules->lists.allowed.patterns[1].text, "*.wild.test:443");
        assert_string_equal(rules->lists.allowed.patterns[1].origin, "/etc/x:1:2");
    }
    arena_done(&arena);
    return ok;
}

static void rules_come_out_as_they_went_in(void **state)
{
    _buf_ struct buf out = { .limit = PROTOCOL_MAX };
    struct protocol_head head;
    struct server_rules rules;

    (void)state;
    put_example_rules(&out);
    assert_int_equal(protocol_get_head(out.data, out.len, PROTOCOL_MAX, &head), 1);
    assert_int_equal(head.type, PROTOCOL_RULES);
    assert_int_equal(head.serial, 7);
    assert_int_equal(head.len + PROTOCOL_HEAD, out.len);
    assert_true(read_rules(out.data + PROTOCOL_HEAD, head.len, &rules));
    assert_true(rules.ask && rules.refuse_ech && !rules.tell_allowed);
    assert_string_equal(rules.upstream.password, "p");
    assert_int_equal(rules.upstream.kind, UPSTREAM_HTTP);
}

static void a_cut_or_longer_message_is_malformed(void **state)
{
    _buf_ struct buf out = { .limit = PROTOCOL_MAX };
    struct protocol_head head;
    struct server_rules rules;

    (void)state;
    put_example_rules(&out);
    for (size_t len = 0; len < out.len; len++)
        assert_int_equal(protocol_get_head(out.data, len, PROTOCOL_MAX, &head), 0);
    for (size_t len = 0; len < out.len - PROTOCOL_HEAD; len++)
        assert_false(read_rules(out.data + PROTOCOL_HEAD, len, &rules));
    assert_int_equal(buf_putc(&out, 0), 0);
    assert_false(read_rules(out.data + PROTOCOL_HEAD, out.len - PROTOCOL_HEAD, &rules));
}

static void a_message_that_is_too_long_is_refused_by_its_head(void **state)
{
    const struct protocol_head head = { PROTOCOL_MAX_OUT, PROTOCOL_RECORD, 0 };
    struct protocol_head got;

    (void)state;
    assert_int_equal(protocol_get_head((const char *)&head, sizeof head, PROTOCOL_MAX_OUT, &got),
                     -1);
}

static void records_come_out_as_they_went_in(void **state)
{
    const struct server_record in = { .listener = 4,
                                      .outcome = SERVER_REFUSED,
                                      .kind = REPLY_UNLISTED,
                                      .protocol = "connect",
                                      .host = "evil.test",
                                      .port = 443,
                                      .rule = "default",
                                      .origin = "built-in",
                                      .grant = "--allow-domain evil.test:443",
                                      .text = "no" };
    struct server_record got;
    _buf_ struct buf out = { .limit = PROTOCOL_MAX_OUT };

    (void)state;
    protocol_put_record(&out, &in);
    assert_true(protocol_get_record(out.data + PROTOCOL_HEAD, out.len - PROTOCOL_HEAD, &got));
    assert_int_equal(got.kind, REPLY_UNLISTED);
    assert_string_equal(got.grant, in.grant);
    assert_string_equal(got.text, "no");
    out.data[PROTOCOL_HEAD + 4] = 9; /* an outcome that there is not */
    assert_false(protocol_get_record(out.data + PROTOCOL_HEAD, out.len - PROTOCOL_HEAD, &got));
}

static void a_text_with_a_nul_inside_is_malformed(void **state)
{
    _buf_ struct buf out = { .limit = 1000 };
    int32_t code;
    const char *text;

    (void)state;
    protocol_put_done(&out, 1, ABX_OK, "text");
    assert_true(protocol_get_done(out.data + PROTOCOL_HEAD, out.len - PROTOCOL_HEAD, &code, &text));
    out.data[out.len - 3] = '\0';
    assert_false(
        protocol_get_done(out.data + PROTOCOL_HEAD, out.len - PROTOCOL_HEAD, &code, &text));
}

static void upstream_urls_are_read_or_refused(void **state)
{
    static const struct {
        const char *url;
        bool ok;
        enum upstream_kind kind;
        uint16_t port;
        const char *user, *password;
    } cases[] = {
        { "", true, UPSTREAM_NONE, 0, "", "" },
        { "http://proxy.test", true, UPSTREAM_HTTP, 3128, "", "" },
        { "http://proxy.test:80/", true, UPSTREAM_HTTP, 80, "", "" },
        { "socks5h://u:p%40q@[::1]:9", true, UPSTREAM_SOCKS5, 9, "u", "p@q" },
        { "http://u@proxy.test", true, UPSTREAM_HTTP, 3128, "u", "" },
        { "https://proxy.test", false, 0, 0, "", "" },
        { "http://proxy.test/path", false, 0, 0, "", "" },
        { "http://u:%0a@proxy.test", false, 0, 0, "", "" },
        { "http://u:%4@proxy.test", false, 0, 0, "", "" },
        { "http://", false, 0, 0, "", "" },
        { "proxy.test:80", false, 0, 0, "", "" },
    };
    struct upstream got;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(upstream_parse(cases[i].url, &got), cases[i].ok);
        if (!cases[i].ok)
            continue;
        assert_int_equal(got.kind, cases[i].kind);
        assert_int_equal(got.port, cases[i].port);
        assert_string_equal(got.user, cases[i].user);
        assert_string_equal(got.password, cases[i].password);
    }
}

/* ---- the host's side ---- */

#define MANY 20000 /* rules: far more than a socket holds */

struct talk {
    struct client client;
    int role;
    _Atomic bool asked;
    bool rules_whole, answer_follows;
};

static void on_record(void *user, const struct server_record *record)
{
    (void)user;
    (void)record;
}

/* Answers at once, while the rules are on their way. */
static void on_ask(void *user, uint32_t question, uint32_t listener, const char *host,
                   uint16_t port)
{
    struct talk *t = user;

    (void)listener;
    (void)host;
    (void)port;
    (void)client_answer(&t->client, question, SERVER_YES, NULL);
    t->asked = true;
}

static bool read_message(int fd, struct buf *in, struct protocol_head *head)
{
    char piece[4096];
    int whole;

    while ((whole = protocol_get_head(in->data, in->len, PROTOCOL_MAX, head)) == 0) {
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n <= 0 || buf_append(in, piece, (size_t)n) < 0)
            return false;
    }
    return whole > 0;
}

/* A role that asks before it reads; it reads only once it was answered. */
static void *ask_then_read(void *arg)
{
    struct talk *t = arg;
    _buf_ struct buf in = { .limit = PROTOCOL_MAX }, out = { .limit = 4096 };
    struct protocol_head head;
    struct arena arena;
    struct server_rules rules;
    uint32_t id;

    protocol_put_question(&out, 5, 1, "a.test", 443);
    (void)send(t->role, out.data, out.len, MSG_NOSIGNAL);
    while (!t->asked)
        usleep(1000);
    arena_init(&arena, PROTOCOL_MAX);
    if (read_message(t->role, &in, &head))
        t->rules_whole = head.type == PROTOCOL_RULES &&
                         protocol_get_rules(in.data + PROTOCOL_HEAD, head.len, &arena, &id, &rules);
    arena_done(&arena);
    out.len = 0;
    protocol_put_done(&out, head.serial, ABX_OK, "");
    (void)send(t->role, out.data, out.len, MSG_NOSIGNAL);
    if (t->rules_whole && in.data) {
        in.len -= PROTOCOL_HEAD + head.len;
        memmove(in.data, in.data + PROTOCOL_HEAD + head.len, in.len);
        t->answer_follows = read_message(t->role, &in, &head) && head.type == PROTOCOL_ANSWER;
    }
    return NULL;
}

static void an_answer_does_not_go_into_the_middle_of_a_message(void **state)
{
    static struct filter_pattern many[MANY];
    struct talk t = { 0 };
    const struct client_hooks hooks = { .user = &t, .record = on_record, .ask = on_ask };
    const struct server_rules rules = { .lists.allowed = { many, MANY } };
    pthread_t thread;
    int pair[2];

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        many[i] = (struct filter_pattern){ "some-host.example.com:443", "the test's own list" };
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    t.role = pair[1];
    client_init(&t.client, pair[0], &hooks);
    assert_int_equal(pthread_create(&thread, NULL, ask_then_read, &t), 0);
    assert_int_equal(client_rules(&t.client, 1, &rules, "", NULL), ABX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(t.rules_whole);
    assert_true(t.answer_follows);
    close(t.role);
    client_done(&t.client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_come_out_as_they_went_in),
        cmocka_unit_test(a_cut_or_longer_message_is_malformed),
        cmocka_unit_test(a_message_that_is_too_long_is_refused_by_its_head),
        cmocka_unit_test(records_come_out_as_they_went_in),
        cmocka_unit_test(a_text_with_a_nul_inside_is_malformed),
        cmocka_unit_test(upstream_urls_are_read_or_refused),
        cmocka_unit_test(an_answer_does_not_go_into_the_middle_of_a_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
