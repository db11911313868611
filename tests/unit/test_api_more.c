/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public header, continued: the exec form, signals and orders of freeing that once did harm,
 * forked children, and the parts that need no sandbox: configuration, keys, the report on a host.
 * The inputs are those of whoever found the faults. After each test nothing is left: descriptors,
 * children, files.
 */
#include "lib/api_case.h"

#include <pthread.h>
#include <signal.h>

#define INSIDE_WORD "tell-whether-inside"

/* ---- the exec form ---- */

static void the_exec_form_is_all_that_a_spawn_call_needs(void **state)
{
    static const struct {
        const char *text;
        int code;
    } table[] = {
        { "pwd; exit 0", 0 },
        { "pwd; exit 37", 37 },
        { "pwd; kill -TERM $$", 143 },
        { "pwd; exec /no/such", 127 },
        { "pwd; sleep 500 & exit 1", 1 },
    };
    const struct api_case *c = *state;

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        abx_command *command = api_shell(c, table[i].text);
        const abx_exec_form *form;
        abx_error *e = NULL;
        char text[128] = "";
        int out[2];

        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        api_ok(abx_manager_wrap(c->manager, command, &e), &e);
        api_ok(abx_command_exec_form(command, &form, &e), &e);
        int status = api_spawn_form(form, out[1]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), table[i].code);
        (void)close(out[1]);
        assert_true(read(out[0], text, sizeof text - 1) > 0);
        assert_int_equal(strncmp(text, c->dir, strlen(c->dir)), 0);
        (void)close(out[0]);
        abx_command_free(command);
    }
}

static void an_exec_form_that_is_never_used_leaves_nothing(void **state)
{
    const struct api_case *c = *state;
    abx_command *command = api_shell(c, "true");
    const abx_exec_form *form;
    abx_error *e = NULL;

    api_ok(abx_manager_wrap(c->manager, command, &e), &e);
    api_ok(abx_command_exec_form(command, &form, &e), &e);
    abx_command_free(command);
}

static void *cancel_soon(void *command)
{
    (void)usleep(300000);
    abx_command_cancel(command);
    return NULL;
}

static void an_exec_form_can_be_canceled(void **state)
{
    const struct api_case *c = *state;

    for (int before = 0; before < 2; before++) {
        abx_command *command = api_shell(c, "trap '' TERM; sleep 30; exit 3");
        const abx_exec_form *form;
        abx_error *e = NULL;
        pthread_t thread;

        api_ok(abx_manager_wrap(c->manager, command, &e), &e);
        if (before) {
            abx_command_cancel(command);
            api_fails(abx_command_exec_form(command, &form, &e), ABX_E_CANCELED, &e);
        } else {
            int64_t start = api_now_ms();
            api_ok(abx_command_exec_form(command, &form, &e), &e);
            assert_int_equal(pthread_create(&thread, NULL, cancel_soon, command), 0);
            assert_int_not_equal(api_spawn_form(form, STDOUT_FILENO), 0);
            assert_int_equal(pthread_join(thread, NULL), 0);
            assert_in_range(api_now_ms() - start, 0, 20000);
        }
        abx_command_free(command);
    }
}

static void a_closed_manager_wraps_nothing_and_gives_no_form(void **state)
{
    const struct api_case *c = *state;
    abx_command *command = api_shell(c, "true"), *late = api_shell(c, "true");
    const abx_exec_form *form;
    abx_error *e = NULL;

    api_ok(abx_manager_wrap(c->manager, command, &e), &e);
    api_ok(abx_manager_close(c->manager, 1000, &e), &e);
    api_fails(abx_command_exec_form(command, &form, &e), ABX_E_CLOSED, &e);
    api_fails(abx_manager_wrap(c->manager, late, &e), ABX_E_CLOSED, &e);
    abx_command_free(command);
    abx_command_free(late);
}

/*
 * Nobody reads the status of such a run. A command that is stopped and continued without end must
 * not fill the socket, so that pid 1 would wait for room and its clock would stand still.
 */
static void a_storm_of_stops_does_not_switch_the_time_limit_off(void **state)
{
    const struct api_case *c = *state;
    static const char text[] = "p=$$; (i=0; while [ $i -lt 4000 ]; do kill -STOP $p; sleep 0.001; "
                               "kill -CONT $p; sleep 0.001; i=$((i+1)); done) & exec sleep 20";
    abx_command *command = api_shell(c, text);
    const abx_exec_form *form;
    abx_error *e = NULL;
    int64_t start = api_now_ms();

    api_ok(abx_command_set_timeout(command, 4000, &e), &e);
    api_ok(abx_command_set_string(command, "graceSeconds", "0", &e), &e);
    api_ok(abx_manager_wrap(c->manager, command, &e), &e);
    api_ok(abx_command_exec_form(command, &form, &e), &e);
    (void)alarm(30); /* one that never ends ends this test */
    int status = api_spawn_form(form, STDOUT_FILENO);
    (void)alarm(0);
    assert_in_range(api_now_ms() - start, 3500, 12000);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 124);
    abx_command_free(command);
}

/* ---- signals ---- */

static void a_kill_gives_a_result(void **state)
{
    abx_command *command = api_shell(*state, "trap '' TERM HUP INT; setsid sleep 500 & sleep 500");
    abx_process *p = api_spawn(*state, command);
    abx_error *e = NULL;

    api_ok(abx_process_signal(p, SIGKILL, &e), &e);
    abx_result *r = api_wait(p, 10000);
    assert_int_equal(abx_result_signal(r), SIGKILL);
    assert_int_equal(abx_result_exit_code(r), 128 + SIGKILL);
    assert_int_equal(abx_result_timed_out(r), 0);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
}

static void wait_for_stop(abx_process *p, bool stopped)
{
    int64_t end = api_now_ms() + 10000;

    while ((abx_process_stopped(p) != 0) != stopped && api_now_ms() < end)
        (void)usleep(5000);
    assert_int_equal(abx_process_stopped(p) != 0, stopped);
}

static void a_stop_stops_the_command_and_not_the_keeper(void **state)
{
    abx_command *command = api_shell(*state, "read -r line; exit 5");
    abx_result *r = NULL;
    abx_error *e = NULL;
    int in[2];

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    api_ok(abx_command_set_stdio(command, 0, ABX_STDIO_FD, in[0], &e), &e);
    abx_process *p = api_spawn(*state, command);
    for (int i = 0; i < 3; i++) {
        api_ok(abx_process_signal(p, SIGSTOP, &e), &e);
        wait_for_stop(p, true);
        if (i == 2) /* what it waits for is there, but it does not run */
            assert_int_equal(write(in[1], "\n", 1), 1);
        api_fails(abx_process_wait(p, 100, &r, &e), ABX_E_TIMEOUT, &e);
        api_ok(abx_process_signal(p, SIGCONT, &e), &e);
        if (i < 2)
            wait_for_stop(p, false);
    }
    r = api_wait(p, 10000);
    assert_int_equal(abx_result_exit_code(r), 5);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
    (void)close(in[0]);
    (void)close(in[1]);
}

/* The teardown finds the keeper, if the stop reached it. */
static void a_stopped_command_can_be_left_alone(void **state)
{
    /* exec: a shell that is stopped in the middle of its vfork() would not count as stopped. */
    abx_command *command = api_shell(*state, "exec sleep 500");
    abx_process *p = api_spawn(*state, command);
    abx_error *e = NULL;
    int64_t start = api_now_ms();

    api_ok(abx_process_signal(p, SIGSTOP, &e), &e);
    wait_for_stop(p, true);
    abx_process_free(p);
    abx_command_free(command);
    api_ok(abx_manager_close(((struct api_case *)*state)->manager, 5000, &e), &e);
    assert_in_range(api_now_ms() - start, 0, 15000);
}

/* ---- orders of freeing, and forks ---- */

static void a_command_may_be_freed_before_its_process(void **state)
{
    abx_command *running = api_shell(*state, "sleep 500");
    abx_process *p = api_spawn(*state, running);
    abx_command *short_one = api_shell(*state, "exit 3");
    abx_process *q = api_spawn(*state, short_one);

    abx_command_free(short_one);
    abx_command_free(running);
    abx_result *r = api_wait(q, 10000);
    assert_int_equal(abx_result_exit_code(r), 3);
    abx_result_free(r);
    abx_process_free(q);
    abx_process_free(p);
}

enum in_child {
    CHILD_CANCELS,
    CHILD_FREES_PROCESS,
    CHILD_FREES_COMMAND,
    CHILD_FREES_ALL,
    CHILD_FREES_MANAGER /* the handles that are left are the parent's as before */
};

static void do_harm(struct api_case *c, abx_command *command, abx_process *p, enum in_child what)
{
    (void)alarm(10); /* a child that hangs is ended, and seen by its status */
    if (what == CHILD_CANCELS || what == CHILD_FREES_ALL)
        abx_command_cancel(command);
    if (what == CHILD_FREES_PROCESS || what == CHILD_FREES_ALL)
        abx_process_free(p);
    if (what == CHILD_FREES_COMMAND || what == CHILD_FREES_ALL)
        abx_command_free(command);
    if (what == CHILD_FREES_ALL || what == CHILD_FREES_MANAGER)
        abx_manager_free(c->manager);
    if (what == CHILD_FREES_MANAGER && abx_process_signal(p, SIGTERM, NULL) != ABX_E_FORKED)
        _exit(1);
    if (what == CHILD_FREES_MANAGER)
        abx_process_free(p);
    _exit(0);
}

static void a_forked_child_that_frees_and_cancels_does_no_harm(void **state)
{
    struct api_case *c = *state;

    for (enum in_child what = CHILD_CANCELS; what <= CHILD_FREES_MANAGER; what++) {
        abx_command *command = api_shell(c, "read -r line; exit 9");
        abx_error *e = NULL;
        int in[2], status = -1;

        assert_int_equal(pipe2(in, O_CLOEXEC), 0);
        api_ok(abx_command_set_stdio(command, 0, ABX_STDIO_FD, in[0], &e), &e);
        abx_process *p = api_spawn(c, command);
        pid_t pid = fork();
        if (pid == 0)
            do_harm(c, command, p, what);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        abx_result *r = NULL;
        assert_int_equal(abx_process_wait(p, 200, &r, NULL), ABX_E_TIMEOUT);
        assert_int_equal(write(in[1], "\n", 1), 1);
        r = api_wait(p, 10000);
        assert_int_equal(abx_result_exit_code(r), 9);
        assert_int_equal(abx_result_canceled(r), 0);
        abx_result_free(r);
        abx_process_free(p);
        abx_command_free(command);
        (void)close(in[0]);
        (void)close(in[1]);
    }
}

/* ---- environment, usage, inside ---- */

static void an_environment_of_its_own_replaces_the_callers(void **state)
{
    static const char *const env[] = { "GIVEN=yes", "PATH=/usr/bin:/bin", NULL };
    abx_command *command = api_shell(*state, "echo \"$GIVEN:$FROM_THE_CALLER\"");
    abx_error *e = NULL;

    assert_int_equal(setenv("FROM_THE_CALLER", "no", 1), 0);
    api_fails(abx_command_set_env(NULL, env, &e), ABX_E_INVALID, &e);
    api_ok(abx_command_set_env(command, env, &e), &e);
    abx_result *r = api_run(*state, command);
    assert_string_equal(abx_result_stdout(r, NULL), "yes:\n");
    abx_result_free(r);
    command = api_shell(*state, "echo \"$FROM_THE_CALLER\"");
    r = api_run(*state, command);
    assert_string_equal(abx_result_stdout(r, NULL), "no\n");
    abx_result_free(r);
    assert_int_equal(unsetenv("FROM_THE_CALLER"), 0);
}

static void a_result_counts_the_time_in_user_and_system_mode(void **state)
{
    abx_command *command = api_shell(*state, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; "
                                             "head -c 300000000 /dev/zero >/dev/null");
    abx_result *r = api_run(*state, command);

    assert_int_equal(abx_result_exit_code(r), 0);
    assert_true(abx_result_user_ns(r) > INT64_C(5000000));
    assert_true(abx_result_system_ns(r) > INT64_C(1000000));
    assert_true(abx_result_system_ns(r) < INT64_C(60) * 1000000000);
    abx_result_free(r);
    assert_int_equal(abx_result_user_ns(NULL), 0);
    assert_int_equal(abx_result_system_ns(NULL), 0);
}

static void a_process_knows_whether_it_is_inside(void **state)
{
    const struct api_case *c = *state;
    char self[4096] = "";
    const char *argv[] = { self, INSIDE_WORD, NULL };
    abx_command *command = NULL;
    abx_error *e = NULL;

    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    assert_int_equal(abx_inside(), 0);
    api_ok(abx_command_new(argv, &command, &e), &e);
    api_ok(abx_command_set_cwd(command, c->dir, &e), &e);
    api_ok(abx_command_append(command, "filesystem.ro", self, &e), &e);
    api_ok(abx_command_set_string(command, "resourceLimits.maxMemoryBytes", "0", &e), &e);
    abx_result *r = api_run(c, command);
    if (abx_result_exit_code(r) != 41)
        (void)fprintf(stderr, "# %s\n", abx_result_stderr(r, NULL));
    assert_int_equal(abx_result_exit_code(r), 41);
    abx_result_free(r);
}

/* ---- configuration and keys ---- */

static void a_configuration_is_checked_at_once(void **state)
{
    static const struct {
        const char *key, *value;
        bool append;
    } wrong[] = {
        { "no.such.key", "1", false },
        { "no.such.key", "1", true },
        { "network.mode", "bogus", false },
        { "allowNestedNamespaces", "maybe", false },
        { "maxOutputBytes", "many", false },
        { "network.mod", "blocked", false },
        { "", "", false },
    };
    abx_config *config = NULL;
    abx_error *e = NULL;

    (void)state;
    api_fails(abx_config_new(NULL, &e), ABX_E_INVALID, &e);
    api_ok(abx_config_new(&config, &e), &e);
    api_fails(abx_config_set_string(NULL, "shell", "/bin/sh", &e), ABX_E_INVALID, &e);
    api_fails(abx_config_set_string(config, NULL, "/bin/sh", &e), ABX_E_INVALID, &e);
    api_fails(abx_config_append(config, "filesystem.rw", NULL, &e), ABX_E_INVALID, &e);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int32_t code = wrong[i].append
                           ? abx_config_append(config, wrong[i].key, wrong[i].value, &e)
                           : abx_config_set_string(config, wrong[i].key, wrong[i].value, &e);
        api_fails(code, ABX_E_CONFIG, &e);
    }
    api_fails(abx_config_append(config, "network.mode", "blocked", &e), ABX_E_INVALID, &e);
    api_fails(abx_config_set_string(config, "filesystem.rw", "/x", &e), ABX_E_INVALID, &e);
    abx_config_free(config);
    abx_config_free(NULL);
}

static void a_manager_copies_its_configuration(void **state)
{
    const struct api_case *c = *state;
    abx_config *config = NULL;
    abx_manager *m = NULL;
    abx_error *e = NULL;
    abx_result *r = NULL;

    api_ok(abx_config_new(&config, &e), &e);
    api_ok(abx_config_set_string(config, "maxOutputBytes", "4", &e), &e);
    api_ok(abx_config_append(config, "environment.set", "FROM_CONFIG=12345678", &e), &e);
    api_ok(abx_manager_new(config, NULL, &m, &e), &e);
    api_ok(abx_config_set_string(config, "maxOutputBytes", "100", &e), &e); /* too late for m */
    abx_config_free(config);
    abx_command *command = api_shell(c, "printf %s \"$FROM_CONFIG\"");
    api_ok(abx_manager_run(m, command, &r, &e), &e);
    assert_string_equal(abx_result_stdout(r, NULL), "1234");
    assert_int_equal(abx_result_truncated(r, 1), 1);
    assert_int_equal(abx_result_output_bytes(r, 1), 8);
    abx_result_free(r);
    abx_command_free(command);
    abx_manager_free(m);
}

static void every_key_has_a_name_in_order_and_a_help(void **state)
{
    const char *last = "", *name;
    size_t count = 0;

    (void)state;
    for (; (name = abx_key_name(count)) != NULL; last = name, count++) {
        assert_true(strcmp(last, name) < 0);
        assert_non_null(abx_key_help(count));
        assert_true(abx_key_help(count)[0] != '\0');
    }
    assert_in_range(count, 10, 1000);
    assert_null(abx_key_help(count));
    assert_null(abx_key_name(SIZE_MAX));
    assert_null(abx_key_help(SIZE_MAX));
}

/* ---- hooks, and what the host can do ---- */

static void count_free(void *user)
{
    ++*(int *)user;
}

static void the_hooks_user_is_freed_once_also_on_failure(void **state)
{
    abx_hooks hooks;
    abx_manager *m = NULL;
    abx_error *e = NULL;
    int freed = 0;

    (void)state;
    abx_hooks_init(&hooks, sizeof hooks);
    hooks.user = &freed;
    hooks.user_free = count_free;
    api_fails(abx_manager_new(NULL, &hooks, NULL, &e), ABX_E_INVALID, &e);
    assert_int_equal(freed, 1);
    hooks.flags = 1u << 31;
    api_fails(abx_manager_new(NULL, &hooks, &m, &e), ABX_E_INVALID, &e);
    assert_int_equal(freed, 2);
    hooks.flags = 0;
    api_ok(abx_manager_new(NULL, &hooks, &m, &e), &e);
    assert_int_equal(freed, 2);
    abx_manager_free(m);
    assert_int_equal(freed, 3);
}

static void a_report_names_each_layer_and_what_to_do(void **state)
{
    abx_error *e = NULL;

    (void)state;
    api_fails(abx_probe(0, NULL, &e), ABX_E_INVALID, &e);
    for (int32_t refresh = 0; refresh <= 1; refresh++) {
        abx_report *report = NULL;
        char *text = NULL;

        api_ok(abx_probe(refresh, &report, &e), &e);
        assert_string_equal(abx_report_backend(report), "native");
        size_t layers = abx_report_layers(report);
        assert_in_range(layers, 5, 64);
        api_ok(abx_report_json(report, &text, &e), &e);
        for (size_t i = 0; i < layers; i++) {
            int32_t status = abx_report_layer_status(report, i);
            assert_in_range(status, ABX_STATUS_OK, ABX_STATUS_MISSING);
            assert_non_null(strstr(text, abx_report_layer_name(report, i)));
            assert_true(abx_report_layer_name(report, i)[0] != '\0');
            assert_true(abx_report_layer_detail(report, i)[0] != '\0');
            assert_true(status != ABX_STATUS_MISSING || abx_report_layer_hint(report, i)[0]);
        }
        assert_string_equal(abx_report_layer_name(report, layers), "");
        assert_string_equal(abx_report_layer_detail(report, layers), "");
        assert_string_equal(abx_report_layer_hint(report, SIZE_MAX), "");
        assert_int_equal(abx_report_layer_status(report, layers), ABX_STATUS_MISSING);
        abx_free(text);
        abx_report_free(report);
    }
    abx_report_free(NULL);
    assert_string_equal(abx_report_backend(NULL), "none");
    assert_int_equal(abx_report_layers(NULL), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        API_TEST(the_exec_form_is_all_that_a_spawn_call_needs),
        API_TEST(an_exec_form_that_is_never_used_leaves_nothing),
        API_TEST(an_exec_form_can_be_canceled),
        API_TEST(a_closed_manager_wraps_nothing_and_gives_no_form),
        API_TEST(a_storm_of_stops_does_not_switch_the_time_limit_off),
        API_TEST(a_kill_gives_a_result),
        API_TEST(a_stop_stops_the_command_and_not_the_keeper),
        API_TEST(a_stopped_command_can_be_left_alone),
        API_TEST(a_command_may_be_freed_before_its_process),
        API_TEST(a_forked_child_that_frees_and_cancels_does_no_harm),
        API_TEST(an_environment_of_its_own_replaces_the_callers),
        API_TEST(a_result_counts_the_time_in_user_and_system_mode),
        API_TEST(a_process_knows_whether_it_is_inside),
        API_TEST(a_configuration_is_checked_at_once),
        API_TEST(a_manager_copies_its_configuration),
        API_TEST(every_key_has_a_name_in_order_and_a_help),
        API_TEST(the_hooks_user_is_freed_once_also_on_failure),
        API_TEST(a_report_names_each_layer_and_what_to_do),
    };

    if (argc == 2 && strcmp(argv[1], INSIDE_WORD) == 0)
        _exit(abx_inside() ? 41 : 40);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
