/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filtered networks of the library: rules of several managers at once, updates, questions, the
 * exec form, a proxy that is missing. A server of this process is what is allowed or not;
 * commands inside reach it by CONNECT, as "localhost" or by address. The proxy's process is the
 * program that $AGENTBOX names.
 */
#include "lib/net_case.h"

#include <netinet/in.h>
#include <poll.h>

/* ---- rules ---- */

static void two_managers_have_two_sets_of_rules(void **state)
{
    struct api_case *c = *state;
    abx_manager *open = net_manager("127.0.0.1", NULL), *closed = net_manager(NULL, NULL);
    const char *text = "for i in 1 2 3 4 5 6 7 8; do get 127.0.0.1; done";
    abx_command *a = net_command(c, text), *b = net_command(c, text);
    abx_process *p = net_spawn(open, a), *q = net_spawn(closed, b);
    abx_result *r = api_wait(p, NET_WAIT_MS), *s = api_wait(q, NET_WAIT_MS);

    assert_string_equal(abx_result_stdout(r, NULL), "200\n200\n200\n200\n200\n200\n200\n200\n");
    assert_string_equal(abx_result_stdout(s, NULL), "403\n403\n403\n403\n403\n403\n403\n403\n");
    assert_int_equal(abx_result_violations(r), 0);
    assert_int_equal(abx_result_violations(s), 1);
    const abx_violation *v = abx_result_violation(s, 0);
    assert_string_equal(abx_violation_operation(v), "network");
    assert_string_equal(abx_violation_host(v), "127.0.0.1");
    assert_int_equal(abx_violation_port(v), net_server.port);
    assert_int_equal(abx_violation_count(v), 8);
    assert_string_equal(abx_violation_rule(v), "blocked");
    assert_non_null(strstr(abx_violation_grant(v), "--allow-domain 127.0.0.1:"));
    abx_result_free(r);
    abx_result_free(s);
    abx_process_free(p);
    abx_process_free(q);
    abx_command_free(a);
    abx_command_free(b);
    abx_manager_free(open);
    abx_manager_free(closed);
}

static void rules_of_a_command_are_its_own(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = net_manager(NULL, NULL);
    abx_error *e = NULL;

    for (int i = 0; i < 2; i++) {
        abx_command *command = net_command(c, "get 127.0.0.1");
        abx_result *r = NULL;

        if (i == 0)
            api_ok(abx_command_append(command, "network.allowedDomains", "127.0.0.1", &e), &e);
        api_ok(abx_manager_run(m, command, &r, &e), &e);
        assert_string_equal(abx_result_stdout(r, NULL), i == 0 ? "200\n" : "403\n");
        abx_result_free(r);
        abx_command_free(command);
    }
    abx_manager_free(m);
}

static void an_update_counts_for_running_commands(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = net_manager("127.0.0.1", NULL);
    abx_command *command = net_command(
        c, "connect 127.0.0.1; head -c 5 <&3; echo ping >&3; read -r back <&3; echo \" $back\"; "
           "touch up; cat <&3; echo closed; get 127.0.0.1; touch again; "
           "while [ ! -e go ]; do sleep 0.01; done; get 127.0.0.1");
    abx_process *p = net_spawn(m, command);

    net_await_file(c, "up");
    net_update(m, NULL); /* the tunnel ends, and the next one is refused */
    net_await_file(c, "again");
    net_update(m, "127.0.0.1");
    net_make_file(c, "go");
    net_finish(p, command, "hello ping\nclosed\n403\n200\n");
    abx_manager_free(m);
}

static void an_update_to_blocked_closes_all(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = net_manager("127.0.0.1", NULL);
    abx_command *command = net_command_twice(c);
    abx_process *p = net_spawn(m, command);
    abx_config *config = net_config("127.0.0.1");
    abx_error *e = NULL;

    net_await_file(c, "up");
    api_ok(abx_config_set_string(config, "network.mode", "blocked", &e), &e);
    api_ok(abx_manager_update(m, config, &e), &e);
    net_make_file(c, "go");
    net_finish(p, command, "200\n403\n");
    abx_config_free(config);
    abx_manager_free(m);
}

/* In a child of ours that did not exec: the parent's runs go on as if nothing was. */
static void a_forked_child_leaves_the_network_alone(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = net_manager("127.0.0.1", NULL);
    abx_command *command = net_command(
        c, "touch up; while [ ! -e go ]; do sleep 0.01; done; get 127.0.0.1");
    abx_process *p = net_spawn(m, command);
    int status = -1;

    net_await_file(c, "up");
    pid_t pid = fork();
    if (pid == 0) {
        abx_process_free(p);
        abx_manager_free(m);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    net_make_file(c, "go");
    net_finish(p, command, "200\n");
    abx_manager_free(m);
}

/* Whoever connects is hung up on at once, since nobody listens inside; unserved, he would wait. */
static bool is_served(uint16_t port)
{
    const struct sockaddr_in at = { .sin_family = AF_INET,
                                    .sin_port = htons(port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct pollfd p = { .fd = fd, .events = POLLIN };

    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    int n = poll(&p, 1, 5000);
    (void)close(fd);
    return n == 1;
}

static void a_forked_child_leaves_published_ports_alone(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = net_manager("127.0.0.1", NULL);
    abx_command *command = net_command(c, "while [ ! -e go ]; do sleep 0.01; done");
    const uint16_t port = (uint16_t)(20000 + getpid() % 10000);
    abx_error *e = NULL;
    char text[32];
    int status = -1;

    (void)snprintf(text, sizeof text, "%u:8080", port);
    api_ok(abx_command_append(command, "network.publish", text, &e), &e);
    abx_process *p = net_spawn(m, command);
    pid_t pid = fork();
    if (pid == 0) {
        abx_manager_free(m);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(is_served(port));
    net_make_file(c, "go");
    net_finish(p, command, "");
    abx_manager_free(m);
}

/* ---- questions ---- */

struct asked {
    abx_manager *m;
    _Atomic unsigned count;
    _Atomic uint32_t last;
    int32_t at_once; /* the answer from the callback; -1: later */
};

static void on_network(void *user, uint32_t question, const char *host, int32_t port)
{
    struct asked *asked = user;

    assert_string_equal(host, "localhost");
    assert_int_equal(port, net_server.port);
    asked->last = question;
    asked->count++;
    if (asked->at_once >= 0)
        assert_int_equal(abx_manager_answer(asked->m, question, asked->at_once, NULL), ABX_OK);
}

static abx_manager *asking_manager(struct asked *asked, uint32_t flags)
{
    abx_hooks hooks;

    abx_hooks_init(&hooks, sizeof hooks);
    hooks.network = on_network;
    hooks.user = asked;
    hooks.flags = flags;
    asked->m = net_manager("127.0.0.1", &hooks);
    return asked->m;
}

static void a_callback_answers_at_once(void **state)
{
    struct api_case *c = *state;
    const uint32_t flags[] = { 0, ABX_NO_THREAD };

    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        struct asked asked = { .at_once = ABX_ANSWER_YES };
        abx_manager *m = asking_manager(&asked, flags[i]);

        net_prints(c, m, "get localhost; get localhost", "200\n200\n");
        assert_int_equal(asked.count, 2);
        asked.at_once = ABX_ANSWER_NO;
        net_prints(c, m, "get localhost", "403\n");
        assert_int_equal(asked.count, 3);
        asked.at_once = ABX_ANSWER_YES_SESSION;
        net_prints(c, m, "get localhost; get localhost", "200\n200\n");
        net_prints(c, m, "get localhost", "200\n"); /* another run of the same manager */
        assert_int_equal(asked.count, 4);
        abx_manager_free(m);
    }
}

static void an_answer_may_come_later_and_is_shared(void **state)
{
    struct api_case *c = *state;
    struct asked asked = { .at_once = -1 };
    abx_manager *m = asking_manager(&asked, 0);
    const char *text = "for i in 1 2 3; do get localhost >out.$$.$i & done; wait; cat out.$$.*";
    abx_command *a = net_command(c, text), *b = net_command(c, text);
    abx_process *p = net_spawn(m, a), *q = net_spawn(m, b);
    abx_error *e = NULL;

    for (int64_t end = api_now_ms() + NET_WAIT_MS; asked.count == 0; usleep(2000))
        assert_true(api_now_ms() < end);
    usleep(300000); /* all six have asked by now; it would do no harm if not */
    assert_int_equal(asked.count, 1);
    api_fails(abx_manager_answer(m, asked.last, 9, &e), ABX_E_INVALID, &e);
    api_ok(abx_manager_answer(m, asked.last + 100, ABX_ANSWER_NO, &e), &e); /* nobody's */
    api_ok(abx_manager_answer(m, asked.last, ABX_ANSWER_YES_SESSION, &e), &e);
    abx_result *r = api_wait(p, NET_WAIT_MS), *s = api_wait(q, NET_WAIT_MS);
    assert_string_equal(abx_result_stdout(r, NULL), "200\n200\n200\n");
    assert_string_equal(abx_result_stdout(s, NULL), "200\n200\n200\n");
    abx_result_free(r);
    abx_result_free(s);
    abx_process_free(p);
    abx_process_free(q);
    abx_command_free(a);
    abx_command_free(b);
    abx_manager_free(m);
}

/* ---- other ways to run ---- */

static void a_manager_without_a_thread_serves_the_network(void **state)
{
    struct api_case *c = *state;
    abx_hooks hooks;

    abx_hooks_init(&hooks, sizeof hooks);
    hooks.flags = ABX_NO_THREAD;
    abx_manager *m = net_manager("127.0.0.1", &hooks);
    net_prints(c, m, "get 127.0.0.1", "200\n");
    abx_command *command = net_command(c, "get 127.0.0.1");
    abx_process *p = net_spawn(m, command);
    net_finish(p, command, "200\n");
    abx_manager_free(m);
}

static void the_exec_form_has_a_network(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = net_manager("127.0.0.1", NULL);
    abx_command *command = net_command(c, "get 127.0.0.1 >got");
    const abx_exec_form *form = NULL;
    abx_error *e = NULL;

    api_ok(abx_manager_wrap(m, command, &e), &e);
    api_ok(abx_command_exec_form(command, &form, &e), &e);
    assert_int_equal(api_spawn_form(form, STDOUT_FILENO), 0);
    abx_command_free(command);
    char path[128], text[16] = "";
    (void)snprintf(path, sizeof path, "%s/got", c->dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof text - 1), 4);
    (void)close(fd);
    assert_string_equal(text, "200\n");
    abx_manager_free(m);
}

static void without_its_program_nothing_is_reached_and_the_result_says_why(void **state)
{
    struct api_case *c = *state;
    abx_hooks hooks;

    abx_hooks_init(&hooks, sizeof hooks);
    hooks.program = "/nonexistent/agentbox";
    abx_manager *m = net_manager("127.0.0.1", &hooks);
    abx_result *r = net_run(c, m, "get 127.0.0.1");
    assert_string_not_equal(abx_result_stdout(r, NULL), "200\n");
    assert_int_equal(abx_result_violations(r), 1);
    assert_non_null(strstr(abx_violation_note(abx_result_violation(r, 0)), "network proxy"));
    abx_result_free(r);
    abx_manager_free(m);
}

static void a_process_may_outlive_its_manager(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = net_manager("127.0.0.1", NULL);
    abx_command *command = net_command(c, "get 127.0.0.1; touch up; sleep 60");
    abx_process *p = net_spawn(m, command);

    net_await_file(c, "up");
    abx_manager_free(m);
    abx_process_free(p);
    abx_command_free(command);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, net_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_managers_have_two_sets_of_rules),
        TEST(rules_of_a_command_are_its_own),
        TEST(an_update_counts_for_running_commands),
        TEST(an_update_to_blocked_closes_all),
        TEST(a_forked_child_leaves_the_network_alone),
        TEST(a_forked_child_leaves_published_ports_alone),
        TEST(a_callback_answers_at_once),
        TEST(an_answer_may_come_later_and_is_shared),
        TEST(a_manager_without_a_thread_serves_the_network),
        TEST(the_exec_form_has_a_network),
        TEST(without_its_program_nothing_is_reached_and_the_result_says_why),
        TEST(a_process_may_outlive_its_manager),
    };

    return cmocka_run_group_tests_name("net_run", tests, net_start, NULL);
}
