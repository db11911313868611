/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk through compound commands: conditions, loops, case, coproc.
 *
 * All branches are walked from the same state, and joined after. A for loop over known words is
 * walked once for each; any other loop until another time would change nothing that is known, which
 * is at the latest when everything was forgotten. A branch that ends in exit does not come back, so
 * what it changed does not count.
 */
#include <string.h>

#include "classify/walker.h"

/* A list that may not run. *ret: what it changes, if it comes back. */
static bool walk_branch(struct walker *w, const struct shell_list *list, const struct context *cx,
                        struct scope_delta **ret)
{
    size_t mark = scope_mark(w->scope);
    bool ok;

    w->unsure++;
    w->branches++;
    ok = walk_list(w, list, cx);
    w->branches--;
    w->unsure--;
    *ret = scope_detach(w->scope, mark);
    if (walk_list_exits(w, list))
        *ret = NULL;
    return ok;
}

static bool walk_if(struct walker *w, const struct shell_command *command, const struct context *cx)
{
    struct scope_delta *then, *otherwise = NULL;

    if (!walk_list(w, command->first, cx) || !walk_branch(w, command->second, cx, &then) ||
        (command->third && !walk_branch(w, command->third, cx, &otherwise)))
        return false;
    (void)scope_join(w->scope, then);
    (void)scope_join(w->scope, otherwise);
    return true;
}

static bool walk_case(struct walker *w, const struct shell_command *command,
                      const struct context *cx)
{
    struct scope_delta *all = NULL, *one;

    if (!expand_visit(w, cx, command->words))
        return false;
    for (const struct shell_clause *clause = command->clauses; clause; clause = clause->next) {
        if (!walk_step(w) || !expand_visit(w, cx, clause->patterns) ||
            !walk_branch(w, clause->body, cx, &one))
            return false;
        if (one && clause->falls) {
            (void)scope_join(w->scope, one);
        } else if (one) {
            one->next = all;
            all = one;
        }
    }
    for (; all; all = all->next)
        (void)scope_join(w->scope, all);
    return true;
}

/* for NAME in …: to the judge it is NAME=value, where such a name matters to programs. */
static bool loop_value(struct walker *w, const struct shell_command *command,
                       const struct context *cx, const struct word *value)
{
    static const char hole[] = { WORD_HOLE, '\0' };
    static const struct word unknown = { .text = hole, .len = 1, .flags = WORD_UNKNOWN };
    struct symbol *symbol = scope_intern(w->scope, command->name, command->name_len);
    struct assignment *assign;
    struct call *call;

    if (!symbol)
        return walk_fail(w, WALK_NOMEM, "no memory", NULL);
    if (value)
        assign_text(w, command->name, command->name_len, false, value);
    else
        scope_forget(w->scope, symbol);
    if (!(symbol->flags & SYMBOL_EXPORTED) && !name_is_environment(symbol->name))
        return true;
    call = walk_alloc(w, 1, sizeof(*call));
    assign = walk_alloc(w, 1, sizeof(*assign));
    if (!call || !assign)
        return false;
    *assign = (struct assignment){ .name = symbol->name, .value = value ? *value : unknown };
    call->assigns = assign;
    call->assign_count = 1;
    call->part = command->raw;
    call->part_len = command->raw_len;
    walk_call_context(w, call, cx);
    return walk_visit_call(w, call);
}

/* One time through a loop. *ret_changed: the next time may be different. */
static bool loop_pass(struct walker *w, const struct shell_command *command,
                      const struct context *cx, const struct word *value, bool *ret_changed)
{
    const struct shell_list *lists[] = { command->first, command->second };
    size_t mark = scope_mark(w->scope);
    struct jump *jump = walk_jump_begin(w, JUMP_LOOP);
    bool ok = jump && walk_step(w);

    if (!jump)
        return false;
    w->unsure++;
    w->branches++;
    if (command->kind == COMMAND_FOR)
        ok = ok && loop_value(w, command, cx, value);
    else if (command->kind == COMMAND_FOR_ARITH)
        ok = ok && expand_arith(w, cx, command->words);
    for (size_t i = 0; ok && i < ARRAY_LEN(lists) && lists[i]; i++)
        ok = walk_list(w, lists[i], cx);
    w->branches--;
    w->unsure--;
    *ret_changed = scope_merge(w->scope, mark) > 0;
    *ret_changed |= walk_jump_end(w, jump);
    return ok;
}

/* Until another time would change nothing more. */
static bool loop_until_still(struct walker *w, const struct shell_command *command,
                             const struct context *cx)
{
    bool changed = true;

    for (int i = 0; changed && i < WALK_MAX_PASSES; i++) {
        if (!loop_pass(w, command, cx, NULL, &changed))
            return false;
    }
    if (!changed)
        return true;
    scope_forget_values(w->scope);
    return loop_pass(w, command, cx, NULL, &changed);
}

static bool walk_for(struct walker *w, const struct shell_command *command,
                     const struct context *cx)
{
    const struct word *words = NULL;
    uint32_t rounds = w->rounds;
    size_t count = 0;
    bool known = true, changed;

    if (command->flags & COMMAND_ARGS) {
        struct value args = scope_get(w->scope, &w->scope->args);

        known = args.kind == VALUE_LIST;
        words = args.items;
        count = args.count;
    } else if (!expand_words(w, cx, command->words, &words, &count)) {
        return false;
    }
    for (size_t i = 0; i < count && known && count <= WALK_MAX_ROUNDS; i++)
        known = !(words[i].flags & WORD_SPLITS);
    if (!known || (command->flags & COMMAND_SELECT) || count * MAX_OF(rounds, 1) > WALK_MAX_ROUNDS)
        return loop_until_still(w, command, cx);
    if (count == 0) /* never, as it seems; the commands are there all the same */
        return loop_pass(w, command, cx, NULL, &changed);
    w->rounds = (uint32_t)(count * MAX_OF(rounds, 1));
    for (size_t i = 0; i < count; i++) {
        if (!loop_pass(w, command, cx, &words[i], &changed))
            return false;
        if ((words[i].flags & WORD_GLOB) && changed &&
            !loop_pass(w, command, cx, &words[i], &changed))
            return false;
    }
    w->rounds = rounds;
    return true;
}

static bool walk_coproc(struct walker *w, const struct shell_command *command,
                        const struct context *cx)
{
    struct context inner = *cx;
    size_t mark = scope_mark(w->scope);
    bool ok;

    inner.flags |= CALL_BACKGROUND | CALL_STDIN_PIPE | CALL_STDOUT_PIPE;
    inner.feeder = NULL;
    w->unsure++;
    ok = walk_command(w, command->body, &inner);
    w->unsure--;
    scope_rollback(w->scope, mark);
    scope_forget_name(w->scope, command->name, command->name_len);
    return ok;
}

bool walk_compound(struct walker *w, const struct shell_command *command, const struct context *cx)
{
    switch (command->kind) {
    case COMMAND_SIMPLE:
        break;
    case COMMAND_GROUP:
        return walk_list(w, command->first, cx);
    case COMMAND_SUBSHELL:
        return walk_subshell(w, command->first, cx);
    case COMMAND_IF:
        return walk_if(w, command, cx);
    case COMMAND_WHILE:
    case COMMAND_FOR_ARITH:
        return loop_until_still(w, command, cx);
    case COMMAND_FOR:
        return walk_for(w, command, cx);
    case COMMAND_CASE:
        return walk_case(w, command, cx);
    case COMMAND_FUNCTION:
        return function_define(w, command);
    case COMMAND_TEST:
        return expand_test(w, cx, command->words);
    case COMMAND_ARITH:
        return expand_arith(w, cx, command->words);
    case COMMAND_COPROC:
        return walk_coproc(w, command, cx);
    }
    return false;
}
