/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For a runtime that starts processes by itself: the library says what to start (path, arguments,
 * environment, descriptors), the caller starts it, here with posix_spawn, and waits for it.
 *
 *     ./exec_form sh -c 'echo hello; exit 7'; echo $?
 */
#define _GNU_SOURCE /* posix_spawn_file_actions_addchdir_np */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <agentbox/agentbox.h>

#define MOST_FDS 16

/* fds[i] becomes 3 + i in the child; first out of the way, so that none covers another. */
static int pass_descriptors(posix_spawn_file_actions_t *actions, const abx_exec_form *form)
{
    const int32_t *fds;
    size_t count = abx_exec_form_fds(form, &fds);
    int moved[MOST_FDS];

    if (count > MOST_FDS)
        return -1;
    for (size_t i = 0; i < count; i++) {
        moved[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3 + (int)count);
        if (moved[i] < 0 || posix_spawn_file_actions_adddup2(actions, moved[i], 3 + (int)i) != 0)
            return -1;
    }
    return 0;
}

static int start(const abx_exec_form *form)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;

    (void)posix_spawn_file_actions_init(&actions);
    if (pass_descriptors(&actions, form) < 0 ||
        posix_spawn_file_actions_addchdir_np(&actions, abx_exec_form_cwd(form)) != 0 ||
        posix_spawn(&pid, abx_exec_form_path(form), &actions, NULL,
                    (char *const *)abx_exec_form_argv(form),
                    (char *const *)abx_exec_form_envp(form)) != 0 ||
        waitpid(pid, &status, 0) < 0)
        return EXIT_FAILURE;
    (void)posix_spawn_file_actions_destroy(&actions);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    abx_error *err = NULL;
    abx_manager *manager = NULL;
    abx_command *command = NULL;
    const abx_exec_form *form;
    int status = EXIT_FAILURE;

    if (argc < 2) {
        (void)fprintf(stderr, "usage: exec_form PROGRAM [ARGUMENT...]\n");
        return EXIT_FAILURE;
    }
    if (abx_manager_new(NULL, NULL, &manager, &err) != ABX_OK ||
        abx_command_new((const char *const *)(argv + 1), &command, &err) != ABX_OK ||
        abx_manager_wrap(manager, command, &err) != ABX_OK ||
        abx_command_exec_form(command, &form, &err) != ABX_OK) {
        (void)fprintf(stderr, "exec_form: %s\n", abx_error_message(err));
        abx_error_free(err);
    } else {
        status = start(form);
    }
    abx_command_free(command);
    abx_manager_free(manager);
    return status;
}
