/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest useful program: runs its arguments in a sandbox with the default policy and prints
 * what came out.
 *
 *     cc minimal.c $(pkg-config --cflags --libs agentbox) -o minimal
 *     ./minimal sh -c 'id; echo hello >made-inside; cat ~/.ssh/id_ed25519'
 */
#include <stdio.h>
#include <stdlib.h>

#include <agentbox/agentbox.h>

static int fail(abx_error *err)
{
    (void)fprintf(stderr, "minimal: %s\n", abx_error_message(err));
    if (abx_error_hint(err)[0])
        (void)fprintf(stderr, "hint: %s\n", abx_error_hint(err));
    abx_error_free(err);
    return EXIT_FAILURE;
}

static int report(const abx_result *result)
{
    size_t out_len, err_len;
    const char *out = abx_result_stdout(result, &out_len);
    const char *err = abx_result_stderr(result, &err_len);

    (void)fwrite(out, 1, out_len, stdout);
    (void)fwrite(err, 1, err_len, stderr);
    (void)printf("exit status %d after %.1f ms, %s\n", (int)abx_result_exit_code(result),
                 (double)abx_result_duration_ns(result) / 1e6,
                 abx_result_sandboxed(result) ? "sandboxed" : "NOT fully sandboxed");
    return abx_result_exit_code(result) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    abx_error *err = NULL;
    abx_manager *manager = NULL;
    abx_command *command = NULL;
    abx_result *result = NULL;
    int status;

    if (argc < 2) {
        (void)fprintf(stderr, "usage: minimal PROGRAM [ARGUMENT...]\n");
        return EXIT_FAILURE;
    }
    if (abx_manager_new(NULL, NULL, &manager, &err) != ABX_OK ||
        abx_command_new((const char *const *)(argv + 1), &command, &err) != ABX_OK ||
        abx_command_set_timeout(command, 60 * 1000, &err) != ABX_OK ||
        abx_manager_run(manager, command, &result, &err) != ABX_OK)
        status = fail(err);
    else
        status = report(result);
    abx_result_free(result);
    abx_command_free(command);
    abx_manager_free(manager);
    return status;
}
