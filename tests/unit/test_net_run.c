/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filtered networks of the library: rules of several managers at once, updates, questions, the
 * exec form, a proxy that is missing. A server of this process is what is allowed or not;
 * commands inside reach it by CONNECT, as "localhost" or by address. The proxy's process is the
 * program that $AGENTBOX names.
 */
#include "lib/api_case.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>

#define WAIT_MS 20000

static uint16_t server_port;
static int listener;

/* ---- the server: says "hello", then whatever it is told ---- */

static void *serve_one(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char bytes[256];

    (void)!write(fd, "hello", 5);
    for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;)
        (void)!write(fd, bytes, (size_t)n);
    close(fd);
    return NULL;
}

static void *serve(void *arg)
{
    pthread_t thread;

    (void)arg;
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
        if (pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)fd) == 0)
            (void)pthread_detach(thread);
    return NULL;
}

static int start_server(void **state)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    pthread_t thread;

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&at, len) < 0 || listen(listener, 256) < 0 ||
        getsockname(listener, (struct sockaddr *)&at, &len) < 0)
        return -1;
    server_port = ntohs(at.sin_port);
    return pthread_create(&thread, NULL, serve, NULL);
}

/* ---- managers and commands ---- */

static abx_config *config_of(const char *allowed)
{
    abx_config *config = NULL;

    assert_int_equal(abx_config_new(&config, NULL), ABX_OK);
    assert_int_equal(abx_config_set_string(config, "network.mode", "filtered", NULL), ABX_OK);
    if (allowed)
        assert_int_equal(abx_config_append(config, "network.allowedDomains", allowed, NULL),
                         ABX_OK);
    return config;
}

static abx_manager *manager_of(const char *allowed, abx_hooks *hooks)
{
    abx_config *config = config_of(allowed);
    abx_hooks plain;
    abx_manager *m = NULL;
    abx_error *e = NULL;

    abx_hooks_init(&plain, sizeof plain);
    hooks = hooks ? hooks : &plain;
    hooks->approve = api_approve;
    if (!hooks->program)
        hooks->program = getenv("AGENTBOX");
    api_ok(abx_manager_new(config, hooks, &m, &e), &e);
    abx_config_free(config);
    return m;
}

static void update(abx_manager *m, const char *allowed)
{
    abx_config *config = config_of(allowed);
    abx_error *e = NULL;

    api_ok(abx_manager_update(m, config, &e), &e);
    abx_config_free(config);
}

/* connect HOST: what the proxy says, then up to five bytes of the server; get HOST: its code. */
#define FUNCTIONS                                                                                  \
    "connect() { exec 3<>/dev/tcp/127.0.0.1/3128 || return; "                                      \
    "printf 'CONNECT %s:%s HTTP/1.1\\r\\n\\r\\n' \"$1\" \"$PORT\" >&3; "                           \
    "read -r _ code _ <&3; while read -r line <&3 && [ ${#line} -gt 1 ]; do :; done; }; "          \
    "get() { code=; connect \"$1\" && [ \"$code\" = 200 ] && head -c 5 <&3 >/dev/null; "           \
    "printf '%s\\n' \"${code:-none}\"; exec 3>&-; }; "

static abx_command *command_of(const struct api_case *c, const char *text)
{
    static const char *const argv[] = { "bash", "-c", "text=$TEXT; unset TEXT; eval \"$text\"",
                                        NULL }; /* not for the classifier */
    char *all = NULL, port[16];
    abx_command *command = NULL;
    abx_error *e = NULL;

    assert_true(asprintf(&all, "TEXT=%s%s", FUNCTIONS, text) > 0);
    (void)snprintf(port, sizeof port, "PORT=%u", server_port);
    api_ok(abx_command_new(argv, &command, &e), &e);
    api_ok(abx_command_set_cwd(command, c->dir, &e), &e);
    api_ok(abx_command_append(command, "environment.set", port, &e), &e);
    api_ok(abx_command_append(command, "environment.set", all, &e), &e);
    for (int32_t i = 1; i < 3; i++)
        api_ok(abx_command_set_stdio(command, i, ABX_STDIO_CAPTURE, -1, &e), &e);
    free(all);
    return command;
}

static abx_result *run(const struct api_case *c, abx_manager *m, const char *text)
{
    abx_command *command = command_of(c, text);
    abx_result *result = NULL;
    abx_error *e = NULL;

    api_ok(abx_manager_run(m, command, &result, &e), &e);
    abx_command_free(command);
    return result;
}

static void prints(const struct api_case *c, abx_manager *m, const char *text, const char *wanted)
{
    abx_result *r = run(c, m, text);

    if (strcmp(abx_result_stdout(r, NULL), wanted) != 0)
        fail_msg("%s printed '%s', %s", text, abx_result_stdout(r, NULL),
                 abx_result_stderr(r, NULL));
    abx_result_free(r);
}

static abx_process *spawn(abx_manager *m, abx_command *command)
{
    abx_process *p = NULL;
    abx_error *e = NULL;

    api_ok(abx_manager_spawn(m, command, &p, &e), &e);
    return p;
}

static void make_file(const struct api_case *c, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", c->dir, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

static void await_file(const struct api_case *c, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", c->dir, name);
    for (int64_t end = api_now_ms() + WAIT_MS; access(path, F_OK) < 0; usleep(2000))
        if (api_now_ms() > end)
            fail_msg("%s did not come", name);
}

/* ---- rules ---- */

static void two_managers_have_two_sets_of_rules(void **state)
{
    struct api_case *c = *state;
    abx_manager *open = manager_of("127.0.0.1", NULL), *closed = manager_of(NULL, NULL);
    const char *text = "for i in 1 2 3 4 5 6 7 8; do get 127.0.0.1; done";
    abx_command *a = command_of(c, text), *b = command_of(c, text);
    abx_process *p = spawn(open, a), *q = spawn(closed, b);
    abx_result *r = api_wait(p, WAIT_MS), *s = api_wait(q, WAIT_MS);

    assert_string_equal(abx_result_stdout(r, NULL), "200\n200\n200\n200\n200\n200\n200\n200\n");
    assert_string_equal(abx_result_stdout(s, NULL), "403\n403\n403\n403\n403\n403\n403\n403\n");
    assert_int_equal(abx_result_violations(r), 0);
    assert_int_equal(abx_result_violations(s), 1);
    const abx_violation *v = abx_result_violation(s, 0);
    assert_string_equal(abx_violation_operation(v), "network");
    assert_string_equal(abx_violation_host(v), "127.0.0.1");
    assert_int_equal(abx_violation_port(v), server_port);
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
    abx_manager *m = manager_of(NULL, NULL);
    abx_error *e = NULL;

    for (int i = 0; i < 2; i++) {
        abx_command *command = command_of(c, "get 127.0.0.1");
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
    abx_manager *m = manager_of("127.0.0.1", NULL);
    abx_command *command = command_of(
        c, "connect 127.0.0.1; head -c 5 <&3; echo ping >&3; read -r back <&3; echo \" $back\"; "
           "touch up; cat <&3; echo closed; get 127.0.0.1; touch again; "
           "while [ ! -e go ]; do sleep 0.01; done; get 127.0.0.1");
    abx_process *p = spawn(m, command);

    await_file(c, "up");
    update(m, NULL); /* the tunnel ends, and the next one is refused */
    await_file(c, "again");
    update(m, "127.0.0.1");
    make_file(c, "go");
    abx_result *r = api_wait(p, WAIT_MS);
    assert_string_equal(abx_result_stdout(r, NULL), "hello ping\nclosed\n403\n200\n");
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
    abx_manager_free(m);
}

static void an_update_to_blocked_closes_all(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = manager_of("127.0.0.1", NULL);
    abx_command *command = command_of(
        c, "get 127.0.0.1; touch up; while [ ! -e go ]; do sleep 0.01; done; get 127.0.0.1");
    abx_process *p = spawn(m, command);
    abx_config *config = config_of("127.0.0.1");
    abx_error *e = NULL;

    await_file(c, "up");
    api_ok(abx_config_set_string(config, "network.mode", "blocked", &e), &e);
    api_ok(abx_manager_update(m, config, &e), &e);
    make_file(c, "go");
    abx_result *r = api_wait(p, WAIT_MS);
    assert_string_equal(abx_result_stdout(r, NULL), "200\n403\n");
    abx_result_free(r);
    abx_config_free(config);
    abx_process_free(p);
    abx_command_free(command);
    abx_manager_free(m);
}

/* In a child of ours that did not exec: the parent's runs go on as if nothing was. */
static void a_forked_child_leaves_the_network_alone(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = manager_of("127.0.0.1", NULL);
    abx_command *command = command_of(
        c, "touch up; while [ ! -e go ]; do sleep 0.01; done; get 127.0.0.1");
    abx_process *p = spawn(m, command);
    int status = -1;

    await_file(c, "up");
    pid_t pid = fork();
    if (pid == 0) {
        abx_process_free(p);
        abx_manager_free(m);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    make_file(c, "go");
    abx_result *r = api_wait(p, WAIT_MS);
    assert_string_equal(abx_result_stdout(r, NULL), "200\n");
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
    abx_manager_free(m);
}

/*
 * Others hammer all the time (one that has no answer yet when its host is no longer allowed gets
 * none); whoever is told that rules changed sees them, at once.
 */
static void an_update_under_load_loses_and_lets_through_nothing(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = manager_of("127.0.0.1", NULL);
    abx_command *command = command_of(
        c,
        "load() { while [ ! -e stop ]; do get 127.0.0.1; done >load.$1; }; "
        "for i in 1 2 3 4; do load $i & done; "
        "for n in 1 2 3 4 5 6; do touch ready.$n; while [ ! -e phase.$n ]; do sleep 0.005; done; "
        "for i in 1 2 3 4 5; do get 127.0.0.1; done; done; "
        "touch stop; wait; cat load.* | sort -u | grep -v none");
    abx_process *p = spawn(m, command);
    char name[32];

    for (int n = 1; n <= 6; n++) {
        (void)snprintf(name, sizeof name, "ready.%d", n);
        await_file(c, name);
        update(m, n % 2 ? NULL : "127.0.0.1");
        (void)snprintf(name, sizeof name, "phase.%d", n);
        make_file(c, name);
    }
    abx_result *r = api_wait(p, 3 * WAIT_MS);
    const char *no = "403\n403\n403\n403\n403\n", *yes = "200\n200\n200\n200\n200\n";
    char wanted[256];
    (void)snprintf(wanted, sizeof wanted, "%s%s%s%s%s%s200\n403\n", no, yes, no, yes, no, yes);
    assert_string_equal(abx_result_stdout(r, NULL), wanted);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
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
    assert_int_equal(port, server_port);
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
    asked->m = manager_of("127.0.0.1", &hooks);
    return asked->m;
}

static void a_callback_answers_at_once(void **state)
{
    struct api_case *c = *state;
    const uint32_t flags[] = { 0, ABX_NO_THREAD };

    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        struct asked asked = { .at_once = ABX_ANSWER_YES };
        abx_manager *m = asking_manager(&asked, flags[i]);

        prints(c, m, "get localhost; get localhost", "200\n200\n");
        assert_int_equal(asked.count, 2);
        asked.at_once = ABX_ANSWER_NO;
        prints(c, m, "get localhost", "403\n");
        assert_int_equal(asked.count, 3);
        asked.at_once = ABX_ANSWER_YES_SESSION;
        prints(c, m, "get localhost; get localhost", "200\n200\n");
        prints(c, m, "get localhost", "200\n"); /* another run of the same manager */
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
    abx_command *a = command_of(c, text), *b = command_of(c, text);
    abx_process *p = spawn(m, a), *q = spawn(m, b);
    abx_error *e = NULL;

    for (int64_t end = api_now_ms() + WAIT_MS; asked.count == 0; usleep(2000))
        assert_true(api_now_ms() < end);
    usleep(300000); /* all six have asked by now; it would do no harm if not */
    assert_int_equal(asked.count, 1);
    api_fails(abx_manager_answer(m, asked.last, 9, &e), ABX_E_INVALID, &e);
    api_ok(abx_manager_answer(m, asked.last + 100, ABX_ANSWER_NO, &e), &e); /* nobody's */
    api_ok(abx_manager_answer(m, asked.last, ABX_ANSWER_YES_SESSION, &e), &e);
    abx_result *r = api_wait(p, WAIT_MS), *s = api_wait(q, WAIT_MS);
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
    abx_manager *m = manager_of("127.0.0.1", &hooks);
    prints(c, m, "get 127.0.0.1", "200\n");
    abx_command *command = command_of(c, "get 127.0.0.1");
    abx_process *p = spawn(m, command);
    abx_result *r = api_wait(p, WAIT_MS);
    assert_string_equal(abx_result_stdout(r, NULL), "200\n");
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
    abx_manager_free(m);
}

static void the_exec_form_has_a_network(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = manager_of("127.0.0.1", NULL);
    abx_command *command = command_of(c, "get 127.0.0.1 >got");
    const abx_exec_form *form = NULL;
    posix_spawn_file_actions_t actions;
    const int32_t *fds;
    abx_error *e = NULL;
    int high[8], status = -1;
    pid_t pid;

    api_ok(abx_manager_wrap(m, command, &e), &e);
    api_ok(abx_command_exec_form(command, &form, &e), &e);
    size_t count = abx_exec_form_fds(form, &fds);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_addchdir_np(&actions, abx_exec_form_cwd(form)), 0);
    for (size_t i = 0; i < count; i++) {
        high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 100);
        assert_int_equal(posix_spawn_file_actions_adddup2(&actions, high[i], 3 + (int)i), 0);
    }
    assert_int_equal(posix_spawn(&pid, abx_exec_form_path(form), &actions, NULL,
                                 (char *const *)(uintptr_t)abx_exec_form_argv(form),
                                 (char *const *)(uintptr_t)abx_exec_form_envp(form)),
                     0);
    (void)posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 0; i < count; i++)
        (void)close(high[i]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    assert_int_equal(status, 0);
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
    abx_manager *m = manager_of("127.0.0.1", &hooks);
    abx_result *r = run(c, m, "get 127.0.0.1");
    assert_string_not_equal(abx_result_stdout(r, NULL), "200\n");
    assert_int_equal(abx_result_violations(r), 1);
    assert_non_null(strstr(abx_violation_note(abx_result_violation(r, 0)), "network proxy"));
    abx_result_free(r);
    abx_manager_free(m);
}

static void a_process_may_outlive_its_manager(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = manager_of("127.0.0.1", NULL);
    abx_command *command = command_of(c, "get 127.0.0.1; touch up; sleep 60");
    abx_process *p = spawn(m, command);

    await_file(c, "up");
    abx_manager_free(m);
    abx_process_free(p);
    abx_command_free(command);
}

/* What the commands wrote, and the server's connections, which end a moment later. */
static int clear(void **state)
{
    struct api_case *c = *state;
    DIR *d = opendir(c->dir);

    for (const struct dirent *e; (e = readdir(d));)
        (void)unlinkat(dirfd(d), e->d_name, 0);
    (void)closedir(d);
    for (int64_t end = api_now_ms() + WAIT_MS; api_open_fds() > c->fds && api_now_ms() < end;)
        usleep(2000);
    return api_teardown(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_managers_have_two_sets_of_rules),
        TEST(rules_of_a_command_are_its_own),
        TEST(an_update_counts_for_running_commands),
        TEST(an_update_to_blocked_closes_all),
        TEST(a_forked_child_leaves_the_network_alone),
        TEST(an_update_under_load_loses_and_lets_through_nothing),
        TEST(a_callback_answers_at_once),
        TEST(an_answer_may_come_later_and_is_shared),
        TEST(a_manager_without_a_thread_serves_the_network),
        TEST(the_exec_form_has_a_network),
        TEST(without_its_program_nothing_is_reached_and_the_result_says_why),
        TEST(a_process_may_outlive_its_manager),
    };

    return cmocka_run_group_tests_name("net_run", tests, start_server, NULL);
}
