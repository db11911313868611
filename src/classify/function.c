/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions and aliases that a text defines, where it calls them.
 *
 * A call of a function walks its body with the arguments bound, each time again. Where a name may
 * be a function or not (defined in a branch, taken away), both are walked. A function that reaches
 * itself is entered twice more, the second time with nothing known, which stands for all the rest;
 * it is said when that is a fork bomb. Aliases are strict: a shell that does not expand them would
 * run the plain command, so both are walked, and from the moment of the definition on.
 */
#include <string.h>

#include "base/str.h"
#include "classify/walker.h"

bool function_is_certain(const struct walker *w, const struct symbol *symbol)
{
    return symbol->functions && !w->scope->poisoned &&
           symbol->function_epoch == w->scope->definitions.value.epoch;
}

bool function_define(struct walker *w, const struct shell_command *command)
{
    struct symbol *symbol = scope_intern(w->scope, command->name, command->name_len);
    struct function *function = walk_alloc(w, 1, sizeof(*function));

    if (!symbol || !function)
        return walk_fail(w, WALK_NOMEM, "no memory", NULL);
    if (w->function_count == w->function_cap) {
        size_t cap = w->function_cap ? w->function_cap * 2 : 8;
        struct function **grown = walk_alloc(w, cap, sizeof(struct function *));

        if (!grown)
            return false;
        if (w->function_count > 0)
            memcpy(grown, w->functions, w->function_count * sizeof(struct function *));
        w->functions = grown;
        w->function_cap = cap;
    }
    w->functions[w->function_count++] = function;
    function->definition = command;
    if (w->unsure > 0 || symbol->is_fixed || walk_is_skipped(w)) {
        function->next = symbol->functions;
    } else {
        symbol->function_epoch = w->scope->definitions.value.epoch;
    }
    symbol->functions = function;
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Does this call, from inside the function itself, multiply it? */
static bool is_fork_bomb(const struct walker *w, struct symbol *symbol,
                         const struct shell_command *command, const struct context *cx)
{
    const struct frame *frame = w->frame;
    bool always, twice;
    uint32_t flags;

    while (frame && frame->symbol != symbol)
        frame = frame->outer;
    if (!frame)
        return false;
    flags = cx->flags & ~frame->flags;
    always = w->branches == frame->branches;
    twice = symbol->again && symbol->again != command;
    if (!symbol->again)
        symbol->again = command;
    return (flags & CALL_BACKGROUND) || (twice && always) ||
           ((flags & (CALL_STDIN_PIPE | CALL_STDOUT_PIPE)) && (twice || always));
}

static void frame_leave(struct walker *w, struct frame *frame)
{
    for (const struct local *local = frame->locals; local; local = local->next) {
        uint32_t readonly = local->symbol->flags & SYMBOL_READONLY;

        scope_set_flags(w->scope, local->symbol, local->flags & ~readonly);
        scope_set(w->scope, local->symbol, local->value);
        if (local->value.epoch != w->scope->epoch.value.epoch)
            scope_forget(w->scope, local->symbol);
        scope_set_flags(w->scope, local->symbol, local->flags);
    }
    w->frame = frame->outer;
}

/* What stands in front of the call holds for the body. */
static bool frame_assigns(struct walker *w, struct frame *frame, const struct call *call)
{
    for (size_t i = 0; i < call->assign_count; i++) {
        const struct assignment *assign = &call->assigns[i];
        struct symbol *symbol = scope_intern(w->scope, assign->name, strlen(assign->name));
        struct local *local = walk_alloc(w, 1, sizeof(*local));

        if (!symbol || !local)
            return walk_fail(w, WALK_NOMEM, "no memory", NULL);
        *local = (struct local){ frame->locals, symbol, symbol->value, symbol->flags };
        frame->locals = local;
        scope_set_word(w->scope, symbol, &assign->value);
        scope_export(w->scope, symbol);
    }
    return true;
}

/*
 * A function that is called all the time is walked once more with nothing known, which stands for
 * all later calls in the same context.
 */
static bool function_is_general(struct function *function, const struct symbol *symbol,
                                const struct call *call, const struct context *cx, bool *ret_done)
{
    bool plain = call->redirect_count == 0 && !cx->feeder;

    *ret_done = false;
    if (++function->walked <= WALK_MAX_BODIES && symbol->active <= 1)
        return false;
    if (!plain)
        return symbol->active > 1;
    *ret_done = function->general && function->general_flags == cx->flags;
    function->general = true;
    function->general_flags = cx->flags;
    return true;
}

static bool function_enter(struct walker *w, struct symbol *symbol, struct function *function,
                           const struct call *call, const struct context *cx)
{
    struct frame *frame = walk_alloc(w, 1, sizeof(*frame));
    struct value args = w->scope->args.value;
    struct context inner = *cx;
    struct jump *jump;
    bool ok, done, general = function_is_general(function, symbol, call, cx, &done);

    if (!frame)
        return false;
    if (general)
        scope_forget_values(w->scope);
    if (done)
        return true;
    *frame = (struct frame){ w->frame, symbol, NULL, w->branches, cx->flags };
    inner.redirects = call->redirects;
    inner.redirect_count = call->redirect_count;
    if (inner.redirect_count > WALK_MAX_REDIRECTS)
        return walk_fail(w, WALK_LIMIT, "too many redirections", call->part);
    function->called = true;
    w->frame = frame;
    if (symbol->active++ == 0)
        symbol->again = NULL;
    scope_set(w->scope, &w->scope->args,
              (struct value){ .kind = general ? VALUE_UNKNOWN : VALUE_LIST,
                              .count = general ? 0 : (uint32_t)(call->count - 1),
                              .items = call->words + 1 });
    jump = walk_jump_begin(w, JUMP_FUNCTION);
    ok = jump && frame_assigns(w, frame, call) &&
         walk_command(w, function->definition->body, &inner);
    symbol->active--;
    if (jump && jump->taken)
        (void)scope_merge(w->scope, jump->mark);
    if (jump)
        (void)walk_jump_end(w, jump);
    frame_leave(w, frame);
    if (args.epoch == w->scope->epoch.value.epoch)
        scope_set(w->scope, &w->scope->args, args);
    else
        scope_forget(w->scope, &w->scope->args);
    return ok;
}

bool function_call(struct walker *w, struct symbol *symbol, const struct call *call,
                   const struct shell_command *command, const struct context *cx)
{
    bool certain = function_is_certain(w, symbol) && !symbol->functions->next;
    struct function *function = symbol->functions;

    if (symbol->active > 0 && is_fork_bomb(w, symbol, command, cx)) {
        struct call *bomb = walk_alloc(w, 1, sizeof(*bomb));

        if (!bomb)
            return false;
        scope_forget_values(w->scope);
        *bomb = *call;
        bomb->flags |= CALL_FORK_BOMB;
        return walk_visit_call(w, bomb);
    }
    if (symbol->active > 2) { /* the level above was walked with nothing known */
        scope_forget_values(w->scope);
        return true;
    }
    if (certain)
        return function_enter(w, symbol, function, call, cx);
    w->unsure++;
    for (; function; function = function->next) {
        size_t mark = scope_mark(w->scope);

        if (!function_enter(w, symbol, function, call, cx))
            return false;
        (void)scope_merge(w->scope, mark);
    }
    w->unsure--;
    return true;
}

/* The bodies that nobody called, with arguments that nobody knows. */
bool function_rest(struct walker *w, const struct context *cx)
{
    struct context inner = *cx;

    inner.flags |= CALL_FUNCTION_BODY;
    for (size_t i = 0; i < w->function_count; i++) {
        struct function *function = w->functions[i];
        size_t mark = scope_mark(w->scope);

        if (function->called)
            continue;
        function->called = true;
        w->unsure++;
        scope_forget_all(w->scope);
        if (!walk_command(w, function->definition->body, &inner))
            return false;
        w->unsure--;
        scope_rollback(w->scope, mark);
    }
    return true;
}

/* ---- aliases --------------------------------------------------------------------------------- */

bool builtin_alias(struct walker *w, const struct word *words, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const char *equals = strchr(words[i].text, '=');
        struct symbol *symbol;
        struct alias *alias;

        if (!equals || equals == words[i].text)
            continue;
        symbol = scope_intern(w->scope, words[i].text, (size_t)(equals - words[i].text));
        alias = walk_alloc(w, 1, sizeof(*alias));
        if (!symbol || !alias)
            return walk_fail(w, WALK_NOMEM, "no memory", NULL);
        alias->text = words[i];
        alias->text.text = equals + 1;
        alias->text.len = strlen(equals + 1);
        alias->next = symbol->aliases;
        symbol->aliases = alias;
    }
    return true;
}

/* hash -p PROGRAM NAME…; zsh: hash NAME=PROGRAM. */
bool builtin_hash(struct walker *w, const struct word *words, size_t count)
{
    bool binds = false;

    for (size_t i = 1; i < count; i++) {
        size_t len = strcspn(words[i].text, "=");
        struct symbol *symbol;

        binds |= words[i].text[0] == '-' && strchr(words[i].text, 'p');
        if (!binds && !words[i].text[len])
            continue;
        symbol = scope_intern(w->scope, words[i].text, len);
        if (!symbol)
            return walk_fail(w, WALK_NOMEM, "no memory", NULL);
        symbol->is_rebound = true;
    }
    return true;
}

static bool alias_walk(struct walker *w, const struct alias *alias,
                       const struct shell_command *command, const struct context *cx)
{
    const char *rest = command->words->raw + command->words->raw_len;
    size_t rest_len = (size_t)(command->raw + command->raw_len - rest);
    struct shell shell = { .arena = w->arena,
                           .depth = MIN_OF(w->depth, WALK_MAX_DEPTH),
                           .plain = w->shell.plain };
    const struct shell_list *list;
    size_t mark = scope_mark(w->scope);
    char *text;
    bool ok;

    if (alias->text.len + rest_len > w->budget)
        return walk_fail(w, WALK_LIMIT, "aliases that long", command->raw);
    w->budget -= alias->text.len + rest_len;
    text = walk_alloc(w, alias->text.len + rest_len + 1, 1);
    if (!text)
        return false;
    memcpy(text, alias->text.text, alias->text.len);
    memcpy(text + alias->text.len, rest, rest_len);
    list = shell_parse(&shell, text, alias->text.len + rest_len);
    w->shell.differs |= shell.differs;
    if (!list)
        return walk_fail(w, shell.result, "an alias that cannot be read", command->raw);
    w->unsure++;
    w->branches++;
    ok = walk_list(w, list, cx);
    w->branches--;
    w->unsure--;
    (void)scope_merge(w->scope, mark);
    return ok;
}

/* It ends in a blank: the shell looks at the next word, too, and there is such an alias. */
static bool alias_goes_on(const struct walker *w, const struct alias *alias,
                          const struct call *call)
{
    char last = alias->text.len > 0 ? alias->text.text[alias->text.len - 1] : '\0';

    if (last != ' ' && last != '\t')
        return false;
    for (size_t i = 1; i < call->count; i++) {
        const struct symbol *symbol = scope_find(w->scope, call->words[i].text, call->words[i].len);

        if (symbol && symbol->aliases)
            return true;
    }
    return false;
}

bool alias_call(struct walker *w, struct symbol *symbol, const struct call *call,
                const struct shell_command *command, const struct context *cx)
{
    bool ok = true;

    symbol->in_alias = true;
    for (const struct alias *alias = symbol->aliases; ok && alias; alias = alias->next) {
        if (!(alias->text.flags & WORD_UNKNOWN) && !alias_goes_on(w, alias, call)) {
            ok = alias_walk(w, alias, command, cx);
            continue;
        }
        ok = walk_visit_unknown(w, call);
        scope_forget_all(w->scope);
    }
    symbol->in_alias = false;
    return ok;
}
