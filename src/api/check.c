/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts. A text is read as the shell would read it, an argument vector as it is; the rules are
 * those of the configuration (made once, or for this call if it has some of its own). Then the
 * caller's own classifier has its say, unless the verdict is "forbidden" already.
 *
 * Trusts nothing in the command. Where there is no memory, or the caller's classifier fails, there
 * is no verdict and the command does not run.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/judge.h"
#include "base/json.h"

_Static_assert(ABX_DECISION_ALLOW == (int)DECISION_ALLOW &&
                   ABX_DECISION_SANDBOXED == (int)DECISION_SANDBOXED &&
                   ABX_DECISION_ESCALATED == (int)DECISION_ESCALATED &&
                   ABX_DECISION_FORBIDDEN == (int)DECISION_FORBIDDEN,
               "the header's numbers are the classifier's");

#define CHECK_MAX_JSON ((size_t)64 << 20)

/* Where the command would start, canonical; NULL: not known. */
static const char *command_directory(const abx_command *c, struct arena *arena)
{
    char path[PATH_MAX];
    const char *found = c->wish.cwd ? realpath(c->wish.cwd, path) : getcwd(path, sizeof path);

    return found && found[0] == '/' ? arena_strdup(arena, found) : NULL;
}

/* ---- rules ---- */

/* Those of the manager's configuration, which keeps them. */
static int32_t shared_rules(abx_manager *m, abx_config *config, const struct ruleset **ret,
                            abx_error **err)
{
    const struct layers nothing = { 0 };
    int32_t code = ABX_OK;

    if (m)
        (void)pthread_mutex_lock(&m->lock);
    if (!config->rules) /* it says nothing about them, else they would be there */
        code = rules_build(config, &nothing, &config->rules, &config->rules_withheld, err);
    if (m)
        (void)pthread_mutex_unlock(&m->lock);
    *ret = config->rules;
    return code;
}

/* ret_own: made for this call, to be freed. */
static int32_t find_rules(abx_manager *m, abx_config *config, const struct settings *call,
                          const struct ruleset **ret, struct ruleset **ret_own, bool *ret_withheld,
                          abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    struct layers layers;
    int32_t code = config_check_place(config, err);

    if (code != ABX_OK)
        return code;
    if (!rules_are_set(call)) {
        code = shared_rules(m, config, ret, err);
        *ret_withheld = config->rules_withheld;
        return code;
    }
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    code = config_merge(config, call, 0, &arena, &layers, err);
    if (code == ABX_OK)
        code = rules_build(config, &layers, ret_own, ret_withheld, err);
    *ret = *ret_own;
    return code;
}

/* ---- verdicts ---- */

static void run_judge(const struct ruleset *rules, const abx_command *c, const char *cwd,
                      struct arena *arena, struct verdict *ret)
{
    size_t count = 0;

    if (c->wish.text) {
        judge_text(rules, c->wish.text, strlen(c->wish.text), cwd, arena, ret);
        return;
    }
    while (c->wish.argv[count])
        count++;
    judge_argv(rules, (const char *const *)c->wish.argv, count, cwd, arena, ret);
}

/* A text that cannot be read has no parts: all of it is meant. */
static char *deciding_part(const struct verdict *v, const abx_command *c)
{
    if (!v->part_len && v->decision == DECISION_ESCALATED && c->wish.text)
        return strdup(c->wish.text);
    return strndup(v->part ? v->part : "", v->part ? v->part_len : 0);
}

static int32_t check_new(const struct verdict *v, const abx_command *c, abx_check **ret,
                         abx_error **err)
{
    abx_check *check = calloc(1, sizeof *check);

    if (!check)
        return err_nomem(err);
    check->decision = v->decision;
    check->rule = strdup(v->rule ? v->rule : "");
    check->reason = strdup(v->reason ? v->reason : "");
    check->part = deciding_part(v, c);
    if (!check->rule || !check->reason || !check->part) {
        abx_check_free(check);
        return err_nomem(err);
    }
    *ret = check;
    return ABX_OK;
}

static int32_t ask_caller(const abx_manager *m, const abx_command *c, abx_check *check,
                          abx_error **err)
{
    if (!m || !m->hooks.classify || check->decision == DECISION_FORBIDDEN)
        return ABX_OK;
    int32_t answer = m->hooks.classify(m->hooks.user, c, check);
    if (answer == 0)
        return ABX_OK;
    return err_new(err, ABX_E_CALLBACK, "classify a command: the caller's classifier failed (%d)",
                   (int)answer);
}

/* may_skip: nobody wants to see a verdict that lets the command run. */
static int32_t make_check(abx_manager *m, abx_config *config, const abx_command *c, const char *cwd,
                          struct arena *arena, bool may_skip, bool *ret_withheld, abx_check **ret,
                          abx_error **err)
{
    _ruleset_ struct ruleset *own = NULL;
    const struct ruleset *rules = NULL;
    abx_check *check = NULL;
    struct verdict verdict;
    int32_t code = find_rules(m, config, c->wish.settings, &rules, &own, ret_withheld, err);

    if (code != ABX_OK)
        return code;
    run_judge(rules, c, cwd, arena, &verdict);
    if (m)
        trace_verdict(m, decision_name(verdict.decision), verdict.rule);
    if (may_skip && verdict.decision < DECISION_ESCALATED && !(m && m->hooks.classify))
        return ABX_OK;
    code = check_new(&verdict, c, &check, err);
    if (code == ABX_OK)
        code = ask_caller(m, c, check, err);
    if (code != ABX_OK) {
        abx_check_free(check);
        return code;
    }
    *ret = check;
    return ABX_OK;
}

/* A verdict without the rules of such a file is not what its author meant. */
static int32_t refuse_withheld(const abx_config *config, abx_error **err)
{
    const struct config_file *file = config_project(config);
    int32_t code = err_new(err, ABX_E_CONFIG,
                           "use '%s': it loosens the classifier's rules and is not trusted",
                           file->path);

    err_subject(err, file->path);
    hint_trust(file, "--no-config does without it", err);
    return code;
}

static int32_t refuse_forbidden(const abx_check *check, abx_error **err)
{
    int32_t code = err_new(err, ABX_E_FORBIDDEN, "run '%.1000s': forbidden by rule '%s': %s",
                           check->part, check->rule, check->reason);

    err_subject(err, check->rule);
    err_hint(err, "nobody can approve it; `agentbox rules` tells about the rules");
    return code;
}

static int32_t judge_and_ask(abx_command *c, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    abx_check *check = NULL;
    bool withheld = false;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *cwd = command_directory(c, &arena);
    int32_t code = make_check(c->manager, c->config, c, cwd, &arena, true, &withheld, &check, err);
    if (code == ABX_OK && withheld)
        code = refuse_withheld(c->config, err);
    else if (code == ABX_OK && check && check->decision == DECISION_FORBIDDEN)
        code = refuse_forbidden(check, err);
    else if (code == ABX_OK && check && check->decision == DECISION_ESCALATED)
        code = command_approve(c->manager, c, check, &c->layers, cwd, err);
    abx_check_free(check);
    return code;
}

int32_t command_judge(abx_command *c, abx_error **err)
{
    int32_t code = c->judged ? ABX_OK : judge_and_ask(c, err);

    c->judged = code == ABX_OK;
    return code;
}

/* ---- public ---- */

static int32_t check_command(abx_manager *m, abx_config *config, const abx_command *c,
                             abx_check **ret, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    abx_check *check = NULL;
    bool withheld = false;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    int32_t code = make_check(m, config, c, command_directory(c, &arena), &arena, false, &withheld,
                              &check, err);
    if (code == ABX_OK && withheld) {
        abx_check_free(check);
        return refuse_withheld(config, err);
    }
    if (code == ABX_OK)
        *ret = check;
    return code;
}

int32_t abx_manager_check(abx_manager *m, const abx_command *c, abx_check **ret_check,
                          abx_error **err)
{
    abx_config *config = NULL;

    if (!c || !ret_check)
        return err_new(err, ABX_E_INVALID, "check: no command, or no place for the verdict");
    int32_t code = m ? manager_check_open(m, "check a command", err) : abx_config_new(&config, err);
    if (code != ABX_OK)
        return code;
    if (!m) {
        code = check_command(NULL, config, c, ret_check, err);
        abx_config_free(config);
        return code;
    }
    config = manager_config(m);
    code = check_command(m, config, c, ret_check, err);
    config_unref(config);
    return code;
}

int32_t abx_check_shell(const char *shell_text, abx_check **ret_check, abx_error **err)
{
    abx_command *command = NULL;
    int32_t code = abx_command_new_shell(shell_text, &command, err);

    if (code == ABX_OK)
        code = abx_manager_check(NULL, command, ret_check, err);
    abx_command_free(command);
    return code;
}

int32_t abx_check_decision(const abx_check *check)
{
    return check ? (int32_t)check->decision : ABX_DECISION_FORBIDDEN;
}

const char *abx_check_rule(const abx_check *check)
{
    return check ? check->rule : "";
}

const char *abx_check_reason(const abx_check *check)
{
    return check ? check->reason : "";
}

const char *abx_check_part(const abx_check *check)
{
    return check ? check->part : "";
}

int32_t abx_check_json(const abx_check *check, char **ret_text, abx_error **err)
{
    _buf_ struct buf b = { .limit = CHECK_MAX_JSON };
    struct json j;

    if (!check || !ret_text)
        return err_new(err, ABX_E_INVALID, "print a verdict: there is none, or no place for it");
    json_init(&j, &b);
    json_object(&j);
    json_pair_str(&j, "decision", decision_name(check->decision));
    json_pair_str(&j, "rule", check->rule);
    json_pair_str(&j, "reason", check->reason);
    json_pair_str(&j, "part", check->part);
    json_object_end(&j);
    (void)buf_putc(&b, '\n');
    return take_text(&b, ret_text, err);
}

int32_t abx_check_set(abx_check *check, int32_t decision, const char *rule, const char *reason,
                      abx_error **err)
{
    if (!check || decision < ABX_DECISION_ALLOW || decision > ABX_DECISION_FORBIDDEN)
        return err_new(err, ABX_E_INVALID, "change a verdict: there is none, or no such decision");
    if (check->decision == DECISION_FORBIDDEN && decision != ABX_DECISION_FORBIDDEN)
        return err_new(err, ABX_E_FORBIDDEN, "change a verdict: rule '%s' forbids", check->rule);
    char *new_rule = strdup(rule ? rule : ""), *new_reason = strdup(reason ? reason : "");
    if (!new_rule || !new_reason) {
        free(new_rule);
        free(new_reason);
        return err_nomem(err);
    }
    free(check->rule);
    free(check->reason);
    check->decision = (enum decision)decision;
    check->rule = new_rule;
    check->reason = new_reason;
    return ABX_OK;
}

void abx_check_free(abx_check *check)
{
    if (!check)
        return;
    free(check->rule);
    free(check->reason);
    free(check->part);
    free(check);
}

const char *abx_decision_name(int32_t decision)
{
    return decision < ABX_DECISION_ALLOW || decision > ABX_DECISION_FORBIDDEN
               ? "?"
               : decision_name((enum decision)decision);
}

const char *abx_rule_name(size_t index)
{
    struct rule_info info;

    return rule_info(index, &info) ? info.name : NULL;
}

int32_t abx_rule_decision(size_t index)
{
    struct rule_info info;

    return rule_info(index, &info) ? (int32_t)info.decision : -1;
}

const char *abx_rule_reason(size_t index)
{
    struct rule_info info;

    return rule_info(index, &info) ? info.reason : NULL;
}

const char *abx_rule_example(size_t index)
{
    struct rule_info info;

    return rule_info(index, &info) ? info.example : NULL;
}
