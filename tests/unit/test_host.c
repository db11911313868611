/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that are hard on the library: callbacks that take their time or signal their process, forks
 * without an exec at bad moments, streams that are closed late, no threads.
 */
#include "lib/api_case.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define PATIENCE_SECONDS 20

/* A child that has a copy of every descriptor, and does nothing. */
static pid_t fork_copy(void)
{
    pid_t pid = fork();

    if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        for (;;)
            (void)pause();
    return pid;
}

static void end_copy(pid_t pid)
{
    assert_true(pid > 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- callbacks ---- */

/* A command that says something once it was spawned, and somebody who listens. */
struct slow {
    sem_t entered, go;
    abx_command *command;
    abx_process *_Atomic process;
    _Atomic int calls;
};

static void slow_start(struct slow *s, const struct api_case *c, abx_output_fn output)
{
    abx_error *e = NULL;
    int in[2];

    *s = (struct slow){ .command = api_shell(c, "read -r a; echo x; echo y >&2; sleep 500") };
    assert_int_equal(sem_init(&s->entered, 0, 0), 0);
    assert_int_equal(sem_init(&s->go, 0, 0), 0);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    api_ok(abx_command_set_stdio(s->command, 0, ABX_STDIO_FD, in[0], &e), &e);
    for (int32_t i = 1; i < 3; i++)
        api_ok(abx_command_set_stdio(s->command, i, ABX_STDIO_CAPTURE, -1, &e), &e);
    api_ok(abx_command_set_output(s->command, output, s, &e), &e);
    s->process = api_spawn(c, s->command);
    assert_int_equal(write(in[1], "\n", 1), 1);
    (void)close(in[0]);
    (void)close(in[1]);
}

static void slow_end(struct slow *s, abx_result *r)
{
    abx_result_free(r);
    abx_process_free(s->process);
    abx_command_free(s->command);
}

static void wait_for(sem_t *sem)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    (void)sem_timedwait(sem, &until);
}

static void take_time(void *user, int32_t stream, const char *bytes, size_t len)
{
    struct slow *s = user;

    (void)stream;
    (void)bytes;
    (void)len;
    (void)sem_post(&s->entered);
    wait_for(&s->go);
    s->calls++;
}

static void a_slow_callback_holds_up_no_call_on_its_process(void **state)
{
    abx_result *r = NULL;
    abx_error *e = NULL;
    struct slow s;

    slow_start(&s, *state, take_time);
    struct pollfd fd = { .fd = abx_process_fd(s.process), .events = POLLIN };
    wait_for(&s.entered);
    assert_int_equal(poll(&fd, 1, 100), 0); /* there is more, but not for us */
    int64_t start = api_now_ms();
    assert_int_equal(abx_process_wait(s.process, 0, &r, NULL), ABX_E_TIMEOUT);
    assert_int_equal(abx_process_wait(s.process, 100, &r, NULL), ABX_E_TIMEOUT);
    assert_int_equal(abx_process_stopped(s.process), 0);
    api_ok(abx_process_signal(s.process, SIGTERM, &e), &e);
    assert_in_range(api_now_ms() - start, 100, 5000);
    assert_int_equal(s.calls, 0);
    for (int i = 0; i < 2; i++)
        (void)sem_post(&s.go);
    assert_int_equal(poll(&fd, 1, 20000), 1);
    r = api_wait(s.process, 0);
    assert_int_equal(abx_result_signal(r), SIGTERM);
    assert_int_equal(s.calls, 2);
    slow_end(&s, r);
}

static void end_it(void *user, int32_t stream, const char *bytes, size_t len)
{
    struct slow *s = user;
    abx_result *r = NULL;

    (void)stream;
    (void)bytes;
    (void)len;
    if (abx_process_wait(s->process, -1, &r, NULL) == ABX_E_STATE &&
        abx_process_signal(s->process, SIGTERM, NULL) == ABX_OK)
        s->calls++;
}

static void a_callback_may_signal_its_process_but_not_wait_for_it(void **state)
{
    struct slow s;

    (void)alarm(PATIENCE_SECONDS);
    slow_start(&s, *state, end_it);
    abx_result *r = api_wait(s.process, 10000);
    (void)alarm(0);
    assert_int_equal(abx_result_signal(r), SIGTERM);
    assert_true(s.calls > 0);
    slow_end(&s, r);
}

/* ---- forks ---- */

static int64_t used_ms(void)
{
    struct rusage u;

    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * (int64_t)1000 +
           (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

static void a_stream_that_ends_keeps_nobody_busy_although_a_forked_child_has_it(void **state)
{
    const struct api_case *c = *state;
    abx_command *command = api_shell(c, "read -r a; exec >&- 2>&-; touch shut; read -r a; rm shut");
    abx_error *e = NULL;
    char path[128];
    int in[2];

    (void)snprintf(path, sizeof path, "%s/shut", c->dir);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    api_ok(abx_command_set_stdio(command, 0, ABX_STDIO_FD, in[0], &e), &e);
    for (int32_t i = 1; i < 3; i++)
        api_ok(abx_command_set_stdio(command, i, ABX_STDIO_CAPTURE, -1, &e), &e);
    abx_process *p = api_spawn(c, command);
    pid_t copy = fork_copy();
    assert_int_equal(write(in[1], "\n", 1), 1);
    for (int64_t end = api_now_ms() + 10000; access(path, F_OK) < 0 && api_now_ms() < end;)
        (void)usleep(2000);
    (void)usleep(50000);
    int64_t before = used_ms();
    (void)usleep(600000);
    assert_in_range(used_ms() - before, 0, 200);
    end_copy(copy);
    assert_int_equal(write(in[1], "\n", 1), 1);
    abx_result *r = api_wait(p, 10000);
    assert_int_equal(abx_result_exit_code(r), 0);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
    (void)close(in[0]);
    (void)close(in[1]);
}

/* The library's own: while it is armed, somebody forks each time that a lock was had. */
static _Atomic bool armed;
static pid_t copies[32];
static size_t copy_count;

int flock(int fd, int operation)
{
    int r = (int)syscall(SYS_flock, fd, operation);

    if (r == 0 && armed && (operation & LOCK_EX) && copy_count < 32)
        copies[copy_count++] = fork_copy();
    return r;
}

static void end_copies(void)
{
    armed = false;
    while (copy_count > 0)
        end_copy(copies[--copy_count]);
}

static char *own_state(const struct api_case *c)
{
    char *dir = NULL;

    assert_true(asprintf(&dir, "%s-state", c->dir) > 0);
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(setenv("XDG_STATE_HOME", dir, 1), 0);
    return dir;
}

static void remove_state(char *dir)
{
    char *text = NULL;

    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_true(asprintf(&text, "rm -r %s", dir) > 0);
    assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c) */
    free(text);
    free(dir);
}

/* A host that is killed with its keeper leaves placeholders, for the next run to remove. */
static void leave_placeholders(const struct api_case *c)
{
    pid_t host = fork();
    int status;

    if (host == 0) {
        abx_manager *m = NULL;
        abx_process *p = NULL;
        abx_command *command = api_shell(c, "sleep 500");
        abx_hooks hooks;

        abx_hooks_init(&hooks, sizeof hooks);
        hooks.flags = ABX_NO_THREAD; /* which would see the keeper's end */
        if (abx_manager_new(NULL, &hooks, &m, NULL) != ABX_OK ||
            abx_manager_spawn(m, command, &p, NULL) != ABX_OK)
            _exit(1);
        (void)kill(abx_process_pid(p), SIGKILL);
        (void)kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(host, &status, 0), host);
    assert_true(WIFSIGNALED(status));
    assert_true(api_entries(c->dir) > 0);
}

static void a_fork_during_a_repair_stops_no_run(void **state)
{
    const struct api_case *c = *state;
    char *dir = own_state(c);
    abx_result *r = NULL;
    abx_error *e = NULL;

    leave_placeholders(c);
    abx_command *command = api_shell(c, "true");
    armed = true;
    (void)alarm(PATIENCE_SECONDS);
    int32_t code = abx_manager_run(c->manager, command, &r, &e);
    (void)alarm(0);
    size_t forked = copy_count;
    end_copies();
    api_ok(code, &e);
    assert_true(forked > 1); /* the registry, and the file that was repaired */
    abx_result_free(r);
    abx_command_free(command);
    remove_state(dir);
}

static void a_fork_during_a_record_stops_no_run(void **state)
{
    const struct api_case *c = *state;
    char *dir = own_state(c), *text = NULL;
    abx_hooks hooks;
    abx_manager *m = NULL;
    abx_error *e = NULL;

    abx_hooks_init(&hooks, sizeof hooks);
    hooks.flags = ABX_KEEP_LOG;
    hooks.approve = api_approve;
    api_ok(abx_manager_new(NULL, &hooks, &m, &e), &e);
    (void)alarm(PATIENCE_SECONDS);
    for (int i = 0; i < 2; i++) {
        abx_command *command = api_shell(c, "touch /usr/x");
        abx_result *r = NULL;

        armed = i == 0;
        api_ok(abx_manager_run(m, command, &r, &e), &e);
        assert_true(abx_result_violations(r) > 0);
        abx_result_free(r);
        abx_command_free(command);
    }
    armed = false;
    api_ok(abx_log_text("text", 0, &text, &e), &e);
    (void)alarm(0);
    assert_non_null(strstr(text, "/usr/x"));
    assert_true(copy_count > 1);
    end_copies();
    abx_free(text);
    abx_manager_free(m);
    remove_state(dir);
}

/* ---- descriptors and threads ---- */

static void a_stream_that_was_closed_since_is_none(void **state)
{
    abx_error *e = NULL;

    abx_command *before = api_shell(*state, "true");
    abx_process *first = api_spawn(*state, before); /* what a manager keeps is open from now on */
    int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
    assert_true(saved >= 0);
    assert_int_equal(close(STDIN_FILENO), 0);
    abx_command *command = api_shell(*state, "readlink /proc/self/fd/0");
    api_ok(abx_command_set_stdio(command, 1, ABX_STDIO_CAPTURE, -1, &e), &e);
    abx_process *p = api_spawn(*state, command);
    abx_result *r = api_wait(p, 10000);
    abx_process_free(p);
    assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    (void)close(saved);
    assert_string_equal(abx_result_stdout(r, NULL), "/dev/null\n");
    abx_result_free(r);
    abx_command_free(command);
    abx_process_free(first);
    abx_command_free(before);
}

/* Each limit: an error, or a run; the library's own writing never ends the host by SIGXFSZ. */
static void a_limit_of_file_sizes_is_an_error_or_enough(void **state)
{
    struct rlimit old, low;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low = old;
    for (low.rlim_cur = 0; low.rlim_cur <= 1 << 20; low.rlim_cur += 16384) {
        abx_command *command = api_shell(*state, "exit 3");
        abx_result *r = NULL;
        abx_error *e = NULL;

        assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
        int32_t code = abx_manager_run(((struct api_case *)*state)->manager, command, &r, &e);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(code == ABX_OK ? abx_result_exit_code(r) : abx_error_errno(e),
                         code == ABX_OK ? 3 : EFBIG);
        assert_true(low.rlim_cur > 0 || code != ABX_OK);
        abx_error_free(e);
        abx_result_free(r);
        abx_command_free(command);
    }
}

static void a_thread_that_cannot_be_started_costs_nothing(void **state)
{
    pthread_attr_t old, huge;
    int fds = 0;

    assert_int_equal(pthread_getattr_default_np(&old), 0);
    assert_int_equal(pthread_attr_init(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 47), 0);
    for (int i = 0; i < 10; i++) {
        abx_command *command = api_shell(*state, "true");
        abx_process *p = NULL;
        abx_error *e = NULL;

        assert_int_equal(pthread_setattr_default_np(&huge), 0);
        int32_t code = abx_manager_spawn(((struct api_case *)*state)->manager, command, &p, &e);
        assert_int_equal(pthread_setattr_default_np(&old), 0);
        api_fails(code, ABX_E_IO, &e);
        abx_command_free(command);
        if (i == 0)
            fds = api_open_fds();
    }
    assert_in_range(api_open_fds(), 0, fds + 3); /* a launcher or two may not be reaped yet */
    abx_command *command = api_shell(*state, "exit 3");
    abx_process *p = api_spawn(*state, command);
    abx_result *r = api_wait(p, 10000);
    assert_int_equal(abx_result_exit_code(r), 3);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
    (void)pthread_attr_destroy(&huge);
    (void)pthread_attr_destroy(&old);
}

static void a_launcher_that_takes_its_time_is_reaped_by_the_thread(void **state)
{
    abx_command *command = api_shell(*state, "true");
    abx_process *p = api_spawn(*state, command);
    const pid_t keeper = abx_process_pid(p);
    const int64_t until = api_now_ms() + 5000;

    (void)kill(keeper, SIGSTOP);
    abx_result_free(api_wait(p, 10000));
    abx_process_free(p);
    abx_command_free(command);
    (void)kill(keeper, SIGCONT);
    while (kill(keeper, 0) == 0 && api_now_ms() < until) /* a zombie is still there */
        (void)usleep(10000);
    assert_int_not_equal(kill(keeper, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        API_TEST(a_slow_callback_holds_up_no_call_on_its_process),
        API_TEST(a_callback_may_signal_its_process_but_not_wait_for_it),
        API_TEST(a_stream_that_ends_keeps_nobody_busy_although_a_forked_child_has_it),
        API_TEST(a_fork_during_a_repair_stops_no_run),
        API_TEST(a_fork_during_a_record_stops_no_run),
        API_TEST(a_stream_that_was_closed_since_is_none),
        API_TEST(a_limit_of_file_sizes_is_an_error_or_enough),
        API_TEST(a_launcher_that_takes_its_time_is_reaped_by_the_thread),
        API_TEST(a_thread_that_cannot_be_started_costs_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
