/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentbox learn: the command is run with everything watched, in the sandbox that it would get, and
 * under --approve yes again with what it lacked as long as it fails for want of that. Nobody else
 * may say so: a command that asks for ~/bin and fails would have it in the next round. The grants
 * of one round count for the next only; nothing is written but the proposal, to the standard
 * output. Who ends the command (Ctrl-C: a server, an agent) wants to see what was learned by then,
 * and no further round.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/learn.h"
#include "cli/patience.h"
#include "cli/plan.h"
#include "cli/signals.h"

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
    bool ended;   /* by a signal to us, which was passed on */
    bool as_json; /* --json */
    bool quiet;   /* -q */
    bool granted; /* --approve yes: what was refused is granted in the next round */
};

static void wait_and_pass_on(abx_process *process, int signals, struct round *r)
{
    struct pollfd fds[] = { { .fd = abx_process_fd(process), .events = POLLIN },
                            { .fd = signals, .events = POLLIN } };

    (void)poll(fds, ARRAY_LEN(fds), -1);
    for (int number = signals_next(signals); number; number = signals_next(signals)) {
        r->ended = true;
        (void)abx_process_signal(process, number, NULL);
    }
}

static int32_t run_to_end(struct run_options *o, struct round *r, abx_result **ret, abx_error **err)
{
    abx_process *process = NULL;

    patience_begin();
    int32_t code = abx_manager_spawn(o->manager, o->command, &process, err);
    patience_end();
    if (code != ABX_OK)
        return code;
    while ((code = abx_process_wait(process, 0, ret, NULL)) == ABX_E_TIMEOUT)
        wait_and_pass_on(process, o->approver.signals, r);
    if (code != ABX_OK)
        code = abx_process_wait(process, 0, ret, err);
    abx_process_free(process);
    return code;
}

static int run_round(struct run_options *o, struct lessons *l, struct round *r)
{
    abx_error *err = NULL;
    abx_result *result = NULL;

    if (prepare(o->command, l, &err) != ABX_OK || run_to_end(o, r, &result, &err) != ABX_OK) {
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

static int start_round(struct run_options *o, const struct cli_command *command, int signals,
                       struct lessons *l, struct round *r)
{
    if (o->help)
        return cli_help(command);
    if (o->dry_run)
        return plan_print(o);
    if (!l->cwd)
        l->cwd = realpath(o->cwd ? o->cwd : ".", NULL); /* what relative paths will mean */
    o->approver.signals = signals;
    return run_round(o, l, r);
}

/* Options are read anew for each round: a command runs once. */
static bool next_round(const struct cli_command *command, int argc, char **argv, int signals,
                       struct lessons *l, struct round *r)
{
    struct run_options o;

    *r = (struct round){ .code = run_options_read(&o, command, argc, argv, RUN_LESSON) };
    if (r->code == 0)
        r->code = start_round(&o, command, signals, l, r);
    r->as_json = str_eq(o.format, "json");
    r->quiet = o.quiet;
    r->granted = o.approver.mode == APPROVE_YES;
    run_options_done(&o);
    return r->ran && r->new && !r->ended && r->code != 0 && r->code != EXIT_AGENTBOX;
}

static void say_how_to_go_on(const struct round *r)
{
    if (r->quiet)
        return;
    cli_notice(NULL, ABX_NOTICE_INFO, "learn",
               "the command failed, and may lack more than that: put what you agree with into "
               ".agentbox.jsonc and learn again; or --approve yes: it is run again with all that "
               "it was refused");
    cli_flush_notices();
}

static int learn(const struct cli_command *command, int argc, char **argv, struct lessons *l)
{
    static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
    const int signals = signals_open(ending, ARRAY_LEN(ending));
    unsigned runs = 1;
    struct round r;

    bool more = next_round(command, argc, argv, signals, l, &r);
    for (; more && r.granted && runs < ROUNDS_MAX; runs++)
        more = next_round(command, argc, argv, signals, l, &r);
    if (runs == 1 && !r.ran)
        return r.code; /* nothing was learned, and the complaint says why */
    if (more && !r.granted)
        say_how_to_go_on(&r);
    return lessons_print(l, runs, r.as_json, stdout) ? r.code : EXIT_AGENTBOX;
}

/* What '~' leads to; NULL: what the account says, which is not asked here. */
static char *find_home(void)
{
    const char *home = getenv("HOME");

    return home && home[0] == '/' ? realpath(home, NULL) : NULL;
}

CLI_COMMAND(learn)
{
    struct lessons l = { .home = find_home() };
    int code = learn(command, argc, argv, &l);

    lessons_done(&l);
    return code;
}
