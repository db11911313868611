/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another configuration for a manager that lives on: what is running keeps its own, what comes next
 * gets the new one. A configuration that is wrong is refused as a whole, and the old one stays.
 *
 *     ./update DIRECTORY      not writable at first, then granted
 */
#include <stdio.h>
#include <stdlib.h>

#include <agentbox/agentbox.h>

static int fail(const char *what, abx_error *err)
{
    (void)fprintf(stderr, "update: %s: %s\n", what, abx_error_message(err));
    abx_error_free(err);
    return EXIT_FAILURE;
}

static int try_write(abx_manager *manager, const char *when, const char *file)
{
    const char *argv[] = { "touch", file, NULL };
    abx_error *err = NULL;
    abx_command *command = NULL;
    abx_result *result = NULL;

    if (abx_command_new(argv, &command, &err) != ABX_OK ||
        abx_manager_run(manager, command, &result, &err) != ABX_OK) {
        abx_command_free(command);
        return fail(when, err);
    }
    (void)printf("%s: %s\n", when, abx_result_exit_code(result) == 0 ? "written" : "refused");
    abx_result_free(result);
    abx_command_free(command);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    char file[4096];
    abx_error *err = NULL;
    abx_config *config = NULL;
    abx_manager *manager = NULL;
    int status;

    if (argc != 2) {
        (void)fprintf(stderr, "usage: update DIRECTORY\n");
        return EXIT_FAILURE;
    }
    (void)snprintf(file, sizeof file, "%s/made-by-update", argv[1]);
    if (abx_config_new(&config, &err) != ABX_OK ||
        abx_manager_new(config, NULL, &manager, &err) != ABX_OK)
        return fail("start", err);
    status = try_write(manager, "before", file);

    if (abx_config_append(config, "filesystem.rw", argv[1], &err) != ABX_OK ||
        abx_manager_update(manager, config, &err) != ABX_OK)
        status = fail("update", err);
    else if (status == EXIT_SUCCESS)
        status = try_write(manager, "after", file);
    abx_config_free(config);
    abx_manager_free(manager);
    return status;
}
