/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher of macOS, its own code, as a process: what the host sees of a run. Linux plays the
 * system (tests/lib/darwin/shim.c); the profile is written down instead of enforced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "darwin/launch.h"
#include "plan/codec.h"

#define WAIT_MS 60000 /* for what happens at once on any machine that is not broken */

struct run {
    pid_t pid;
    int status, lifeline, output;
    char dir[64];
};

static const char *const env[] = { "PATH=/usr/bin:/bin", "SHOWN=yes", NULL };

static struct plan simple_plan(const char *const *argv)
{
    static const struct plan_limit limit = { RLIMIT_NOFILE, 100 };
    struct plan p = { .grace_ns = 20 * NSEC_PER_SEC,
                      .hostname = "",
                      .cwd = "/",
                      .path = "/usr/bin:/bin",
                      .limits = &limit,
                      .limit_count = 1,
                      .argv = argv,
                      .env = env,
                      .env_count = 2 };

    while (argv[p.argv_count])
        p.argv_count++;
    return p;
}

static int file_with(const void *bytes, size_t len)
{
    int fd = memfd_create("test", 0);

    assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    return fd;
}

static void start(struct run *r, const void *image, size_t size, const void *profile, size_t len)
{
    int status[2], lifeline[2], output[2], fds[DARWIN_FD_COUNT];
    const char *launcher = getenv("ABX_DARWIN_LAUNCHER");

    assert_non_null(launcher);
    *r = (struct run){ .dir = "/tmp/abx-darwin.XXXXXX" };
    assert_non_null(mkdtemp(r->dir));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, status), 0);
    assert_int_equal(pipe2(lifeline, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    fds[1] = fds[2] = output[1];
    fds[DARWIN_FD_STATUS] = status[1];
    fds[DARWIN_FD_LIFELINE] = lifeline[0];
    fds[DARWIN_FD_PLAN] = file_with(image, size);
    fds[DARWIN_FD_PROFILE] = file_with(profile, len);
    char log[80];
    (void)snprintf(log, sizeof log, "%s/applied", r->dir);
    r->pid = fork();
    if (r->pid == 0) {
        int high[DARWIN_FD_COUNT]; /* out of each other's way first */
        for (int i = 1; i < DARWIN_FD_COUNT; i++)
            high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 50);
        for (int i = 1; i < DARWIN_FD_COUNT; i++)
            (void)dup2(high[i], i);
        (void)setenv("ABX_SHIM_LOG", log, 1);
        /* It keeps what it has as long as it lives. */
        (void)setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        (void)execl(launcher, "abx-launcher", "run", "/own/tmp", "4321", NULL);
        _exit(99);
    }
    assert_true(r->pid > 0);
    (void)close(status[1]);
    (void)close(lifeline[0]);
    (void)close(output[1]);
    (void)close(fds[DARWIN_FD_PLAN]);
    (void)close(fds[DARWIN_FD_PROFILE]);
    r->status = status[0];
    r->lifeline = lifeline[1];
    r->output = output[0];
}

static void start_plan(struct run *r, const struct plan *plan, const char *profile)
{
    size_t size = plan_encoded_size(plan);
    uint8_t *image = malloc(size);

    assert_true(size && image);
    plan_encode(plan, image, size);
    start(r, image, size, profile, strlen(profile));
    free(image);
}

static void start_shell(struct run *r, const char *text)
{
    const char *const argv[] = { "sh", "-c", text, NULL };
    const struct plan plan = simple_plan(argv);

    start_plan(r, &plan, "(version 1)");
}

/* The next message; a descriptor that comes along goes to *ret_fd. */
static struct status_msg next_message(const struct run *r, int *ret_fd)
{
    struct status_msg msg = { 0 };
    _Alignas(struct cmsghdr) char control[64];
    struct iovec piece = { &msg, sizeof msg };
    struct msghdr header = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    struct pollfd p = { r->status, POLLIN, 0 };

    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    assert_int_equal(recvmsg(r->status, &header, MSG_WAITALL), sizeof msg);
    const struct cmsghdr *c = CMSG_FIRSTHDR(&header);
    if (ret_fd && c)
        memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
    return msg;
}

static void expect_started(const struct run *r)
{
    struct status_msg msg = next_message(r, NULL);

    if (msg.kind == STATUS_FAILED)
        fail_msg("step %s: %s: %s", msg.step, msg.text, strerror(msg.err));
    assert_int_equal(msg.kind, STATUS_STARTED);
}

static void expect_failed(const struct run *r, const char *step, int error, const char *text)
{
    struct status_msg msg = next_message(r, NULL);

    assert_int_equal(msg.kind, STATUS_FAILED);
    assert_string_equal(msg.step, step);
    assert_int_equal(msg.err, error);
    assert_non_null(strstr(msg.text, text));
}

static char *read_file(const struct run *r, const char *name)
{
    static char text[4096];
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", r->dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        (void)close(fd);
    return text;
}

static void expect_output(const struct run *r, const char *wanted)
{
    char text[4096] = "";
    size_t len = 0;

    while (!strstr(text, wanted)) {
        struct pollfd p = { r->output, POLLIN, 0 };
        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
        ssize_t n = read(r->output, text + len, sizeof text - 1 - len);
        if (n <= 0)
            fail_msg("'%s' is not in '%s'", wanted, text);
        len += (size_t)n;
        text[len] = '\0';
    }
}

/* All who could write are gone when the pipe ends. */
static void expect_end(const struct run *r)
{
    char rest[64];
    ssize_t n;

    do {
        struct pollfd p = { r->output, POLLIN, 0 };
        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
        n = read(r->output, rest, sizeof rest);
    } while (n > 0);
    assert_int_equal(n, 0);
}

static int finish(struct run *r)
{
    int status = 0;
    char path[128];

    assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
    (void)close(r->status);
    (void)close(r->lifeline);
    (void)close(r->output);
    (void)snprintf(path, sizeof path, "%s/applied", r->dir);
    (void)unlink(path);
    (void)rmdir(r->dir);
    return status;
}

static void the_command_runs_in_its_profile(void **state)
{
    struct run r;

    (void)state;
    start_shell(&r, "echo $SHOWN $TMPDIR; ulimit -n; ulimit -c; ls /proc/self/fd | wc -l; exit 7");
    expect_started(&r);
    expect_output(&r, "yes\n100\n0\n4\n"); /* 0, 1, 2 and the one that ls has open */
    struct status_msg msg = next_message(&r, NULL);
    assert_int_equal(msg.kind, STATUS_EXITED);
    assert_true(WIFEXITED(msg.value) && WEXITSTATUS(msg.value) == 7);
    assert_int_equal(msg.detail, 0);
    assert_string_equal(read_file(&r, "applied"), "AGENTBOX_TMP=/own/tmp\nAGENTBOX_TTY=/dev/null\n"
                                                  "AGENTBOX_PORT=4321\n(version 1)\n");
    assert_int_equal(WEXITSTATUS(finish(&r)), 7);
}

static void what_fails_is_named_and_nothing_runs(void **state)
{
    const char *const shell[] = { "sh", "-c", "echo ran", NULL };
    const char *const missing[] = { "no-such-program", NULL };
    struct plan plan = simple_plan(shell);
    struct run r;
    char rest;

    (void)state;
    start_plan(&r, &plan, "(refuse)");
    expect_failed(&r, "seatbelt", EINVAL, "unbound variable");
    assert_int_equal(read(r.output, &rest, 1), 0);
    assert_int_equal(WEXITSTATUS(finish(&r)), EXIT_SETUP);

    plan.cwd = "/no/such/directory";
    start_plan(&r, &plan, "(version 1)");
    expect_failed(&r, "directory", ENOENT, plan.cwd);
    (void)finish(&r);

    plan = simple_plan(missing);
    start_plan(&r, &plan, "(version 1)");
    expect_failed(&r, "exec", ENOENT, "no-such-program");
    (void)finish(&r);

    start(&r, "garbage", 7, "(version 1)", 11);
    expect_failed(&r, "plan", EINVAL, "plan");
    (void)finish(&r);
}

static void half_a_profile_is_refused(void **state)
{
    const char *const argv[] = { "true", NULL };
    const struct plan plan = simple_plan(argv);
    size_t size = plan_encoded_size(&plan);
    uint8_t *image = malloc(size);
    struct run r;

    (void)state;
    assert_non_null(image);
    plan_encode(&plan, image, size);
    start(&r, image, size, "(version 1)\0(deny default)", 26);
    expect_failed(&r, "plan", EINVAL, "profile");
    (void)finish(&r);
    start(&r, image, size, "", 0);
    expect_failed(&r, "plan", EINVAL, "profile");
    (void)finish(&r);
    free(image);
}

static void the_host_s_end_is_the_run_s_end(void **state)
{
    struct run r;

    (void)state;
    /* Each in a process group of its own: job control. */
    start_shell(&r,
                "exec bash -c 'set -m; sleep 1000 & (trap : TERM; sleep 1000) & echo up; wait'");
    expect_started(&r);
    expect_output(&r, "up");
    (void)close(r.lifeline);
    r.lifeline = -1;
    expect_end(&r);
    (void)finish(&r);
}

static void signals_are_passed_on_and_the_second_kills(void **state)
{
    struct run r;
    struct status_msg msg;

    (void)state;
    start_shell(&r, "trap 'echo asked; exit 3' TERM; echo up; while :; do sleep 0.01; done");
    expect_started(&r);
    expect_output(&r, "up");
    assert_int_equal(kill(r.pid, SIGTERM), 0);
    expect_output(&r, "asked");
    msg = next_message(&r, NULL);
    assert_true(msg.kind == STATUS_EXITED && WIFEXITED(msg.value) && WEXITSTATUS(msg.value) == 3);
    (void)finish(&r);

    start_shell(&r, "trap 'echo asked' TERM; echo up; while :; do sleep 0.01; done");
    expect_started(&r);
    expect_output(&r, "up");
    assert_int_equal(kill(r.pid, SIGTERM), 0);
    expect_output(&r, "asked");
    assert_int_equal(kill(r.pid, SIGTERM), 0);
    msg = next_message(&r, NULL);
    assert_true(WIFSIGNALED(msg.value) && WTERMSIG(msg.value) == SIGKILL);
    assert_int_equal(WEXITSTATUS(finish(&r)), 128 + SIGKILL);
}

static void an_early_signal_is_not_lost(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct run r;

        start_shell(&r, "exec sleep 1000");
        expect_started(&r);
        assert_int_equal(kill(r.pid, SIGTERM), 0);
        struct status_msg msg = next_message(&r, NULL);
        assert_true(WIFSIGNALED(msg.value) && WTERMSIG(msg.value) == SIGTERM);
        (void)finish(&r);
    }
}

static void a_time_limit_asks_and_then_kills(void **state)
{
    const char *const argv[] = { "sh", "-c", "trap '' TERM; while :; do sleep 0.01; done", NULL };
    struct plan plan = simple_plan(argv);
    struct run r;

    (void)state;
    plan.timeout_ns = 50 * NSEC_PER_MSEC;
    plan.grace_ns = 50 * NSEC_PER_MSEC;
    start_plan(&r, &plan, "(version 1)");
    expect_started(&r);
    struct status_msg msg = next_message(&r, NULL);
    assert_int_equal(msg.kind, STATUS_EXITED);
    assert_int_equal(msg.detail, 1);
    assert_true(WIFSIGNALED(msg.value));
    (void)finish(&r);
}

static void what_is_left_ends_with_the_command(void **state)
{
    struct run r;

    (void)state;
    start_shell(&r, "exec bash -c 'set -m; sleep 1000 & exit 0'");
    expect_started(&r);
    assert_int_equal(next_message(&r, NULL).kind, STATUS_EXITED);
    expect_end(&r);
    (void)finish(&r);
}

static void a_terminal_of_its_own_comes_out(void **state)
{
    const char *const argv[] = { "sh", "-c", "test -t 0 && stty size && tty >/dev/tty; exit 5",
                                 NULL };
    struct plan plan = simple_plan(argv);
    struct run r;
    int master = -1;
    char text[256] = "";
    size_t len = 0;

    (void)state;
    plan.tty = 7;
    plan.tty_rows = 33;
    plan.tty_columns = 44;
    start_plan(&r, &plan, "(version 1)");
    assert_int_equal(next_message(&r, &master).kind, STATUS_TTY);
    assert_true(master >= 0);
    expect_started(&r);
    while (!strstr(text, "/dev/pts/")) {
        ssize_t n = read(master, text + len, sizeof text - 1 - len);
        if (n <= 0)
            fail_msg("the terminal says '%s'", text);
        len += (size_t)n;
        text[len] = '\0';
    }
    assert_non_null(strstr(text, "33 44"));
    assert_int_equal(WEXITSTATUS(next_message(&r, NULL).value), 5);
    assert_non_null(strstr(read_file(&r, "applied"), "AGENTBOX_TTY=/dev/pts/"));
    (void)close(master);
    (void)finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_runs_in_its_profile),
        cmocka_unit_test(what_fails_is_named_and_nothing_runs),
        cmocka_unit_test(half_a_profile_is_refused),
        cmocka_unit_test(the_host_s_end_is_the_run_s_end),
        cmocka_unit_test(signals_are_passed_on_and_the_second_kills),
        cmocka_unit_test(an_early_signal_is_not_lost),
        cmocka_unit_test(a_time_limit_asks_and_then_kills),
        cmocka_unit_test(what_is_left_ends_with_the_command),
        cmocka_unit_test(a_terminal_of_its_own_comes_out),
    };

    return cmocka_run_group_tests_name("darwin_launcher", tests, NULL, NULL);
}
