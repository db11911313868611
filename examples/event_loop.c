/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In an event loop, without a thread of the library's: several commands at once, each with a
 * descriptor to poll. With ABX_NO_THREAD nothing happens behind the caller's back.
 *
 *     ./event_loop 'sleep 0.3; echo slow' 'echo quick' 'exit 3'
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include <agentbox/agentbox.h>

#define MOST 16

static int fail(abx_error *err)
{
    (void)fprintf(stderr, "event_loop: %s\n", abx_error_message(err));
    abx_error_free(err);
    return EXIT_FAILURE;
}

static abx_process *start(abx_manager *manager, const char *text, abx_command **ret_command)
{
    abx_error *err = NULL;
    abx_process *process = NULL;

    if (abx_command_new_shell(text, ret_command, &err) != ABX_OK ||
        abx_command_set_stdio(*ret_command, 1, ABX_STDIO_CAPTURE, -1, &err) != ABX_OK ||
        abx_manager_spawn(manager, *ret_command, &process, &err) != ABX_OK)
        (void)fail(err);
    return process;
}

/* Whether it has ended; then it is freed. */
static int finish(const char *text, abx_process **process)
{
    abx_error *err = NULL;
    abx_result *result = NULL;
    int32_t code = abx_process_wait(*process, 0, &result, &err);

    if (code == ABX_E_TIMEOUT) {
        abx_error_free(err);
        return 0;
    }
    if (code == ABX_OK)
        (void)printf("'%s' ended with %d: %s\n", text, (int)abx_result_exit_code(result),
                     abx_result_stdout(result, NULL));
    else
        (void)fail(err);
    abx_result_free(result);
    abx_process_free(*process);
    *process = NULL;
    return 1;
}

int main(int argc, char **argv)
{
    abx_command *commands[MOST] = { NULL };
    abx_process *processes[MOST] = { NULL };
    struct pollfd fds[MOST];
    abx_manager *manager = NULL;
    abx_error *err = NULL;
    abx_hooks hooks;
    int count = argc - 1 < MOST ? argc - 1 : MOST, left = 0;

    abx_hooks_init(&hooks, sizeof hooks);
    hooks.flags = ABX_NO_THREAD;
    if (abx_manager_new(NULL, &hooks, &manager, &err) != ABX_OK)
        return fail(err);
    for (int i = 0; i < count; i++) {
        processes[i] = start(manager, argv[i + 1], &commands[i]);
        left += processes[i] != NULL;
    }
    while (left > 0) {
        for (int i = 0; i < count; i++) /* poll leaves negative descriptors out */
            fds[i] = (struct pollfd){ processes[i] ? abx_process_fd(processes[i]) : -1, POLLIN, 0 };
        if (poll(fds, (nfds_t)count, -1) < 0)
            break;
        for (int i = 0; i < count; i++)
            if (fds[i].revents && finish(argv[i + 1], &processes[i]))
                left--;
    }
    for (int i = 0; i < count; i++)
        abx_command_free(commands[i]);
    abx_manager_free(manager);
    return left == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
