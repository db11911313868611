/* SPDX-License-Identifier: Apache-2.0 */
/*
 * break, continue and return, and what may jump like them: they leave a loop or a function in the
 * middle, so what had changed until then may or may not be so after it. Each loop and each function
 * that is walked has a `struct jump`; a jump notes there what is different from its beginning, and
 * at its end that is unknown.
 */
#include "classify/walker.h"

struct jump *walk_jump_begin(struct walker *w, bool is_loop)
{
    struct jump *jump = walk_alloc(w, 1, sizeof(*jump));

    if (jump) {
        *jump = (struct jump){ .outer = w->jump, .mark = scope_mark(w->scope) };
        jump->is_loop = is_loop;
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

/* What is different now from the start of the loop or function is so after it, perhaps. */
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
        if ((jump->is_loop ? loops : functions) && !jump_taint(w, jump))
            return false;
        if (!jump->is_loop)
            break;
    }
    return true;
}
