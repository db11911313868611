/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge. The reader (walk.c) visits the simple commands of a text; for each one the rules of
 * its name are asked, then those for every command, the protected paths, the user's own rules; and
 * what the command would run in turn (unwrap.c) is judged the same way. The strictest finding is
 * the verdict.
 *
 * Trusts nothing: the text is hostile. Work is bounded by the size of the text, WALK_MAX_DEPTH
 * nested texts and wrappers, and WALK_MAX_CALLS commands in all; beyond these, and without memory,
 * the verdict is "unreadable", which is escalated. A forbidden finding ends the search.
 */
#include "classify/judge.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "classify/rules.h"
#include "classify/salvage.h"
#include "classify/unwrap.h"
#include "classify/walk.h"

#define TOO_DEEP "Commands in commands are too many or too deep to be followed."

struct judge {
    const struct ruleset *rules;
    struct arena *arena;
    const char *start; /* absolute, or "" */
    struct verdict best;
    const struct call *best_call;
    bool found; /* best holds something */
    bool mixed; /* allowed for different reasons */
    bool no_memory;
    size_t calls; /* judged so far */
    const struct call *last;
};

/* Where a command stands. */
struct frame {
    struct judge *judge;
    uint32_t depth;
    bool from_argv, derived, xargs, find;
    bool covered;       /* a rule of the user let the wrapper through: only forbidden counts */
    bool only_stricter; /* a guess: only forbidden counts */
    bool plain;         /* as another shell reads it: only what is known of it counts */
};

struct outcome {
    bool matched;
    enum decision decision;
    const char *rule, *reason;
};

static void judge_call(const struct frame *f, const struct call *call);

/* ---- findings ---- */

static void judge_find(struct judge *j, enum decision decision, const char *rule,
                       const char *reason, const struct call *call)
{
    if (j->found && decision <= j->best.decision) {
        if (decision == DECISION_ALLOW && j->best.decision == DECISION_ALLOW &&
            strcmp(rule, j->best.rule) != 0)
            j->mixed = true;
        return;
    }
    j->best = (struct verdict){ .decision = decision, .rule = rule, .reason = reason };
    j->best_call = call;
    j->found = true;
}

static void judge_unreadable(struct judge *j, const char *reason, const struct call *call)
{
    judge_find(j, DECISION_ESCALATED, RULE_UNREADABLE, reason, call);
}

static void outcome_add(struct outcome *o, enum decision decision, const char *rule,
                        const char *reason)
{
    if (o->matched && decision <= o->decision)
        return;
    *o = (struct outcome){ true, decision, rule, reason };
}

/* ---- one command ---- */

static void ask_rule(const struct ruleset *r, size_t rule, struct subject *s, struct outcome *o)
{
    s->reason = builtin_rules[rule].reason;
    if (o->matched && r->decisions[rule] <= o->decision)
        return;
    if (builtin_rules[rule].match(s))
        outcome_add(o, r->decisions[rule], builtin_rules[rule].name, s->reason);
}

/* Both lists are in the order of the table, and so is what they are merged to. */
static void ask_rules(const struct ruleset *r, struct subject *s, struct outcome *o)
{
    const struct command *c = s->command;
    size_t own = 0, own_count = c ? c->rule_count : 0, every = 0;

    while (own < own_count || every < r->every_count) {
        bool take_own = every >= r->every_count ||
                        (own < own_count && c->rules[own] < r->every[every]);

        ask_rule(r, take_own ? c->rules[own++] : r->every[every++], s, o);
    }
}

/* What was found is in front of the words or behind them, where no rule of the user looks. */
static bool is_beside_words(const struct subject *s, const struct outcome *o, bool protected)
{
    if (s->call->assign_count > 0 && o->rule == builtin_rules[RULE_injection].name)
        return true;
    return s->call->redirect_count > 0 &&
           (protected || o->rule == builtin_rules[RULE_startup_file].name ||
            o->rule == builtin_rules[RULE_system_path].name ||
            o->rule == builtin_rules[RULE_credentials].name);
}

/* True: a rule of the user lets the command through. fixed: what was found stays. */
static bool ask_user(const struct ruleset *r, const struct subject *s, bool fixed,
                     struct outcome *o)
{
    const struct custom_rule *c = ruleset_custom(r, s);
    bool forbidden = o->matched && (fixed || o->decision == DECISION_FORBIDDEN);

    if (!c)
        return false;
    if (c->decision >= DECISION_ESCALATED) {
        if (!o->matched || c->decision >= o->decision)
            *o = (struct outcome){ true, c->decision, c->description,
                                   "A rule of the configuration says so." };
        return false;
    }
    if (!forbidden)
        *o = (struct outcome){ true, c->decision, c->description,
                               "A rule of the configuration says so." };
    return !forbidden;
}

/* False: too deep, or too much. */
static bool frame_enter(struct frame *f)
{
    return ++f->depth <= WALK_MAX_DEPTH && ++f->judge->calls <= WALK_MAX_CALLS;
}

static void inner_words_found(void *user, const struct subject *s, const struct word *words,
                              size_t count, uint32_t inner)
{
    const struct frame *f = user;
    struct frame next = *f;
    struct call *call = arena_alloc(f->judge->arena, 1, sizeof(*call));

    if (!call || !frame_enter(&next)) {
        judge_unreadable(f->judge, TOO_DEEP, s->call);
        return;
    }
    *call = *s->call;
    call->words = words;
    call->count = count;
    call->assign_count = 0;
    if (inner & INNER_STDIN_PIPE)
        call->flags |= CALL_STDIN_PIPE;
    if (inner & INNER_XARGS)
        call->flags &= ~CALL_STDIN_PIPE;
    next.derived = true;
    next.xargs |= inner & INNER_XARGS;
    next.find |= inner & INNER_FIND;
    judge_call(&next, call);
}

static bool judge_visit(void *user, const struct call *call)
{
    const struct frame *f = user;
    struct judge *j = f->judge;

    if (++j->calls > WALK_MAX_CALLS)
        return false;
    judge_call(f, call);
    j->last = call;
    return !(j->found && j->best.decision == DECISION_FORBIDDEN);
}

static void judge_piece(void *user, const struct call *call)
{
    struct frame guess = *(const struct frame *)user;

    guess.only_stricter = true;
    if (frame_enter(&guess))
        judge_call(&guess, call);
}

/* As dash reads it. What dash cannot read it does not run, and bash's reading was judged before. */
static void judge_plain(const struct frame *f, const char *text, size_t len,
                        const struct call *outer)
{
    struct judge *j = f->judge;
    struct walk_problem problem;
    struct frame inside = *f;

    inside.from_argv = inside.derived = false;
    inside.plain = true;
    (void)walk_plain_text(text, len, outer, f->depth, j->arena, judge_visit, &inside, &problem);
}

static void judge_read(const struct frame *f, const char *text, size_t len,
                       const struct call *outer)
{
    struct judge *j = f->judge;
    struct walk_problem problem = { .what = "" };
    struct frame inside = *f;
    const char *reason = "The text is too long or too deep to be followed.";

    inside.from_argv = inside.derived = false;
    enum walk_result result = walk_text(text, len, outer, f->depth, j->arena, judge_visit, &inside,
                                        &problem);
    const struct call *last = j->last;

    if (problem.differs && !f->plain && !(j->found && j->best.decision == DECISION_FORBIDDEN)) {
        judge_plain(f, text, len, outer);
        j->last = last;
    }
    switch (result) {
    case WALK_OK:
        return;
    case WALK_STOPPED:
        if (j->found && j->best.decision == DECISION_FORBIDDEN)
            return;
        break;
    case WALK_UNREADABLE:
        reason = arena_printf(j->arena, "The text cannot be read as shell: %s at byte %zu.",
                              problem.what, problem.offset);
        salvage_text(text, len, j->arena, judge_piece, &inside);
        break;
    case WALK_LIMIT:
        break;
    case WALK_NOMEM:
        reason = NULL;
        break;
    }
    if (!(f->covered || f->only_stricter || f->plain))
        judge_unreadable(j, reason ? reason : "There is no memory to read it.", outer);
}

static const struct call *call_with_pipe(struct judge *j, const struct call *call)
{
    struct call *copy = arena_alloc(j->arena, 1, sizeof(*copy));

    if (copy) {
        *copy = *call;
        copy->flags |= CALL_STDIN_PIPE;
    }
    return copy;
}

/* What a text is read from is not what its commands read. */
static const struct call *call_without_stdin(struct judge *j, const struct call *call)
{
    struct call *copy = arena_alloc(j->arena, 1, sizeof(*copy));
    struct redirect *kept = arena_alloc(j->arena, call->redirect_count, sizeof(*kept));
    size_t n = 0;

    if (!copy || !kept)
        return NULL;
    for (size_t i = 0; i < call->redirect_count; i++) {
        if (call->redirects[i].fd != 0)
            kept[n++] = call->redirects[i];
    }
    *copy = *call;
    copy->redirects = kept;
    copy->redirect_count = n;
    return copy;
}

static void inner_text_found(void *user, const struct subject *s, const char *text, size_t len,
                             uint32_t inner)
{
    const struct frame *f = user;
    struct frame next = *f;
    const struct call *outer = s->call; /* the very call: the reader knows it for its own */

    if (inner & INNER_STDIN_PIPE)
        outer = call_with_pipe(f->judge, s->call);
    else if (inner & INNER_STDIN_TEXT)
        outer = call_without_stdin(f->judge, s->call);
    if (!outer || !text || !frame_enter(&next)) {
        judge_unreadable(f->judge, TOO_DEEP, s->call);
        return;
    }
    next.xargs = s->xargs || inner & INNER_XARGS;
    next.find |= inner & INNER_FIND;
    next.covered = false; /* a rule for the words says nothing about the text in them */
    judge_read(&next, text, len, outer);
}

static void judge_call(const struct frame *f, const struct call *call)
{
    struct judge *j = f->judge;
    const struct ruleset *r = j->rules;
    struct outcome o = { .matched = false };
    struct frame inside = *f;
    struct subject s = { .rules = r,
                         .arena = j->arena,
                         .start = j->start,
                         .from_argv = f->from_argv,
                         .derived = f->derived,
                         .no_memory = &j->no_memory,
                         .xargs = f->xargs,
                         .find = f->find };
    const struct inner_sink sink = { &inside, inner_words_found, inner_text_found };

    subject_init(&s, call);
    if (r->builtin)
        ask_rules(r, &s, &o);
    enum decision decision;
    const struct protected_path *p = ruleset_protected(r, &s, &decision);

    if (p)
        outcome_add(&o, decision, p->description,
                    "The file is protected: others execute or trust "
                    "it.");
    bool fixed = o.matched && is_beside_words(&s, &o, p && o.rule == p->description);

    inside.covered |= ask_user(r, &s, fixed, &o);
    bool counts = !(f->covered || f->only_stricter);
    bool says = o.matched && o.decision > DECISION_ALLOW;

    /* (($a > 1)) is no program $a in earnest; but x &>f $a is, to dash. */
    if (f->plain && says && strcmp(o.rule, builtin_rules[RULE_unknown_command].name) == 0)
        says = call->part && call->part_len > 0 && call->part[0] == '>';
    if (says && (counts || o.decision == DECISION_FORBIDDEN))
        judge_find(j, o.decision, o.rule, o.reason, call);
    if (o.matched && o.decision == DECISION_FORBIDDEN)
        return;
    const struct wrapper *w = s.command ? s.command->wrapper : NULL;
    bool unwrapped = unwrap(&s, w, &sink);

    if (!counts || says || f->plain || (unwrapped && w && w->neutral))
        return;
    if (o.matched)
        judge_find(j, o.decision, o.rule, o.reason, call);
    else
        judge_find(j, DECISION_SANDBOXED, "",
                   "Nothing is known against it; it runs in the sandbox.", call);
}

/* ---- the whole ---- */

static void show_part(struct judge *j)
{
    const struct call *call = j->best_call;
    size_t size = 1, at = 0;

    if (!call)
        return;
    if (call->part) {
        j->best.part = call->part;
        j->best.part_len = call->part_len;
        return;
    }
    for (size_t i = 0; i < call->count; i++)
        size += call->words[i].len + 1;
    char *text = arena_alloc(j->arena, size, 1);

    for (size_t i = 0; text && i < call->count; i++) {
        if (i > 0)
            text[at++] = ' ';
        memcpy(text + at, call->words[i].text, call->words[i].len);
        at += call->words[i].len;
    }
    j->best.part = text ? text : "";
    j->best.part_len = at;
}

static void judge_finish(struct judge *j, struct verdict *ret)
{
    if (j->no_memory)
        judge_unreadable(j, "There is no memory to read it.", NULL);
    if (!j->found)
        judge_find(j, DECISION_SANDBOXED, "", "There is no command in it.", NULL);
    if (j->best.decision == DECISION_ALLOW && j->mixed) {
        j->best.rule = RULE_CHAIN_ALLOW;
        j->best.decision = j->rules->chain_allow;
        j->best.reason = "Each of its commands is allowed.";
    }
    j->best.part = "";
    show_part(j);
    *ret = j->best;
}

/* server & at the very end: nobody waits for it. */
static void judge_background(struct judge *j, const char *text, size_t len)
{
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    if (j->rules->builtin && len > 0 && text[len - 1] == '&' && j->last &&
        j->last->flags & CALL_BACKGROUND)
        judge_find(j, j->rules->decisions[RULE_background], builtin_rules[RULE_background].name,
                   builtin_rules[RULE_background].reason, j->last);
}

void judge_text(const struct ruleset *rules, const char *text, size_t len, const char *cwd,
                struct arena *arena, struct verdict *ret)
{
    struct judge j = { .rules = rules, .arena = arena, .start = cwd && cwd[0] == '/' ? cwd : "" };
    struct frame top = { .judge = &j };

    judge_read(&top, text, len, NULL);
    judge_background(&j, text, len);
    judge_finish(&j, ret);
}

void judge_argv(const struct ruleset *rules, const char *const *argv, size_t count, const char *cwd,
                struct arena *arena, struct verdict *ret)
{
    struct judge j = { .rules = rules, .arena = arena, .start = cwd && cwd[0] == '/' ? cwd : "" };
    struct frame top = { .judge = &j, .from_argv = true };
    struct call *call = arena_alloc(arena, 1, sizeof(*call));
    struct word *words = arena_alloc(arena, count, sizeof(*words));

    if (!call || !words) {
        judge_unreadable(&j, "There is no memory to read it.", NULL);
    } else if (count > 0) {
        for (size_t i = 0; i < count; i++)
            words[i] =
                (struct word){ .text = argv[i], .len = strlen(argv[i]), .flags = WORD_QUOTED };
        *call = (struct call){ .words = words, .count = count, .cwd = "" };
        judge_call(&top, call);
        salvage_argv(words, count, arena, judge_piece, &top);
        if (rules->builtin && count > 1 && strcmp(argv[count - 1], "&") == 0)
            judge_find(&j, rules->decisions[RULE_background], builtin_rules[RULE_background].name,
                       builtin_rules[RULE_background].reason, call);
    }
    judge_finish(&j, ret);
}
