/* SPDX-License-Identifier: Apache-2.0 */
/*
 * break, continue and return, and what may jump like them: they leave a loop or a function in the
 * middle, so what had changed until then may or may not be so after it. Each loop and each function
 * that is walked has a `struct jump`; a jump notes there what is different from its beginning, and
 * at its end that is unknown. Lines have one, too: where an expansion fails (`: $((1/0)); a=b`)
 * bash leaves all that is under way, functions as well, and goes on behind the end of the line.
 */
#include "classify/walker.h"

struct jump *walk_jump_begin(struct walker *w, enum jump_kind kind)
{
    struct jump *jump = walk_alloc(w, 1, sizeof(*jump));

    if (jump) {
        *jump = (struct jump){ .outer = w->jump, .mark = scope_mark(w->scope) };
        jump->kind = kind;
        w->jump = jump;
    }
    return jump;
}

bool walk_jump_end(struct walker *w, struct jump *jump)
{
    bool lost = false;

    w->jump = jump->outer;
    for (const struct taint *taint = jump->taints; taint; taint = taint->next) {
        lost |= scope_get(w->scope, taint->symbol).kind > VALUE_UNKNOWN;
        scope_forget(w->scope, taint->symbol);
    }
    return lost;
}

/* What is different now from its start is so after it, perhaps. */
static bool jump_taint(struct walker *w, struct jump *jump)
{
    struct scope *s = w->scope;

    jump->taken = true;
    w->steps += (s->change_count - MIN_OF(jump->mark, s->change_count)) / 4;
    s->stamps++;
    for (size_t i = jump->mark; i < s->change_count; i++) {
        struct symbol *symbol = s->changes[i].symbol;
        struct taint *taint;

        if (symbol->stamp == s->stamps || symbol == &s->epoch || symbol == &s->definitions)
            continue;
        symbol->stamp = s->stamps;
        if (value_equal(&symbol->value, &s->changes[i].value))
            continue;
        taint = walk_alloc(w, 1, sizeof(*taint));
        if (!taint)
            return false;
        *taint = (struct taint){ jump->taints, symbol };
        jump->taints = taint;
    }
    return walk_step(w);
}

bool walk_jump_take(struct walker *w, bool loops, bool functions)
{
    for (struct jump *jump = w->jump; jump; jump = jump->outer) {
        if (jump->kind == JUMP_LINE)
            break;
        if ((jump->kind == JUMP_LOOP ? loops : functions) && !jump_taint(w, jump))
            return false;
        if (jump->kind == JUMP_FUNCTION)
            break;
    }
    return true;
}

bool walk_may_fail(struct walker *w)
{
    struct jump *line = w->jump;

    while (line && line->kind != JUMP_LINE)
        line = line->outer;
    if (!line)
        return true;
    if (line->taken || w->unsure > 0 || w->frame)
        return jump_taint(w, line);
    line->taken = true; /* surely reached: all that is in front of it has happened */
    line->mark = scope_mark(w->scope);
    return true;
}

bool walk_is_skipped(const struct walker *w)
{
    for (const struct jump *jump = w->jump; jump; jump = jump->outer) {
        if (jump->taken)
            return true;
    }
    return false;
}
