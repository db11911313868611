/* SPDX-License-Identifier: Apache-2.0 */
/* The process of the net role, from its host's side: it ends with its host from birth on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/role.h"

#define PATIENCE 2000 /* looks, 10 ms apart */

static void rest(void)
{
    const struct timespec moment = { .tv_nsec = 10000000 };

    (void)nanosleep(&moment, NULL);
}

/* A program that is stopped before it has done anything for its host. */
static void write_stopper(char *path)
{
    static const char text[] = "#!/bin/sh\nkill -STOP $$\nsleep 600\n";
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    assert_int_equal(fchmod(fd, 0700), 0);
    assert_int_equal(close(fd), 0);
}

static bool is_stopped(pid_t pid)
{
    char path[64], text[512] = "";

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
        return false;
    (void)close(fd);
    const char *state = strrchr(text, ')');
    return state && state[1] && state[2] == 'T';
}

/* The host: tells which process its role is, and ends once that one is stopped. */
static void be_host(const char *program, int out)
{
    struct role_process role = ROLE_NONE;
    int control;

    if (role_start(program, &role, &control, NULL) != ABX_OK)
        _exit(1);
    for (int i = 0; i < PATIENCE && !is_stopped(role.pid); i++)
        rest();
    (void)!write(out, &role.pid, sizeof role.pid);
    _exit(0);
}

static void what_is_stopped_at_birth_ends_with_its_host(void **state)
{
    char path[] = "/tmp/agentbox-role-XXXXXX";
    int ends[2], status = 0;
    pid_t role = 0, ended = 0;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    write_stopper(path);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t host = fork();
    assert_true(host >= 0);
    if (host == 0)
        be_host(path, ends[1]);
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &role, sizeof role), sizeof role);
    (void)close(ends[0]);
    assert_int_equal(waitpid(host, NULL, 0), host);
    for (int i = 0; i < PATIENCE && ended == 0; i++) {
        ended = waitpid(role, &status, WNOHANG);
        if (ended == 0)
            rest();
    }
    if (ended == 0) {
        (void)kill(role, SIGKILL);
        (void)waitpid(role, NULL, 0);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ended, role);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stopped_at_birth_ends_with_its_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
