/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the library share that run real sandboxes: a directory to work in, commands
 * made in one line, and what must not be left: descriptors, children, files.
 */
#ifndef ABX_TESTS_API_CASE_H
#define ABX_TESTS_API_CASE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agentbox/agentbox.h"

struct api_case {
    char dir[64];
    abx_manager *manager;
    int fds; /* open at the start */
};

static inline int64_t api_now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline int api_entries(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    (void)closedir(d);
    return n - 2;
}

static inline int api_open_fds(void)
{
    return api_entries("/proc/self/fd");
}

static inline void api_show(const abx_error *e)
{
    if (e)
        (void)fprintf(stderr, "# %s: %s (%s)\n", abx_error_name(abx_error_code(e)),
                      abx_error_message(e), abx_error_hint(e));
}

/* The call worked; *err says why not, where it did not. */
static inline void api_ok(int32_t code, abx_error **err)
{
    if (code != ABX_OK)
        api_show(*err);
    assert_int_equal(code, ABX_OK);
    assert_null(*err);
}

/* The call failed in this way, and filled the error; the error is gone afterwards. */
static inline void api_fails(int32_t code, int32_t wanted, abx_error **err)
{
    if (code != wanted)
        api_show(*err);
    assert_int_equal(code, wanted);
    assert_non_null(*err);
    assert_int_equal(abx_error_code(*err), wanted);
    assert_true(abx_error_message(*err)[0] != '\0');
    abx_error_free(*err);
    *err = NULL;
}

static inline abx_command *api_shell(const struct api_case *c, const char *text)
{
    abx_command *command = NULL;
    abx_error *e = NULL;

    api_ok(abx_command_new_shell(text, &command, &e), &e);
    api_ok(abx_command_set_cwd(command, c->dir, &e), &e);
    return command;
}

static inline abx_process *api_spawn(const struct api_case *c, abx_command *command)
{
    abx_process *process = NULL;
    abx_error *e = NULL;

    api_ok(abx_manager_spawn(c->manager, command, &process, &e), &e);
    return process;
}

static inline abx_result *api_wait(abx_process *process, int32_t timeout_ms)
{
    abx_result *result = NULL;
    abx_error *e = NULL;

    api_ok(abx_process_wait(process, timeout_ms, &result, &e), &e);
    return result;
}

static inline abx_result *api_run(const struct api_case *c, abx_command *command)
{
    abx_result *result = NULL;
    abx_error *e = NULL;

    api_ok(abx_manager_run(c->manager, command, &result, &e), &e);
    abx_command_free(command);
    return result;
}

/* Starts an exec form as another runtime would, its output to out; the status of waitpid. */
static inline int api_spawn_form(const abx_exec_form *form, int out)
{
    posix_spawn_file_actions_t actions;
    const int32_t *fds;
    size_t count = abx_exec_form_fds(form, &fds);
    int high[8], status = -1;
    pid_t pid;

    assert_true(count <= 8);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_addchdir_np(&actions, abx_exec_form_cwd(form)), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, out, 1), 0);
    for (size_t i = 0; i < count; i++) { /* their own numbers may be among the targets */
        high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 100);
        assert_true(high[i] >= 100);
        assert_int_equal(posix_spawn_file_actions_adddup2(&actions, high[i], 3 + (int)i), 0);
    }
    assert_int_equal(posix_spawn(&pid, abx_exec_form_path(form), &actions, NULL,
                                 (char *const *)(uintptr_t)abx_exec_form_argv(form),
                                 (char *const *)(uintptr_t)abx_exec_form_envp(form)),
                     0);
    (void)posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 0; i < count; i++)
        (void)close(high[i]);
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return status;
}

/* These tests are about the sandbox: whatever the classifier asks, the answer is yes. */
static inline int32_t api_approve(void *user, const abx_question *question)
{
    (void)user;
    (void)question;
    return ABX_APPROVE_ONCE;
}

static inline int api_setup(void **state)
{
    struct api_case *c = calloc(1, sizeof *c);
    abx_error *e = NULL;
    abx_hooks hooks;

    if (!c)
        return -1;
    (void)snprintf(c->dir, sizeof c->dir, "/var/tmp/abx-api-XXXXXX");
    if (!mkdtemp(c->dir))
        return -1;
    c->fds = api_open_fds();
    abx_hooks_init(&hooks, sizeof hooks);
    hooks.approve = api_approve;
    if (abx_manager_new(NULL, &hooks, &c->manager, &e) != ABX_OK) {
        api_show(e);
        return -1;
    }
    *state = c;
    return 0;
}

/* Frees the manager; then no descriptor, no child and no file is left of what the test did. */
static inline int api_teardown(void **state)
{
    struct api_case *c = *state;

    abx_manager_free(c->manager);
    int fds = api_open_fds(), files = api_entries(c->dir);
    int child = (int)waitpid(-1, NULL, WNOHANG);
    int no_child = child < 0 && errno == ECHILD;
    if (fds != c->fds || files != 0 || !no_child)
        (void)fprintf(stderr, "# left: %d descriptors, %d files in %s, child %d\n", fds - c->fds,
                      files, c->dir, child);
    int bad = fds != c->fds || files != 0 || !no_child || rmdir(c->dir) < 0;
    free(c);
    return bad ? -1 : 0;
}

#define API_TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

#endif
