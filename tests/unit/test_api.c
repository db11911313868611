/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public header, with real sandboxes: states and misuse, results, streams and their limits,
 * time, terminals. After each test nothing is left: descriptors, children, files.
 */
#include "lib/api_case.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>

/* ---- results ------------------------------------------------------------------------------------
 */

static void exit_statuses_are_exact(void **state)
{
    for (int code = 0; code < 256; code += code < 8 ? 1 : 31) {
        char text[32];

        (void)snprintf(text, sizeof text, "exit %d", code);
        abx_result *r = api_run(*state, api_shell(*state, text));
        assert_int_equal(abx_result_exit_code(r), code);
        assert_int_equal(abx_result_signal(r), 0);
        assert_int_equal(abx_result_timed_out(r), 0);
        assert_int_equal(abx_result_canceled(r), 0);
        abx_result_free(r);
    }
}

static void every_ending_signal_is_exact(void **state)
{
    for (int n = 1; n < 32; n++) {
        char text[64];

        if (n == SIGCHLD || n == SIGCONT || n == SIGURG || n == SIGWINCH || n == SIGSTOP ||
            n == SIGTSTP || n == SIGTTIN || n == SIGTTOU)
            continue;
        (void)snprintf(text, sizeof text, "ulimit -c 0; kill -%d $$", n);
        abx_result *r = api_run(*state, api_shell(*state, text));
        assert_int_equal(abx_result_signal(r), n);
        assert_int_equal(abx_result_exit_code(r), 128 + n);
        abx_result_free(r);
    }
}

static void a_result_tells_what_was_enforced(void **state)
{
    abx_result *r = api_run(*state, api_shell(*state, "echo out; echo err >&2"));
    bool mounts = false, landlock = false, seccomp = false;
    abx_error *e = NULL;
    char *json;
    size_t len;

    for (const char *const *name = abx_result_enforced(r); *name; name++) {
        mounts |= strcmp(*name, "mounts") == 0;
        landlock |= strcmp(*name, "landlock") == 0;
        seccomp |= strcmp(*name, "seccomp") == 0;
    }
    assert_true(mounts && landlock && seccomp);
    assert_int_equal(abx_result_sandboxed(r), 1);
    assert_string_equal(abx_result_backend(r), "native");
    assert_string_equal(abx_result_stdout(r, &len), "out\n");
    assert_int_equal(len, 4);
    assert_string_equal(abx_result_stderr(r, NULL), "err\n");
    assert_true(abx_result_duration_ns(r) > 0);
    assert_true(abx_result_max_rss_bytes(r) > 0);
    api_ok(abx_result_json(r, &json, &e), &e);
    assert_non_null(strstr(json, "\"exitCode\""));
    assert_non_null(strstr(json, "\"sandboxed\""));
    abx_free(json);
    abx_result_free(r);
}

static void a_missing_program_is_an_exec_error(void **state)
{
    const struct api_case *c = *state;
    const char *argv[] = { "/no/such/program", NULL };
    abx_command *command;
    abx_result *r = NULL;
    abx_error *e = NULL;

    api_ok(abx_command_new(argv, &command, &e), &e);
    api_ok(abx_command_set_cwd(command, c->dir, &e), &e);
    int32_t code = abx_manager_run(c->manager, command, &r, &e);
    assert_int_equal(abx_error_errno(e), ENOENT);
    api_fails(code, ABX_E_EXEC, &e);
    assert_null(r);
    abx_command_free(command);
}

static void a_timeout_ends_the_whole_tree(void **state)
{
    abx_command *command = api_shell(*state, "trap '' TERM; setsid sleep 500 & sleep 500");
    abx_error *e = NULL;
    int64_t start = api_now_ms();

    api_ok(abx_command_set_timeout(command, 200, &e), &e);
    abx_result *r = api_run(*state, command);
    assert_int_equal(abx_result_exit_code(r), 124);
    assert_int_equal(abx_result_timed_out(r), 1);
    assert_in_range(api_now_ms() - start, 190, 10000);
    abx_result_free(r);
}

static void one_shots_need_no_manager(void **state)
{
    const char *argv[] = { "printf", "%s", "two words", NULL };
    abx_result *r;
    abx_error *e = NULL;
    char cwd[4096];

    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(((struct api_case *)*state)->dir), 0);
    api_ok(abx_exec("echo $((40 + 2)); exit 3", &r, &e), &e);
    assert_string_equal(abx_result_stdout(r, NULL), "42\n");
    assert_int_equal(abx_result_exit_code(r), 3);
    abx_result_free(r);
    api_ok(abx_exec_args(argv, &r, &e), &e);
    assert_string_equal(abx_result_stdout(r, NULL), "two words");
    abx_result_free(r);
    assert_int_equal(chdir(cwd), 0);
}

/* ---- capture
 * -------------------------------------------------------------------------------------- */

static void capture_is_bounded_at_exactly_the_limit(void **state)
{
    static const struct {
        const char *limit;
        int bytes;
        size_t kept;
        bool truncated;
    } table[] = {
        { "1000", 999, 999, false },
        { "1000", 1000, 1000, false },
        { "1000", 1001, 1000, true },
        { "1", 0, 0, false },
        { "1", 1, 1, false },
        { "1", 2, 1, true },
        { "65536", 65536, 65536, false },
        { "65536", 65537, 65536, true },
        { "65537", 300000, 65537, true },
        { "0", 300000, 300000, false },
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[128];
        abx_error *e = NULL;
        size_t len;

        (void)snprintf(text, sizeof text, "head -c %d /dev/zero; head -c %d /dev/zero >&2",
                       table[i].bytes, table[i].bytes);
        abx_command *command = api_shell(*state, text);
        api_ok(abx_command_set_string(command, "maxOutputBytes", table[i].limit, &e), &e);
        abx_result *r = api_run(*state, command);
        for (int32_t stream = 1; stream < 3; stream++) {
            const char *bytes = stream == 1 ? abx_result_stdout(r, &len)
                                            : abx_result_stderr(r, &len);
            assert_int_equal(len, table[i].kept);
            assert_int_equal(bytes[len], '\0');
            assert_int_equal(abx_result_truncated(r, stream), table[i].truncated);
            assert_int_equal(abx_result_output_bytes(r, stream), table[i].bytes);
        }
        assert_int_equal(abx_result_violations(r), table[i].truncated ? 2 : 0);
        for (size_t v = 0; v < abx_result_violations(r); v++) {
            const abx_violation *limit = abx_result_violation(r, v);

            assert_string_equal(abx_violation_rule(limit), "maxOutputBytes");
            assert_string_equal(abx_violation_grant(limit), "--max-output 0");
            assert_string_equal(abx_violation_detail(limit),
                                v == 0 ? "standard output" : "standard error");
        }
        abx_result_free(r);
    }
}

static void large_output_on_both_streams_does_not_deadlock(void **state)
{
    abx_command *command = api_shell(
        *state,
        "for n in 1 2 3 4; do head -c 4000000 /dev/zero; head -c 4000000 /dev/zero >&2; done");
    abx_error *e = NULL;
    size_t len;

    api_ok(abx_command_set_string(command, "maxOutputBytes", "100000", &e), &e);
    abx_result *r = api_run(*state, command);
    assert_int_equal(abx_result_exit_code(r), 0);
    for (int32_t stream = 1; stream < 3; stream++) {
        assert_int_equal(abx_result_output_bytes(r, stream), 16000000);
        assert_int_equal(abx_result_truncated(r, stream), 1);
    }
    (void)abx_result_stdout(r, &len);
    assert_int_equal(len, 100000);
    abx_result_free(r);
}

static void output_of_a_command_that_nobody_waits_for_is_drained(void **state)
{
    abx_command *command = api_shell(*state, "head -c 3000000 /dev/zero; echo done >&2");
    abx_error *e = NULL;

    for (int32_t i = 1; i < 3; i++)
        api_ok(abx_command_set_stdio(command, i, ABX_STDIO_CAPTURE, -1, &e), &e);
    api_ok(abx_command_set_stdio(command, 0, ABX_STDIO_NULL, -1, &e), &e);
    abx_process *p = api_spawn(*state, command);
    (void)usleep(300000); /* the manager's own thread reads meanwhile */
    abx_result *r = api_wait(p, 20000);
    assert_int_equal(abx_result_output_bytes(r, 1), 3000000);
    assert_string_equal(abx_result_stderr(r, NULL), "done\n");
    abx_result *again = api_wait(p, 0);
    assert_int_equal(abx_result_output_bytes(again, 1), 3000000);
    abx_result_free(again);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
}

struct streamed {
    uint64_t bytes[3];
    unsigned calls;
    bool early;
};

static void on_output(void *user, int32_t stream, const char *bytes, size_t len)
{
    struct streamed *s = user;

    assert_in_range(stream, 1, 2);
    assert_non_null(bytes);
    s->early |= len >= 5 && memcmp(bytes, "first", 5) == 0;
    s->bytes[stream] += len;
    s->calls++;
}

static void output_streams_as_it_comes_also_beyond_the_limit(void **state)
{
    abx_command *command = api_shell(*state,
                                     "echo first; sleep 0.2; head -c 200000 /dev/zero; echo e >&2");
    struct streamed s = { 0 };
    abx_error *e = NULL;

    api_ok(abx_command_set_output(command, on_output, &s, &e), &e);
    api_ok(abx_command_set_string(command, "maxOutputBytes", "10", &e), &e);
    abx_result *r = api_run(*state, command);
    assert_true(s.early && s.calls > 2);
    assert_int_equal(s.bytes[1], 200006);
    assert_int_equal(s.bytes[2], 2);
    assert_int_equal(abx_result_truncated(r, 1), 1);
    assert_int_equal(abx_result_truncated(r, 2), 0);
    abx_result_free(r);
}

static void output_for_the_callback_alone_is_not_kept(void **state)
{
    abx_command *command = api_shell(*state, "head -c 200000 /dev/zero; echo e >&2");
    struct streamed s = { 0 };
    abx_error *e = NULL;
    size_t len = 1;

    api_ok(abx_command_set_output(command, on_output, &s, &e), &e);
    api_ok(abx_command_set_string(command, "maxOutputBytes", "10", &e), &e);
    for (int32_t i = 1; i < 3; i++)
        api_ok(abx_command_set_stdio(command, i, ABX_STDIO_STREAM, -1, &e), &e);
    assert_int_equal(abx_command_set_stdio(command, 0, ABX_STDIO_STREAM, -1, &e), ABX_E_INVALID);
    abx_error_free(e);
    abx_result *r = api_run(*state, command);
    assert_int_equal(s.bytes[1], 200000);
    assert_int_equal(s.bytes[2], 2);
    assert_string_equal(abx_result_stdout(r, &len), "");
    assert_int_equal(len, 0);
    assert_int_equal(abx_result_output_bytes(r, 1), 200000);
    assert_int_equal(abx_result_truncated(r, 1), 1);
    assert_int_equal(abx_result_truncated(r, 2), 0);
    abx_result_free(r);
}

/* ---- streams
 * ----------------------------------------------------------------------------------------- */

static void streams_may_be_descriptors_of_the_caller(void **state)
{
    abx_command *command = api_shell(*state, "cat; echo to-err >&2");
    int in[2], out[2];
    char text[64] = "";
    abx_error *e = NULL;

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    api_ok(abx_command_set_stdio(command, 0, ABX_STDIO_FD, in[0], &e), &e);
    api_ok(abx_command_set_stdio(command, 1, ABX_STDIO_FD, out[1], &e), &e);
    api_ok(abx_command_set_stdio(command, 2, ABX_STDIO_FD, out[1], &e), &e);
    abx_process *p = api_spawn(*state, command);
    (void)close(in[0]);
    (void)close(out[1]);
    assert_int_equal(write(in[1], "given\n", 6), 6);
    (void)close(in[1]);
    abx_result *r = api_wait(p, 20000);
    assert_int_equal(abx_result_exit_code(r), 0);
    assert_null(abx_result_stdout(r, NULL));
    assert_int_equal(read(out[0], text, sizeof text - 1), 13);
    assert_string_equal(text, "given\nto-err\n");
    (void)close(out[0]);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
}

/* What the terminal inside shows, up to that word. */
static void read_screen(int tty, const char *word, char *text, size_t room)
{
    size_t used = 0;

    text[0] = '\0';
    while (!strstr(text, word) && used < room - 1) {
        struct pollfd fd = { .fd = tty, .events = POLLIN };
        assert_int_equal(poll(&fd, 1, 10000), 1);
        ssize_t n = read(tty, text + used, room - 1 - used);
        assert_true(n > 0);
        used += (size_t)n;
        text[used] = '\0';
    }
}

static void a_terminal_inside_has_its_other_end_here(void **state)
{
    const struct api_case *c = *state;
    abx_command *command = api_shell(c, "tty; stty size; read x; echo \"got $x\"; exit 5");
    struct winsize size = { .ws_row = 31, .ws_col = 77 };
    char text[1024];
    abx_error *e = NULL;

    for (int32_t i = 0; i < 3; i++)
        api_ok(abx_command_set_stdio(command, i, ABX_STDIO_TTY, -1, &e), &e);
    abx_process *p = api_spawn(c, command);
    int tty = abx_process_tty_fd(p);
    assert_true(tty >= 0);
    assert_int_equal(ioctl(tty, TIOCSWINSZ, &size), 0);
    assert_int_equal(write(tty, "hello\n", 6), 6);
    read_screen(tty, "got hello", text, sizeof text);
    assert_non_null(strstr(text, "/dev/pts/"));
    abx_result *r = api_wait(p, 20000);
    assert_int_equal(abx_result_exit_code(r), 5);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
}

static void only_streams_that_say_so_are_the_terminal(void **state)
{
    const struct api_case *c = *state;
    abx_command *command = api_shell(
        c, "for n in 0 1 2; do [ -t $n ] && echo \"<$n>\" >&2; done; read x; exit 5");
    char text[256];
    abx_error *e = NULL;

    api_ok(abx_command_set_stdio(command, STDIN_FILENO, ABX_STDIO_NULL, -1, &e), &e);
    api_ok(abx_command_set_stdio(command, STDOUT_FILENO, ABX_STDIO_CAPTURE, -1, &e), &e);
    api_ok(abx_command_set_stdio(command, STDERR_FILENO, ABX_STDIO_TTY, -1, &e), &e);
    abx_process *p = api_spawn(c, command);
    const int tty = abx_process_tty_fd(p);
    assert_true(tty >= 0);
    read_screen(tty, "<2>", text, sizeof text);
    assert_null(strstr(text, "<0>"));
    assert_null(strstr(text, "<1>"));
    abx_result *r = api_wait(p, 20000);
    assert_int_equal(abx_result_exit_code(r), 5);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
}

/* ---- processes
 * ------------------------------------------------------------------------------------- */

static void waiting_has_a_limit_that_leaves_the_process_running(void **state)
{
    abx_command *command = api_shell(*state, "sleep 500");
    abx_process *p = api_spawn(*state, command);
    abx_result *r = NULL;
    abx_error *e = NULL;

    assert_true(abx_process_pid(p) > 1);
    assert_int_equal(abx_process_tty_fd(p), -1);
    api_fails(abx_process_wait(p, 0, &r, &e), ABX_E_TIMEOUT, &e);
    api_fails(abx_process_wait(p, 100, &r, &e), ABX_E_TIMEOUT, &e);
    assert_null(r);
    api_fails(abx_process_signal(p, 0, &e), ABX_E_INVALID, &e);
    api_fails(abx_process_signal(p, 65, &e), ABX_E_INVALID, &e);
    api_ok(abx_process_signal(p, SIGTERM, &e), &e);
    r = api_wait(p, 20000);
    assert_int_equal(abx_result_signal(r), SIGTERM);
    api_ok(abx_process_signal(p, SIGTERM, &e), &e); /* of no use any more, and no harm */
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
}

static void a_stop_is_seen_and_undone(void **state)
{
    abx_command *command = api_shell(*state, "kill -STOP $$; exit 12");
    abx_process *p = api_spawn(*state, command);
    abx_error *e = NULL;
    int64_t end = api_now_ms() + 10000;

    while (abx_process_stopped(p) == 0 && api_now_ms() < end)
        (void)usleep(5000);
    assert_int_equal(abx_process_stopped(p), SIGSTOP);
    api_ok(abx_process_signal(p, SIGCONT, &e), &e);
    abx_result *r = api_wait(p, 20000);
    assert_int_equal(abx_result_exit_code(r), 12);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
}

static void freeing_a_process_ends_it(void **state)
{
    abx_command *command = api_shell(*state, "trap '' TERM HUP INT; setsid sleep 500 & sleep 500");
    abx_process *p = api_spawn(*state, command);
    int keeper = abx_process_pid(p);
    abx_error *e = NULL;
    int64_t start = api_now_ms();

    abx_process_free(p);
    abx_command_free(command);
    assert_in_range(api_now_ms() - start, 0, 5000);
    api_ok(abx_manager_close(((struct api_case *)*state)->manager, 5000, &e), &e);
    assert_int_equal(kill(keeper, 0), -1);
}

/* ---- misuse
 * ---------------------------------------------------------------------------------------- */

static void misuse_is_answered_not_run(void **state)
{
    const struct api_case *c = *state;
    const char *none[] = { NULL }, *empty[] = { "", NULL };
    abx_command *command = NULL;
    abx_manager *m = NULL;
    abx_result *r = NULL;
    abx_process *p = NULL;
    abx_error *e = NULL;

    api_fails(abx_command_new(NULL, &command, &e), ABX_E_INVALID, &e);
    api_fails(abx_command_new(none, &command, &e), ABX_E_INVALID, &e);
    api_fails(abx_command_new(empty, &command, &e), ABX_E_INVALID, &e);
    api_fails(abx_command_new_shell("", &command, &e), ABX_E_INVALID, &e);
    api_fails(abx_manager_new(NULL, NULL, NULL, &e), ABX_E_INVALID, &e);
    api_fails(abx_manager_run(NULL, NULL, &r, &e), ABX_E_INVALID, &e);
    api_fails(abx_manager_spawn(c->manager, NULL, &p, &e), ABX_E_INVALID, &e);
    assert_int_equal(abx_manager_run(NULL, NULL, &r, NULL), ABX_E_INVALID);
    assert_null(command);

    abx_hooks hooks = { .size = 1 };
    api_fails(abx_manager_new(NULL, &hooks, &m, &e), ABX_E_INVALID, &e);
    command = api_shell(c, "true");
    api_fails(abx_command_set_timeout(command, -1, &e), ABX_E_INVALID, &e);
    api_fails(abx_command_set_stdio(command, 3, ABX_STDIO_NULL, -1, &e), ABX_E_INVALID, &e);
    api_fails(abx_command_set_stdio(command, 0, ABX_STDIO_CAPTURE, -1, &e), ABX_E_INVALID, &e);
    api_fails(abx_command_set_stdio(command, 1, ABX_STDIO_FD, -1, &e), ABX_E_INVALID, &e);
    api_fails(abx_command_set_stdio(command, 1, 99, -1, &e), ABX_E_INVALID, &e);
    api_fails(abx_command_set_string(command, "no.such.key", "1", &e), ABX_E_CONFIG, &e);
    api_fails(abx_command_set_string(command, "maxOutputBytes", "many", &e), ABX_E_CONFIG, &e);
    api_fails(abx_manager_run(NULL, command, &r, &e), ABX_E_INVALID, &e);
    abx_command_free(command);
    abx_process_free(NULL);
    abx_command_cancel(NULL);
}

static void each_state_allows_its_own_calls_only(void **state)
{
    const struct api_case *c = *state;
    abx_command *command = api_shell(c, "exit 6");
    const abx_exec_form *form = NULL;
    abx_process *p = NULL;
    abx_result *r = NULL;
    abx_error *e = NULL;
    char *text = NULL;

    api_fails(abx_command_spawn(command, &p, &e), ABX_E_STATE, &e);
    api_fails(abx_command_plan(command, "text", &text, &e), ABX_E_STATE, &e);
    api_fails(abx_command_exec_form(command, &form, &e), ABX_E_STATE, &e);
    api_ok(abx_manager_wrap(c->manager, command, &e), &e);
    api_fails(abx_manager_wrap(c->manager, command, &e), ABX_E_STATE, &e);
    api_fails(abx_command_set_cwd(command, "/", &e), ABX_E_STATE, &e);
    api_fails(abx_command_set_timeout(command, 1, &e), ABX_E_STATE, &e);
    api_fails(abx_command_append(command, "filesystem.rw", "/", &e), ABX_E_STATE, &e);
    api_ok(abx_command_plan(command, "json", &text, &e), &e);
    assert_non_null(strstr(text, c->dir));
    abx_free(text);
    text = NULL;
    assert_int_not_equal(abx_command_plan(command, "poem", &text, &e), ABX_OK);
    abx_error_free(e);
    e = NULL;
    api_ok(abx_command_spawn(command, &p, &e), &e);
    r = api_wait(p, 20000);
    assert_int_equal(abx_result_exit_code(r), 6);
    abx_result_free(r);
    abx_process *other = NULL;
    api_fails(abx_command_spawn(command, &other, &e), ABX_E_STATE, &e);
    api_fails(abx_manager_run(c->manager, command, &r, &e), ABX_E_STATE, &e);
    api_fails(abx_command_exec_form(command, &form, &e), ABX_E_STATE, &e);
    abx_process_free(p);
    abx_command_free(command);
}

static void a_forked_child_may_not_use_the_parents_objects(void **state)
{
    const struct api_case *c = *state;
    abx_command *command = api_shell(c, "true");
    abx_command *wrapped = api_shell(c, "true"), *running = api_shell(c, "sleep 500");
    abx_process *p = api_spawn(c, running);
    abx_error *e = NULL;

    api_ok(abx_manager_wrap(c->manager, wrapped, &e), &e);
    pid_t pid = fork();
    if (pid == 0) {
        abx_result *r = NULL;
        abx_manager *own = NULL;
        abx_answer *answer = NULL;
        const abx_exec_form *form = NULL;
        char *text = NULL;
        bool good = abx_manager_new(NULL, NULL, &own, NULL) == ABX_OK &&
                    abx_manager_run(own, command, &r, NULL) == ABX_E_FORKED &&
                    abx_manager_wrap(own, command, NULL) == ABX_E_FORKED &&
                    abx_command_set_cwd(command, "/", NULL) == ABX_E_FORKED &&
                    abx_command_plan(wrapped, "text", &text, NULL) == ABX_E_FORKED &&
                    abx_command_explain(wrapped, "read", "/", &answer, NULL) == ABX_E_FORKED &&
                    abx_command_exec_form(wrapped, &form, NULL) == ABX_E_FORKED;
        good = good && abx_manager_run(c->manager, command, &r, NULL) == ABX_E_FORKED &&
               abx_manager_wrap(c->manager, command, NULL) == ABX_E_FORKED &&
               abx_manager_close(c->manager, 0, NULL) == ABX_E_FORKED &&
               abx_process_wait(p, 0, &r, NULL) == ABX_E_FORKED &&
               abx_process_signal(p, SIGKILL, NULL) == ABX_E_FORKED;
        _exit(good ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    abx_result *r = NULL;
    assert_int_equal(abx_process_wait(p, 0, &r, NULL), ABX_E_TIMEOUT); /* still runs */
    abx_process_free(p);
    abx_command_free(running);
    abx_command_free(wrapped);
    abx_command_free(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        API_TEST(exit_statuses_are_exact),
        API_TEST(every_ending_signal_is_exact),
        API_TEST(a_result_tells_what_was_enforced),
        API_TEST(a_missing_program_is_an_exec_error),
        API_TEST(a_timeout_ends_the_whole_tree),
        API_TEST(one_shots_need_no_manager),
        API_TEST(capture_is_bounded_at_exactly_the_limit),
        API_TEST(large_output_on_both_streams_does_not_deadlock),
        API_TEST(output_of_a_command_that_nobody_waits_for_is_drained),
        API_TEST(output_streams_as_it_comes_also_beyond_the_limit),
        API_TEST(output_for_the_callback_alone_is_not_kept),
        API_TEST(streams_may_be_descriptors_of_the_caller),
        API_TEST(a_terminal_inside_has_its_other_end_here),
        API_TEST(only_streams_that_say_so_are_the_terminal),
        API_TEST(waiting_has_a_limit_that_leaves_the_process_running),
        API_TEST(a_stop_is_seen_and_undone),
        API_TEST(freeing_a_process_ends_it),
        API_TEST(misuse_is_answered_not_run),
        API_TEST(each_state_allows_its_own_calls_only),
        API_TEST(a_forked_child_may_not_use_the_parents_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
