/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output as it comes, not at the end: each piece is printed with the name of its stream and the
 * milliseconds since the start.
 *
 *     ./stream 'echo one; sleep 1; echo two >&2'
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <agentbox/agentbox.h>

static void show(void *user, int32_t stream, const char *bytes, size_t len)
{
    const struct timespec *start = user;
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)printf(
        "%5ld ms  %s  ",
        (long)((now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000),
        stream == 1 ? "out" : "err");
    (void)fwrite(bytes, 1, len, stdout);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    struct timespec start;
    abx_error *err = NULL;
    abx_manager *manager = NULL;
    abx_command *command = NULL;
    abx_result *result = NULL;
    int status = EXIT_FAILURE;

    if (argc != 2) {
        (void)fprintf(stderr, "usage: stream 'SHELL TEXT'\n");
        return EXIT_FAILURE;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    if (abx_manager_new(NULL, NULL, &manager, &err) != ABX_OK ||
        abx_command_new_shell(argv[1], &command, &err) != ABX_OK ||
        abx_command_set_output(command, show, &start, &err) != ABX_OK ||
        abx_manager_run(manager, command, &result, &err) != ABX_OK) {
        (void)fprintf(stderr, "stream: %s\n", abx_error_message(err));
        abx_error_free(err);
    } else {
        status = (int)abx_result_exit_code(result);
    }
    abx_result_free(result);
    abx_command_free(command);
    abx_manager_free(manager);
    return status;
}
