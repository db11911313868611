/* SPDX-License-Identifier: Apache-2.0 */
/* One call, one run: a manager with the default configuration that lives as long as the call. */
#include "api/internal.h"

static int32_t run_once(abx_command *command, abx_result **ret_result, abx_error **err)
{
    abx_manager *manager;
    int32_t code = abx_manager_new(NULL, NULL, &manager, err);

    if (code == ABX_OK) {
        code = abx_manager_run(manager, command, ret_result, err);
        abx_manager_free(manager);
    }
    abx_command_free(command);
    return code;
}

int32_t abx_exec(const char *shell_text, abx_result **ret_result, abx_error **err)
{
    abx_command *command;
    int32_t code = abx_command_new_shell(shell_text, &command, err);

    return code != ABX_OK ? code : run_once(command, ret_result, err);
}

int32_t abx_exec_args(const char *const *argv, abx_result **ret_result, abx_error **err)
{
    abx_command *command;
    int32_t code = abx_command_new(argv, &command, err);

    return code != ABX_OK ? code : run_once(command, ret_result, err);
}
