/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentbox learn: the command is run with everything watched, in the sandbox that it would get, and
 * again with what it lacked as long as it fails for want of that. The grants of one round count for
 * the next only; nothing is written but the proposal, to the standard output.
 */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
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

/* What came of the last round. */
struct round {
    int code;
    size_t new;   /* grants that no round before had found */
    bool ran;     /* the command was started */
    bool as_json; /* --json */
};

static int run_round(struct run_options *o, struct lessons *l, struct round *r)
{
    abx_error *err = NULL;
    abx_result *result = NULL;

    if (prepare(o->command, l, &err) != ABX_OK ||
        abx_manager_run(o->manager, o->command, &result, &err) != ABX_OK) {
        cli_flush_notices();
        int status = cli_fail(err);
        cli_hint(o->approver.hint);
        return status;
    }
    r->ran = true;
    cli_flush_notices();
    int code = abx_result_exit_code(result);
    bool ok = lessons_add(l, result, &r->new);
    if (!abx_result_reads_reported(result) && !o->quiet)
        (void)fprintf(stderr, "agentbox: note: nothing was watched here: only the network's "
                              "refusals are known\n");
    abx_result_free(result);
    return ok ? code : cli_misuse(NULL, "out of memory");
}

/* Options are read anew for each round: a command runs once. */
static bool next_round(const struct cli_command *command, int argc, char **argv, struct lessons *l,
                       struct round *r)
{
    struct run_options o;

    *r = (struct round){ .code = run_options_read(&o, command, argc, argv, RUN_LESSON) };
    if (r->code == 0 && o.help)
        r->code = cli_help(command);
    else if (r->code == 0)
        r->code = run_round(&o, l, r);
    r->as_json = str_eq(o.format, "json");
    run_options_done(&o);
    return r->ran && r->new && r->code != 0 && r->code != EXIT_AGENTBOX;
}

static int learn(const struct cli_command *command, int argc, char **argv, struct lessons *l)
{
    unsigned runs = 1;
    struct round r;

    while (next_round(command, argc, argv, l, &r) && runs < ROUNDS_MAX)
        runs++;
    if (runs == 1 && !r.ran)
        return r.code; /* nothing was learned, and the complaint says why */
    return lessons_print(l, runs, r.as_json, stdout) ? r.code : EXIT_AGENTBOX;
}

CLI_COMMAND(learn)
{
    char cwd[PATH_MAX];
    struct lessons l = { .home = getenv("HOME"), .cwd = getcwd(cwd, sizeof cwd) };
    int code = learn(command, argc, argv, &l);

    lessons_done(&l);
    return code;
}
