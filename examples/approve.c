/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who decides about commands that need an approval: here, a callback that says yes to one kind and
 * no to all others. Silence, an error and no callback at all mean no, too.
 *
 *     ./approve 'git push origin main'        refused: rule git-write
 *     ./approve 'kill 12345'                  approved and run (no such process inside)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <agentbox/agentbox.h>

static int32_t decide(void *user, const abx_question *question)
{
    const char *allowed_rule = user;
    int yes = strcmp(abx_question_rule(question), allowed_rule) == 0;

    (void)printf("asked: %s\n  rule %s: %s\n  answer: %s\n", abx_question_command(question),
                 abx_question_rule(question), abx_question_reason(question), yes ? "yes" : "no");
    return yes ? ABX_APPROVE_ONCE : ABX_APPROVE_NO;
}

static int run(abx_manager *manager, const char *text)
{
    abx_error *err = NULL;
    abx_command *command = NULL;
    abx_result *result = NULL;
    int32_t code = abx_command_new_shell(text, &command, &err);

    if (code == ABX_OK)
        code = abx_manager_run(manager, command, &result, &err);
    if (code == ABX_OK)
        (void)printf("ran, exit status %d\n", (int)abx_result_exit_code(result));
    else
        (void)printf("not run (%s): %s\n", abx_error_name(code), abx_error_message(err));
    abx_error_free(err);
    abx_result_free(result);
    abx_command_free(command);
    return code == ABX_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static char allowed_rule[] = "process-kill";
    abx_error *err = NULL;
    abx_manager *manager = NULL;
    abx_hooks hooks;
    int status = EXIT_SUCCESS;

    abx_hooks_init(&hooks, sizeof hooks);
    hooks.approve = decide;
    hooks.user = allowed_rule;
    if (abx_manager_new(NULL, &hooks, &manager, &err) != ABX_OK) {
        (void)fprintf(stderr, "approve: %s\n", abx_error_message(err));
        abx_error_free(err);
        return EXIT_FAILURE;
    }
    for (int i = 1; i < argc; i++)
        if (run(manager, argv[i]) != EXIT_SUCCESS)
            status = EXIT_FAILURE;
    abx_manager_free(manager);
    return status;
}
