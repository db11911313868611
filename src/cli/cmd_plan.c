/* SPDX-License-Identifier: Apache-2.0 */
/* agentbox plan, and run --dry-run. */
#include "cli/plan.h"

int plan_print(struct run_options *o)
{
    abx_error *err = NULL;
    char *text;

    if (abx_manager_wrap(o->manager, o->command, &err) != ABX_OK ||
        abx_command_plan(o->command, o->format, &text, &err) != ABX_OK)
        return cli_fail(err);
    bool ok = fputs(text, stdout) >= 0 && fflush(stdout) == 0;
    cli_flush_notices();
    abx_free(text);
    return ok ? 0 : EXIT_AGENTBOX;
}

CLI_COMMAND(plan)
{
    struct run_options o;
    int code = run_options_read(&o, command, argc, argv, RUN_OPTIONAL);

    if (code == 0)
        code = o.help ? cli_help(command) : plan_print(&o);
    run_options_done(&o);
    return code;
}
