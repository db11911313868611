/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk: every simple command of a shell text, in its context, in the order of the text.
 *
 * The text is read as a whole first; what cannot be read is not walked at all. Nothing is run and
 * no file is looked at. Wherever a part may or may not run, it is walked as if it did, and what it
 * changes is unknown after unless it makes no difference. So the calls that are visited are those
 * that a run would make, and more; a word without a hole is what the run would have.
 *
 * Not believed: that a cd fails, except on the other side of ||; that exit is anything else than
 * the end. Nesting, calls and steps are limited.
 */
#include "classify/walk.h"

#include <string.h>

#include "base/str.h"
#include "classify/walker.h"

bool walk_fail(struct walker *w, enum walk_result result, const char *what, const char *at)
{
    if (w->result == WALK_OK) {
        w->result = result;
        w->problem.what = what;
        if (at >= w->text && at <= w->text + w->len)
            w->problem.offset = (size_t)(at - w->text);
    }
    return false;
}

void *walk_alloc(struct walker *w, size_t count, size_t size)
{
    void *piece = arena_alloc(w->arena, count, size);

    if (!piece)
        (void)walk_fail(w, WALK_NOMEM, "no memory", NULL);
    return piece;
}

bool walk_step(struct walker *w)
{
    if (w->scope->failed)
        return walk_fail(w, WALK_NOMEM, "no memory", NULL);
    if (w->scope->too_many)
        return walk_fail(w, WALK_LIMIT, "too many exports", NULL);
    if (++w->steps > (uint64_t)WALK_STEP_FACTOR * (w->len + 1024))
        return walk_fail(w, WALK_LIMIT, "loops and functions that do too much", NULL);
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

bool walk_visit_call(struct walker *w, const struct call *call)
{
    if (w->calls++ >= WALK_MAX_CALLS)
        return walk_fail(w, WALK_LIMIT, "too many commands", call->part);
    w->current = call;
    if (!w->visit(w->user, call))
        return walk_fail(w, WALK_STOPPED, "stopped", call->part);
    w->current = NULL;
    w->last = call;
    return true;
}

void walk_call_context(struct walker *w, struct call *call, const struct context *cx)
{
    struct value cwd = scope_get(w->scope, &w->scope->cwd);

    call->flags = cx->flags;
    call->feeder = cx->feeder;
    call->exports = w->scope->exports;
    call->export_count = w->scope->export_count;
    call->walker = w;
    call->cwd = "";
    if (cwd.kind == VALUE_SCALAR)
        call->cwd = cwd.items[0].text;
    else
        call->flags |= CALL_CWD_UNKNOWN;
}

static bool simple_assigns(struct walker *w, const struct shell_command *command, bool keep,
                           struct call *call, const struct context *cx)
{
    struct assignment *list;
    size_t count = 0;

    for (const struct shell_word *word = command->assigns; word; word = word->next)
        count++;
    if (count == 0)
        return true;
    list = walk_alloc(w, count, sizeof(*list));
    if (!list)
        return false;
    call->assigns = list;
    for (const struct shell_word *word = command->assigns; word; word = word->next) {
        if (!assign_word(w, cx, word, keep, &list[call->assign_count++]))
            return false;
    }
    return true;
}

bool walk_visit_unknown(struct walker *w, const struct call *call)
{
    static const char hole[] = { WORD_HOLE, '\0' };
    struct word *words = walk_alloc(w, call->count, sizeof(*words));
    struct call *unknown = walk_alloc(w, 1, sizeof(*unknown));

    if (!words || !unknown)
        return false;
    memcpy(words, call->words, call->count * sizeof(*words));
    words[0] = (struct word){ .text = hole, .len = 1, .flags = WORD_UNKNOWN | WORD_SPLITS };
    *unknown = *call;
    unknown->words = words;
    return walk_visit_call(w, unknown);
}

/* The alias or function of that name, if there is one; then whether the name may be a program. */
static bool simple_resolve(struct walker *w, const struct shell_command *command,
                           const struct call *call, const struct context *cx, bool *ret_program)
{
    struct symbol *symbol = NULL;

    *ret_program = true;
    if (call->count > 0 && w->scope->root && !(call->words[0].flags & WORD_UNKNOWN))
        symbol = scope_find(w->scope, call->words[0].text, call->words[0].len);
    if (symbol && symbol->is_rebound && !walk_visit_unknown(w, call))
        return false;
    if (!symbol || (!symbol->functions && !symbol->aliases))
        return true;
    if (symbol->aliases && !symbol->in_alias && (command->words->flags & SHELL_WORD_PLAIN) &&
        !alias_call(w, symbol, call, command, cx))
        return false;
    if (!symbol->functions)
        return true;
    *ret_program = !function_is_certain(w, symbol) && symbol->active == 0;
    if (call->redirect_count > cx->redirect_count && !*ret_program) {
        struct call *bare = walk_alloc(w, 1, sizeof(*bare));

        if (!bare)
            return false;
        *bare = *call;
        bare->count = 0;
        if (!walk_visit_call(w, bare))
            return false;
    }
    return function_call(w, symbol, call, command, cx);
}

static bool walk_simple(struct walker *w, const struct shell_command *command,
                        const struct context *cx)
{
    struct call *call = walk_alloc(w, 1, sizeof(*call));
    bool is_program;

    if (!call || !expand_command(w, cx, command, &call->words, &call->count) ||
        !simple_assigns(w, command, call->count == 0, call, cx) ||
        !expand_redirects(w, cx, command->redirects, &call->redirects, &call->redirect_count))
        return false;
    if (call->count == 0 && call->assign_count == 0 && !command->redirects)
        return true; /* a line end of DOS, an empty value */
    call->part = command->raw;
    call->part_len = command->raw_len;
    walk_call_context(w, call, cx);
    if (!simple_resolve(w, command, call, cx, &is_program))
        return false;
    return !is_program || (walk_visit_call(w, call) && builtin_apply(w, call));
}

/* ---- commands -------------------------------------------------------------------------------- */

bool walk_subshell(struct walker *w, const struct shell_list *list, const struct context *cx)
{
    size_t mark = scope_mark(w->scope);
    struct jump *jump = w->jump; /* nothing in it leads out of the process */
    bool ok;

    w->jump = NULL;
    w->unsure++;
    ok = walk_list(w, list, cx);
    w->unsure--;
    w->jump = jump;
    scope_rollback(w->scope, mark);
    return ok;
}

static bool walk_exits(const struct walker *w, const struct shell_command *command);

/* exit, or return from a function, and neither a function nor an alias. */
static bool simple_exits(const struct walker *w, const struct shell_command *command)
{
    const struct shell_word *word = command->words;
    const struct symbol *symbol;

    if (command->kind != COMMAND_SIMPLE || command->assigns || !word ||
        !(word->flags & SHELL_WORD_PLAIN))
        return false;
    if (!str_is(word->first.text, word->first.len, "exit") &&
        !(w->frame && str_is(word->first.text, word->first.len, "return")))
        return false;
    symbol = scope_find(w->scope, word->first.text, word->first.len);
    return !symbol || (!symbol->functions && !symbol->aliases);
}

/* The last command ends the shell, and stands for itself. */
bool walk_list_exits(const struct walker *w, const struct shell_list *list)
{
    const struct shell_item *before = NULL, *item = list->items;

    if (!item)
        return false;
    for (; item->next; item = item->next)
        before = item;
    return item->op == NEXT_SEQUENCE && !item->negated &&
           (!before || before->op == NEXT_SEQUENCE || before->op == NEXT_BACKGROUND) &&
           walk_exits(w, item->pipeline);
}

static bool walk_exits(const struct walker *w, const struct shell_command *command)
{
    if (command->next)
        return false;
    return command->kind == COMMAND_GROUP ? walk_list_exits(w, command->first)
                                          : simple_exits(w, command);
}

/* The redirections of a compound: for all in it, and to be judged by themselves. */
static bool compound_redirects(struct walker *w, const struct shell_command *command,
                               struct context *cx)
{
    struct call *call;

    if (!command->redirects)
        return true;
    call = walk_alloc(w, 1, sizeof(*call));
    if (!call || !expand_redirects(w, cx, command->redirects, &cx->redirects, &cx->redirect_count))
        return false;
    if (cx->redirect_count > WALK_MAX_REDIRECTS)
        return walk_fail(w, WALK_LIMIT, "too many redirections", command->raw);
    call->part = command->raw;
    call->part_len = command->raw_len;
    call->redirects = cx->redirects;
    call->redirect_count = cx->redirect_count;
    walk_call_context(w, call, cx);
    return walk_visit_call(w, call);
}

bool walk_command(struct walker *w, const struct shell_command *command, const struct context *cx)
{
    struct context inner;
    bool ok;

    if (!walk_step(w))
        return false;
    if (command->kind == COMMAND_SIMPLE)
        return walk_simple(w, command, cx);
    if (w->depth >= WALK_MAX_NESTED)
        return walk_fail(w, WALK_LIMIT, "nested too deeply", command->raw);
    inner = *cx;
    w->depth++;
    ok = compound_redirects(w, command, &inner) && walk_compound(w, command, &inner);
    w->depth--;
    return ok;
}

/* ---- pipelines and lists --------------------------------------------------------------------- */

static bool walk_pipeline(struct walker *w, const struct shell_item *item, const struct context *cx)
{
    const struct shell_command *command = item->pipeline;
    struct context inner = *cx;

    if (!command->next)
        return walk_command(w, command, cx);
    w->unsure++;
    for (; command; command = command->next) {
        size_t mark = scope_mark(w->scope);

        inner.flags = (inner.flags & ~CALL_STDOUT_PIPE) | (cx->flags & CALL_STDOUT_PIPE);
        if (command->next)
            inner.flags |= CALL_STDOUT_PIPE;
        if (!walk_command(w, command, &inner))
            return false;
        if (command->next)
            scope_rollback(w->scope, mark);
        else
            (void)scope_merge(w->scope, mark); /* some shells run the last one themselves */
        inner.flags |= CALL_STDIN_PIPE;
        inner.feeder = command->kind == COMMAND_SIMPLE && w->last && w->last->part == command->raw
                           ? w->last
                           : NULL;
    }
    w->unsure--;
    return true;
}

static bool item_is_cd(const struct shell_item *item)
{
    const struct shell_command *command = item->pipeline;
    const struct shell_word *word = command->words;

    return command->kind == COMMAND_SIMPLE && !command->next && word &&
           (word->flags & SHELL_WORD_PLAIN) &&
           (str_is(word->first.text, word->first.len, "cd") ||
            str_is(word->first.text, word->first.len, "pushd"));
}

/* The right side of ||: what came before it has failed, a cd too. */
static bool walk_otherwise(struct walker *w, const struct shell_item *item,
                           const struct shell_item *before, const struct value *cwd,
                           const struct context *cx)
{
    if (item_is_cd(before) && cwd->epoch == w->scope->epoch.value.epoch)
        scope_set(w->scope, &w->scope->cwd, *cwd);
    else if (!value_equal(cwd, &w->scope->cwd.value))
        scope_forget(w->scope, &w->scope->cwd);
    return walk_pipeline(w, item, cx);
}

/* "… || exit" ends the chain: whoever comes by it has succeeded with all that is in front. */
static bool chain_is_checked(const struct walker *w, const struct shell_item *first,
                             const struct shell_item *end)
{
    const struct shell_item *item = first;

    while (item->next != end && item->op == NEXT_AND)
        item = item->next;
    return item->op == NEXT_OR && item->next && item->next->next == end &&
           item->next->op == NEXT_SEQUENCE && walk_exits(w, item->next->pipeline);
}

/* Pipelines joined by && and ||, up to end. */
static bool walk_chain(struct walker *w, const struct shell_item *first,
                       const struct shell_item *end, const struct context *cx)
{
    bool checked = first->next != end && chain_is_checked(w, first, end);
    struct value before = w->scope->cwd.value; /* of the chain, then of the last item */
    struct value cwd = before;
    size_t mark;

    if (!walk_pipeline(w, first, cx))
        return false;
    if (first->next == end) {
        if (item_is_cd(first) && !w->scope->stops_on_error && cwd_is_risky(&before))
            scope_forget(w->scope, &w->scope->cwd);
        return true;
    }
    mark = scope_mark(w->scope);
    w->unsure++;
    w->branches++;
    for (const struct shell_item *item = first; item->next != end; item = item->next) {
        struct value now = w->scope->cwd.value;
        size_t otherwise = scope_mark(w->scope);
        bool ok;

        if (item->op == NEXT_AND) {
            ok = walk_pipeline(w, item->next, cx);
        } else if (checked) {
            for (size_t i = mark; i < otherwise; i++)
                scope_forget(w->scope, w->scope->changes[i].symbol);
            ok = walk_otherwise(w, item->next, item, item_is_cd(item) ? &before : &cwd, cx);
            scope_rollback(w->scope, otherwise);
        } else {
            (void)scope_merge(w->scope, mark);
            otherwise = scope_mark(w->scope);
            ok = walk_otherwise(w, item->next, item, item_is_cd(item) ? &before : &cwd, cx);
            (void)scope_merge(w->scope, otherwise);
        }
        if (!ok)
            return false;
        before = now;
    }
    w->branches--;
    w->unsure--;
    if (!checked)
        (void)scope_merge(w->scope, mark);
    return true;
}

static bool walk_background(struct walker *w, const struct shell_item *first,
                            const struct shell_item *end, const struct context *cx)
{
    struct context inner = *cx;
    size_t mark = scope_mark(w->scope);
    struct jump *jump = w->jump;
    bool ok;

    inner.flags |= CALL_BACKGROUND;
    w->jump = NULL;
    w->unsure++;
    ok = walk_chain(w, first, end, &inner);
    w->unsure--;
    w->jump = jump;
    scope_rollback(w->scope, mark);
    return ok;
}

/* The pipelines of a list, up to end. */
static bool walk_items(struct walker *w, const struct shell_item *first,
                       const struct shell_item *end, const struct context *cx)
{
    while (first != end) {
        const struct shell_item *last = first;
        bool ok;

        while (last->next && (last->op == NEXT_AND || last->op == NEXT_OR))
            last = last->next;
        ok = last->op == NEXT_BACKGROUND ? walk_background(w, first, last->next, cx)
                                         : walk_chain(w, first, last->next, cx);
        if (!ok)
            return false;
        first = last->next;
    }
    return true;
}

bool walk_list(struct walker *w, const struct shell_list *list, const struct context *cx)
{
    return walk_items(w, list->items, NULL, cx);
}

/* The list that is a text: its lines, one by one. */
static bool walk_lines(struct walker *w, const struct shell_list *list, const struct context *cx)
{
    const struct shell_item *first = list->items, *end;

    for (; first; first = end) {
        struct jump *line = walk_jump_begin(w, JUMP_LINE);

        for (end = first; end->next; end = end->next) {
            if (end->ends_line && end->op != NEXT_AND && end->op != NEXT_OR)
                break;
        }
        end = end->next;
        if (!line || !walk_items(w, first, end, cx))
            return false;
        if (line->taken)
            (void)scope_merge(w->scope, line->mark);
        (void)walk_jump_end(w, line);
    }
    return true;
}

/* ---- the text -------------------------------------------------------------------------------- */

/* A shell of its own knows what is exported. */
static bool outer_exports(struct walker *w, const struct call *outer)
{
    for (size_t i = 0; i < outer->export_count + outer->assign_count; i++) {
        const struct assignment *assign = i < outer->export_count
                                              ? &outer->exports[i]
                                              : &outer->assigns[i - outer->export_count];
        struct symbol *symbol = scope_intern(w->scope, assign->name, strlen(assign->name));

        if (!symbol)
            return false;
        scope_set_word(w->scope, symbol, &assign->value);
        if (assign->guessed)
            scope_forget(w->scope, symbol);
        else
            scope_export(w->scope, symbol);
    }
    return !w->scope->failed;
}

/* eval, while its call is judged: the text runs in the shell that is walked there. */
static bool is_eval(const struct call *outer)
{
    return outer && outer->walker && outer->walker->current == outer && outer->count > 0 &&
           str_eq(outer->words[0].text, "eval");
}

static void share_scope(struct walker *w, const struct call *outer)
{
    w->scope = outer->walker->scope;
    for (size_t i = 0; i < outer->assign_count; i++)
        assign_text(w, outer->assigns[i].name, strlen(outer->assigns[i].name), false,
                    &outer->assigns[i].value);
}

/* A shell of its own, with what the call around it passes on. */
static bool own_scope(struct walker *w, const struct call *outer)
{
    struct word cwd = { .text = outer ? outer->cwd : "" };

    cwd.len = strlen(cwd.text);
    w->scope = &w->own;
    scope_init(w->scope, w->arena);
    scope_set_word(w->scope, &w->scope->cwd, &cwd);
    if (outer && (outer->flags & CALL_CWD_UNKNOWN))
        scope_forget(w->scope, &w->scope->cwd);
    return !outer || outer_exports(w, outer) || walk_fail(w, WALK_NOMEM, "no memory", NULL);
}

/* *ret_mark: where a scope that is not ours has to go back to. */
static bool walk_begin(struct walker *w, const struct call *outer, struct context *cx,
                       size_t *ret_mark)
{
    *ret_mark = 0;
    if (is_eval(outer)) {
        *ret_mark = scope_mark(outer->walker->scope);
        share_scope(w, outer);
    } else if (!own_scope(w, outer)) {
        return false;
    }
    if (!outer)
        return true;
    cx->flags = outer->flags & ~(CALL_FORK_BOMB | CALL_CWD_UNKNOWN);
    cx->feeder = outer->feeder;
    cx->redirects = outer->redirects;
    cx->redirect_count = outer->redirect_count;
    return cx->redirect_count <= WALK_MAX_REDIRECTS ||
           walk_fail(w, WALK_LIMIT, "too many redirections", NULL);
}

/* What there is to be read, and how. */
struct walk_source {
    const char *text;
    size_t len;
    const struct call *outer;
    uint32_t depth;
    bool plain;
};

static const struct shell_list *read_source(struct walker *w, const struct walk_source *source)
{
    w->shell.arena = w->arena;
    w->shell.plain = source->plain;
    const struct shell_list *list = shell_parse(&w->shell, source->text, source->len);
    return list || !source->plain ? list : shell_lines_before(&w->shell);
}

/* What was read, and then the functions that nothing called. */
static void walk_all(struct walker *w, const struct shell_list *list, const struct call *outer)
{
    struct context cx = { .flags = 0 };
    size_t mark;

    if (!walk_begin(w, outer, &cx, &mark))
        return;
    if (walk_lines(w, list, &cx) && walk_step(w))
        (void)function_rest(w, &cx);
    if (w->scope != &w->own)
        scope_rollback(w->scope, mark);
}

static enum walk_result walk_source(const struct walk_source *source, struct arena *arena,
                                    walk_visit visit, void *user, struct walk_problem *ret_problem)
{
    struct walker *w = arena_alloc(arena, 1, sizeof(*w));

    *ret_problem = (struct walk_problem){ .what = "no memory" };
    if (!w)
        return WALK_NOMEM;
    ret_problem->what = "texts nested too deeply";
    if (source->depth >= WALK_MAX_DEPTH)
        return WALK_LIMIT;
    w->arena = arena;
    w->visit = visit;
    w->user = user;
    w->text = source->text;
    w->len = source->len;
    w->budget = WALK_MIN_BUDGET + WALK_BYTE_BUDGET * (uint64_t)source->len;
    const struct shell_list *list = read_source(w, source);
    if (!list) {
        *ret_problem = w->shell.problem;
        ret_problem->steps = w->shell.steps;
        ret_problem->differs = w->shell.differs;
        return w->shell.result;
    }
    walk_all(w, list, source->outer);
    *ret_problem = w->problem;
    ret_problem->steps = w->shell.steps + w->steps + w->bytes + w->scope->steps;
    ret_problem->differs = w->shell.differs;
    return w->result;
}

enum walk_result walk_text(const char *text, size_t len, const struct call *outer, uint32_t depth,
                           struct arena *arena, walk_visit visit, void *user,
                           struct walk_problem *ret_problem)
{
    const struct walk_source source = { text, len, outer, depth, false };

    return walk_source(&source, arena, visit, user, ret_problem);
}

enum walk_result walk_plain_text(const char *text, size_t len, const struct call *outer,
                                 uint32_t depth, struct arena *arena, walk_visit visit, void *user,
                                 struct walk_problem *ret_problem)
{
    const struct walk_source source = { text, len, outer, depth, true };

    return walk_source(&source, arena, visit, user, ret_problem);
}
