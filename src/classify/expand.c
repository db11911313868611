/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the words of the tree to the words that a command gets: quote removal, known values put in
 * and split as the shell would, holes for what is not known. Commands inside the words are walked
 * on the way.
 *
 * A word is built at the end of the scratch buffer, finished words wait on a stack; both are used
 * by expansions inside expansions, each above the one around it. Known values may make a text much
 * longer; that is paid from a budget, and when it is used up values count as unknown.
 */
#include <string.h>

#include "base/str.h"
#include "classify/walker.h"

#define POOL_BLOCK 2048
#define POOL_LONG  1024 /* texts from here on have memory of their own */
#define SPLIT_COST 32   /* of a byte that may become a word of its own: small words are not cheap */

/* ---- memory ---------------------------------------------------------------------------------- */

static bool scratch_put(struct walker *w, const char *text, size_t len)
{
    if (len > w->scratch_cap - w->scratch_len) {
        size_t cap = MAX_OF(w->scratch_cap * 2, w->scratch_len + len + 256);
        char *grown = walk_alloc(w, cap, 1);

        if (!grown)
            return false;
        if (w->scratch_len > 0)
            memcpy(grown, w->scratch, w->scratch_len);
        w->scratch = grown;
        w->scratch_cap = cap;
    }
    if (len > 0)
        memcpy(w->scratch + w->scratch_len, text, len);
    w->scratch_len += len;
    w->bytes += len;
    return true;
}

/* Room for a text and its NUL: of the pool, which saves the arena's padding, unless it is long. */
static char *pool_room(struct walker *w, size_t len)
{
    if (len >= POOL_LONG)
        return walk_alloc(w, len + 1, 1);
    if (len >= w->pool_left) {
        w->pool = walk_alloc(w, POOL_BLOCK, 1);
        w->pool_left = w->pool ? POOL_BLOCK : 0;
    }
    if (!w->pool)
        return NULL;
    char *room = w->pool;
    w->pool += len + 1;
    w->pool_left -= len + 1;
    return room;
}

/* A copy with a NUL behind it. */
static const char *pool_copy(struct walker *w, const char *text, size_t len)
{
    char *copy = pool_room(w, len);

    if (!copy)
        return NULL;
    if (len > 0)
        memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

static bool stack_push(struct walker *w, const struct word *word)
{
    if (w->stack_len == w->stack_cap) {
        size_t cap = w->stack_cap ? w->stack_cap * 2 : 16;
        struct word *grown = walk_alloc(w, cap, sizeof(*grown));

        if (!grown)
            return false;
        if (w->stack_len > 0)
            memcpy(grown, w->stack, w->stack_len * sizeof(*grown));
        w->stack = grown;
        w->stack_cap = cap;
    }
    w->stack[w->stack_len++] = *word;
    return true;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static struct field field_begin(struct walker *w, const struct context *cx, bool splits)
{
    return (struct field){ .w = w, .cx = cx, .base = w->scratch_len, .splits = splits };
}

static bool field_is_empty(const struct field *f)
{
    return f->w->scratch_len == f->base;
}

static uint32_t text_flags(const char *text, size_t len, bool quoted)
{
    uint32_t flags = quoted ? WORD_QUOTED : 0;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (c == WORD_HOLE)
            flags |= WORD_UNKNOWN;
        else if ((c == '*' || c == '?' || c == '[' || c == '(') && !quoted)
            flags |= WORD_GLOB;
    }
    return flags;
}

bool field_text(struct field *f, const char *text, size_t len, bool quoted)
{
    if (len == 0) {
        f->empty_quotes |= quoted;
        f->flags |= quoted ? WORD_QUOTED : 0;
        return true;
    }
    if (!quoted && text[0] == '~' && field_is_empty(f) && !f->empty_quotes)
        f->flags |= WORD_TILDE;
    f->flags |= text_flags(text, len, quoted);
    f->started = true;
    return scratch_put(f->w, text, len);
}

bool field_hole(struct field *f, bool quoted, const struct call *source)
{
    static const char hole = WORD_HOLE;

    f->flags |= WORD_UNKNOWN | (quoted ? WORD_QUOTED : 0);
    if (!quoted && f->splits)
        f->flags |= WORD_SPLITS;
    if (source)
        f->source = source;
    f->started = true;
    return scratch_put(f->w, &hole, 1);
}

/* The word is done; forced: a "" that a list had is one too. */
bool field_end(struct field *f, bool forced)
{
    struct word word = { .len = f->w->scratch_len - f->base, .flags = f->flags };
    bool is_word = f->started || forced || (f->empty_quotes && !f->empty_list);

    word.source = f->source;
    if (word.len == 1 && f->w->scratch[f->base] == '[')
        word.flags &= ~WORD_GLOB;
    if (is_word) {
        word.text = word.len == 0 ? "" : pool_copy(f->w, f->w->scratch + f->base, word.len);
        if (!word.text || !stack_push(f->w, &word))
            return false;
    }
    f->w->scratch_len = f->base;
    f->flags = 0;
    f->source = NULL;
    f->started = f->empty_quotes = f->empty_list = false;
    return true;
}

/* $IFS as the splitting sees it; NULL: not known. */
static const char *field_separators(const struct field *f)
{
    const struct scope *scope = f->w->scope;
    const struct symbol *symbol = scope_find(scope, "IFS", 3);
    struct value ifs = scope_get(scope, symbol);

    if (!symbol)
        return scope->poisoned || scope->epoch.value.epoch != 0 ? NULL : " \t\n";
    if (ifs.kind == VALUE_INITIAL || ifs.kind == VALUE_UNSET)
        return " \t\n";
    if (ifs.kind == VALUE_SCALAR && !(ifs.items[0].flags & WORD_UNKNOWN))
        return ifs.items[0].text;
    return NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* An unquoted value: words end at the separators. */
static bool field_split(struct field *f, const char *text, size_t len, const char *separators)
{
    for (size_t i = 0; i < len;) {
        bool hard = false;

        if (text[i] == WORD_HOLE) {
            if (!field_hole(f, false, NULL))
                return false;
            i++;
            continue;
        }
        if (!strchr(separators, text[i])) {
            f->flags |= text_flags(text + i, 1, false);
            f->started = true;
            if (!scratch_put(f->w, text + i, 1))
                return false;
            i++;
            continue;
        }
        for (; i < len && strchr(separators, text[i]) && (is_blank(text[i]) || !hard); i++)
            hard |= !is_blank(text[i]);
        if (!field_end(f, hard))
            return false;
    }
    return true;
}

/* A value that begins with the home directory, inside a word: that part is a hole. */
static bool field_home_inside(struct field *f, const struct word *word, bool quoted)
{
    const char *rest = strchr(word->text, '/');

    return field_hole(f, quoted, word->source) &&
           (!rest || field_text(f, rest, strlen(rest), quoted));
}

bool field_value(struct field *f, const struct word *word, bool quoted)
{
    size_t cost = quoted || !f->splits ? word->len : SPLIT_COST * word->len;
    const char *separators;

    if (cost > f->w->budget || (word->flags & WORD_SPLITS))
        return field_hole(f, quoted && !(word->flags & WORD_SPLITS), word->source);
    f->w->budget -= cost;
    if ((word->flags & WORD_TILDE) && (!field_is_empty(f) || f->empty_quotes) &&
        !(field_is_empty(f) && quoted))
        return field_home_inside(f, word, quoted);
    if (word->source)
        f->source = word->source;
    f->flags |= word->flags & (WORD_TILDE | WORD_PROCESS);
    if (word->flags & WORD_GLOB)
        f->flags |= WORD_GLOB; /* of a loop over a pattern: each match, one by one */
    if (quoted || !f->splits) {
        return field_text(f, word->text, word->len, true);
    }
    separators = field_separators(f);
    if (!separators)
        return field_hole(f, false, word->source);
    return field_split(f, word->text, word->len, separators);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* The call that wrote what a substitution gave: that of the last simple command in it. */
static const struct call *list_source(const struct walker *w, const struct shell_list *list,
                                      const struct call *before)
{
    const struct shell_item *item = list->items;
    const struct shell_command *command;

    if (!item || item->next || w->last == before)
        return NULL;
    for (command = item->pipeline; command->next; command = command->next)
        ;
    return command->kind == COMMAND_SIMPLE ? w->last : NULL;
}

static bool field_commands(struct field *f, const struct shell_part *part, bool quoted)
{
    struct context cx = *f->cx;
    const struct call *before = f->w->last, *source;

    cx.flags = (cx.flags & ~CALL_STDOUT_PIPE) | CALL_SUBSTITUTION;
    if (part->kind == PART_PROCESS_OUT) {
        cx.flags |= CALL_STDIN_PIPE;
        cx.feeder = NULL;
    }
    if (!walk_subshell(f->w, part->u.list, &cx))
        return false;
    source = list_source(f->w, part->u.list, before);
    if (part->kind == PART_COMMAND)
        return field_hole(f, quoted, source);
    f->flags |= WORD_PROCESS;
    return field_hole(f, true, source);
}

static bool text_is_number(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
    }
    return len > 0 && (len == 1 || text[0] != '0');
}

static bool field_arith(struct field *f, const struct shell_part *part)
{
    const struct shell_word *word = part->u.word;

    if (!expand_arith(f->w, f->cx, word))
        return false;
    if (text_is_number(word->raw, word->raw_len))
        return field_text(f, word->raw, word->raw_len, true);
    return walk_may_fail(f->w) && field_hole(f, true, NULL);
}

static bool field_array(struct field *f, const struct shell_part *part)
{
    struct value *array = &f->w->array;
    const struct word *items;
    size_t count;

    if (!expand_words(f->w, f->cx, part->u.word, &items, &count))
        return false;
    *array = (struct value){ .kind = VALUE_LIST, .count = (uint32_t)count, .items = items };
    for (const struct shell_word *word = part->u.word; word; word = word->next) {
        if (word->raw[0] == '[')
            array->kind = VALUE_UNKNOWN; /* [index]=value */
    }
    f->flags |= WORD_ARRAY;
    if (!field_text(f, "(", 1, true))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (items[i].text[0] == '[' && !expand_subscript(f->w, &items[i]))
            return false;
        f->flags |= items[i].flags & (WORD_UNKNOWN | WORD_SPLITS);
        if ((i > 0 && !field_text(f, " ", 1, true)) ||
            !field_text(f, items[i].text, items[i].len, true))
            return false;
    }
    return field_text(f, ")", 1, true);
}

bool field_parts(struct field *f, const struct shell_part *part)
{
    for (; part; part = part->next) {
        bool quoted = (part->flags & PART_QUOTED) != 0, ok = false;

        switch ((enum part_kind)part->kind) {
        case PART_TEXT:
            ok = field_text(f, part->text, part->len, quoted);
            break;
        case PART_PARAM:
            ok = field_param(f, part->u.param, quoted);
            break;
        case PART_COMMAND:
        case PART_PROCESS_IN:
        case PART_PROCESS_OUT:
            ok = field_commands(f, part, quoted);
            break;
        case PART_ARITH:
            ok = field_arith(f, part);
            break;
        case PART_ARRAY:
            ok = field_array(f, part);
            break;
        }
        if (!ok)
            return false;
    }
    return true;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool ends_in_cr(const struct word *word)
{
    return word->len > 0 && word->text[word->len - 1] == '\r';
}

/* Without the carriage return of its line: the judge need not see it. False: no memory. */
static bool drop_cr(struct walker *w, struct word *word)
{
    word->text = pool_copy(w, word->text, --word->len);
    return word->text != NULL;
}

/* The same for the last word of the stack since base; nothing else in it: it is no word. */
static bool drop_cr_of_last(struct walker *w, size_t base)
{
    struct word *word = w->stack_len > base ? &w->stack[w->stack_len - 1] : NULL;

    if (!word || !ends_in_cr(word))
        return true;
    if (word->len > 1)
        return drop_cr(w, word);
    w->stack_len--;
    return true;
}

static bool expand_braces(struct walker *w, const struct context *cx, const struct shell_word *word)
{
    const struct brace_word *alternative;

    if (!brace_expand(w, word, &alternative))
        return false;
    if (!alternative) {
        struct field f = field_begin(w, cx, true);
        size_t base = w->stack_len;

        if (!field_parts(&f, word->parts) || !field_end(&f, true))
            return false;
        w->stack_len = base;
        return field_hole(&f, false, NULL) && field_end(&f, false);
    }
    for (; alternative; alternative = alternative->next) {
        struct field f = field_begin(w, cx, true);

        if (!walk_step(w) || !field_parts(&f, alternative->parts) || !field_end(&f, false))
            return false;
    }
    return true;
}

static bool expand_fields(struct walker *w, const struct context *cx, const struct shell_word *word)
{
    struct field f = field_begin(w, cx, !(word->flags & SHELL_WORD_ARRAY));
    size_t base = w->stack_len;

    if (word->flags & SHELL_WORD_BRACE && !(word->flags & SHELL_WORD_ARRAY)) {
        if (!expand_braces(w, cx, word))
            return false;
    } else if (!field_parts(&f, word->parts) || !field_end(&f, false)) {
        return false;
    }
    return !(word->flags & SHELL_WORD_CR) || drop_cr_of_last(w, base);
}

/* The words that were put on the stack since base, as a list of their own. */
static bool take_words(struct walker *w, size_t base, const struct word **ret, size_t *ret_count)
{
    size_t count = w->stack_len - base;
    struct word *list = walk_alloc(w, count, sizeof(*list));

    if (!list)
        return false;
    if (count > 0)
        memcpy(list, w->stack + base, count * sizeof(*list));
    w->stack_len = base;
    *ret = list;
    *ret_count = count;
    return true;
}

bool expand_words(struct walker *w, const struct context *cx, const struct shell_word *words,
                  const struct word **ret, size_t *ret_count)
{
    size_t base = w->stack_len;

    for (; words; words = words->next) {
        if (!expand_fields(w, cx, words))
            return false;
    }
    return take_words(w, base, ret, ret_count);
}

static bool expand_single(struct walker *w, const struct context *cx,
                          const struct shell_part *parts, struct word *ret)
{
    struct field f = field_begin(w, cx, false);
    size_t base = w->stack_len;

    if (!field_parts(&f, parts) || !field_end(&f, true))
        return false;
    *ret = w->stack[base];
    w->stack_len = base;
    return true;
}

bool expand_word(struct walker *w, const struct context *cx, const struct shell_word *word,
                 struct word *ret)
{
    return expand_single(w, cx, word->parts, ret) &&
           (!(word->flags & SHELL_WORD_CR) || !ends_in_cr(ret) || drop_cr(w, ret));
}

/* What is behind the = of an assignment. */
bool expand_value(struct walker *w, const struct context *cx, const struct shell_word *word,
                  struct word *ret)
{
    const struct shell_part *part = word->parts;
    struct shell_part first;

    while (part && !(part->kind == PART_TEXT && part->text <= word->value &&
                     word->value <= part->text + part->len))
        part = part->next;
    if (!part)
        return walk_fail(w, WALK_UNREADABLE, "an assignment that is not understood", word->raw);
    first = *part;
    first.text = word->value;
    first.len = (uint32_t)(part->text + part->len - word->value);
    if (!expand_single(w, cx, first.len > 0 ? &first : first.next, ret))
        return false;
    ret->flags &= ~WORD_GLOB; /* a value is no pattern until it is used */
    return true;
}

bool expand_visit(struct walker *w, const struct context *cx, const struct shell_word *words)
{
    size_t base = w->stack_len;

    for (; words; words = words->next) {
        struct field f = field_begin(w, cx, true);

        w->bytes++;
        if (words->first.kind == PART_TEXT && words->parts && !words->first.next)
            continue;
        if (!field_parts(&f, words->parts) || !field_end(&f, false))
            return false;
        w->stack_len = base;
    }
    return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* NAME=value as an argument of declare and its like: not split, and ~ counts behind the =. */
static bool expand_argument(struct walker *w, const struct context *cx,
                            const struct shell_word *word)
{
    struct field f = field_begin(w, cx, false);
    struct word value = { .text = "" };

    if (!expand_value(w, cx, word, &value) ||
        !field_text(&f, word->raw, (size_t)(word->value - word->raw), true) ||
        !field_text(&f, value.text, value.len, true))
        return false;
    f.flags = value.flags;
    f.source = value.source;
    return field_end(&f, true);
}

static bool takes_assignments(const struct shell_word *word)
{
    static const char *const names[] = { "declare", "typeset", "local", "export", "readonly" };

    for (size_t i = 0; i < ARRAY_LEN(names) && (word->flags & SHELL_WORD_PLAIN); i++) {
        if (str_is(word->first.text, word->first.len, names[i]))
            return true;
    }
    return false;
}

/* The words of a simple command. Arrays among the arguments are assigned on the way. */
bool expand_command(struct walker *w, const struct context *cx, const struct shell_command *command,
                    const struct word **ret, size_t *ret_count)
{
    const struct shell_word *word = command->words;
    bool assigns = word && takes_assignments(word);
    size_t base = w->stack_len;

    for (; word; word = word->next) {
        bool is_array = (word->flags & SHELL_WORD_ARRAY) != 0;

        if (assigns && (word->flags & SHELL_WORD_ASSIGN) && !is_array) {
            if (!expand_argument(w, cx, word))
                return false;
        } else if (!expand_fields(w, cx, word) || (is_array && !assign_array(w, word))) {
            return false;
        }
    }
    return take_words(w, base, ret, ret_count);
}

static bool is_descriptor(const struct word *word)
{
    size_t len = word->len;

    if (len > 0 && word->text[len - 1] == '-')
        len--;
    return word->len > 0 && strspn(word->text, "0123456789") == len;
}

bool expand_redirects(struct walker *w, const struct context *cx,
                      const struct shell_redirect *redirects, const struct redirect **ret,
                      size_t *ret_count)
{
    size_t own = 0, i = 0;
    struct redirect *list;

    for (const struct shell_redirect *r = redirects; r; r = r->next)
        own++;
    *ret = cx->redirects;
    *ret_count = cx->redirect_count;
    if (own == 0)
        return true;
    list = walk_alloc(w, own + cx->redirect_count, sizeof(*list));
    if (!list)
        return false;
    for (const struct shell_redirect *r = redirects; r; r = r->next, i++) {
        list[i].op = r->op;
        list[i].fd = r->fd;
        if (!expand_word(w, cx, r->target, &list[i].target))
            return false;
        if (r->file_or_dup && r->op == REDIRECT_DUP_OUT && !is_descriptor(&list[i].target))
            list[i].op = REDIRECT_BOTH;
        if (r->name)
            scope_forget_name(w->scope, r->name, r->name_len);
    }
    if (cx->redirect_count > 0)
        memcpy(list + own, cx->redirects, cx->redirect_count * sizeof(*list));
    *ret = list;
    *ret_count = own + cx->redirect_count;
    return true;
}
