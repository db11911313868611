/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentbox learn: the command is run with everything watched, in the sandbox that it would get, and
 * again with what it lacked as long as it fails for want of that. The grants of one round count for
 * the next only; nothing is written but the proposal, to the standard output.
 */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/learn.h"
#include "cli/run_options.h"

#define ROUNDS_MAX 5

static int32_t prepare(abx_command *c, const struct lessons *l, abx_error **err)
{
    int32_t code = abx_command_set_string(c, "monitor", "learn", err);

    if (code == ABX_OK)
        code = abx_command_set_stdio(c, STDIN_FILENO, ABX_STDIO_INHERIT, -1, err);
    if (code == ABX_OK)
        code = abx_command_set_stdio(c, STDOUT_FILENO, ABX_STDIO_FD, STDERR_FILENO, err);
    if (code == ABX_OK)
        code = abx_command_set_stdio(c, STDERR_FILENO, ABX_STDIO_INHERIT, -1, err);
    for (size_t i = 0; i < l->count && code == ABX_OK; i++)
        if (l->list[i].key)
            code = abx_command_append(c, l->list[i].key, l->list[i].value, err);
    return code;
}

static int run_round(struct run_options *o, struct lessons *l, size_t *ret_new)
{
    abx_error *err = NULL;
    abx_result *result = NULL;

    *ret_new = 0;
    if (prepare(o->command, l, &err) != ABX_OK ||
        abx_manager_run(o->manager, o->command, &result, &err) != ABX_OK) {
        cli_flush_notices();
        return cli_fail(err);
    }
    cli_flush_notices();
    int code = abx_result_exit_code(result);
    bool ok = lessons_add(l, result, ret_new);
    if (!abx_result_reads_reported(result) && !o->quiet)
        (void)fprintf(stderr, "agentbox: note: nothing was watched here: only the network's "
                              "refusals are known\n");
    abx_result_free(result);
    return ok ? code : cli_misuse(NULL, "out of memory");
}

static int learn(const struct cli_command *command, int argc, char **argv, struct lessons *l)
{
    int code = 0;
    unsigned runs = 0;
    size_t new = 1;

    while (runs < ROUNDS_MAX && new && (runs == 0 || (code != 0 && code != EXIT_AGENTBOX))) {
        struct run_options o;

        code = run_options_read(&o, command, argc, argv, RUN_PROGRAM);
        bool help = code == 0 && o.help;
        if (help)
            code = cli_help(command);
        else if (code == 0)
            code = run_round(&o, l, &new);
        else
            new = 0;
        run_options_done(&o);
        if (help || (runs == 0 && new == 0 && code == EXIT_AGENTBOX))
            return code;
        runs++;
    }
    return lessons_print(l, runs, stdout) ? code : EXIT_AGENTBOX;
}

CLI_COMMAND(learn)
{
    char cwd[PATH_MAX];
    struct lessons l = { .home = getenv("HOME"), .cwd = getcwd(cwd, sizeof cwd) };
    int code = learn(command, argc, argv, &l);

    lessons_done(&l);
    return code;
}
