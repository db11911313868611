/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ${…} in all its forms, and what arithmetic changes.
 *
 * A value is put in where the text shows it, as are the operators that a text uses to take words
 * apart (defaults, substrings, prefixes and suffixes without patterns). For everything else there
 * is a hole. The operand's commands are walked whether or not the operand would be used.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "classify/walker.h"

#define ARITH_MAX_NAMES 8  /* names whose values name each other */
#define ITEM_COST       16 /* of the budget, for each element of a list */

/* ---- values ---------------------------------------------------------------------------------- */

/* Set by the shell itself: what the text assigns does not last. */
static bool name_is_dynamic(const char *name, size_t len)
{
    static const char *const names[] = {
        "BASHPID",      "BASH_REMATCH", "BASH_SOURCE", "COPROC",     "DIRSTACK", "EPOCHREALTIME",
        "EPOCHSECONDS", "EUID",         "FUNCNAME",    "GROUPS",     "LINENO",   "MAPFILE",
        "OLDPWD",       "OPTARG",       "OPTIND",      "PIPESTATUS", "PPID",     "RANDOM",
        "REPLY",        "SECONDS",      "SRANDOM",     "UID",        "_",
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(name, len, names[i]))
            return true;
    }
    return false;
}

static bool name_is(const struct shell_param *param, const char *name)
{
    return str_is(param->name, param->name_len, name);
}

/* The names with a value nobody has set. */
static struct value value_initial(const struct shell_param *param)
{
    static const struct word home = { .text = "~", .len = 1, .flags = WORD_TILDE };
    static const struct word ifs = { .text = " \t\n", .len = 3 };
    struct value value = { .kind = VALUE_SCALAR, .count = 1 };

    if (name_is(param, "HOME"))
        value.items = &home;
    else if (name_is(param, "IFS"))
        value.items = &ifs;
    else
        value.kind = VALUE_UNKNOWN;
    return value;
}

static struct value value_number(struct walker *w, size_t number)
{
    struct word *word = walk_alloc(w, 1, sizeof(*word));

    if (!word)
        return (struct value){ .kind = VALUE_UNKNOWN };
    word->text = arena_printf(w->arena, "%zu", number);
    word->len = word->text ? strlen(word->text) : 0;
    return (struct value){ .kind = word->text ? VALUE_SCALAR : VALUE_UNKNOWN,
                           .count = 1,
                           .items = word };
}

static struct value value_item(struct value list, size_t index)
{
    if (index >= WALK_MAX_LIST)
        return (struct value){ .kind = VALUE_UNKNOWN };
    for (size_t i = 0; i <= index && i < list.count; i++) { /* one before it may be several */
        if (list.items[i].flags & (WORD_SPLITS | WORD_GLOB))
            return (struct value){ .kind = VALUE_UNKNOWN };
    }
    if (index >= list.count)
        return (struct value){ .kind = VALUE_UNSET };
    return (struct value){ .kind = VALUE_SCALAR, .count = 1, .items = list.items + index };
}

static bool list_is_exact(struct value list)
{
    for (size_t i = 0; i < list.count && i < WALK_MAX_LIST; i++) {
        if (list.items[i].flags & (WORD_SPLITS | WORD_GLOB))
            return false;
    }
    return list.count <= WALK_MAX_LIST;
}

static struct value value_positional(struct walker *w, const struct shell_param *param)
{
    struct value args = scope_get(w->scope, &w->scope->args);
    char digits[8];
    uint64_t index;

    if (args.kind != VALUE_LIST)
        return (struct value){ .kind = VALUE_UNKNOWN };
    if (param->name[0] == '@' || param->name[0] == '*')
        return args;
    if (param->name[0] == '#')
        return list_is_exact(args) ? value_number(w, args.count)
                                   : (struct value){ .kind = VALUE_UNKNOWN };
    (void)snprintf(digits, sizeof(digits), "%.*s", (int)MIN_OF(param->name_len, 7), param->name);
    if (!str_to_u64(digits, 1000000, &index) || index == 0)
        return (struct value){ .kind = VALUE_UNKNOWN };
    return value_item(args, index - 1);
}

/* ${x[…]}: the element, or all of them. */
static struct value value_indexed(struct value value, const struct shell_word *index)
{
    char digits[8];
    uint64_t number;

    if (value.kind != VALUE_LIST && value.kind != VALUE_SCALAR)
        return value;
    if (index->raw_len == 1 && (index->raw[0] == '@' || index->raw[0] == '*'))
        return value;
    (void)snprintf(digits, sizeof(digits), "%.*s", (int)MIN_OF(index->raw_len, 7), index->raw);
    if (index->raw_len > 6 || !str_to_u64(digits, 1000000, &number))
        return (struct value){ .kind = VALUE_UNKNOWN };
    return value_item(value, number);
}

/* How a parameter stands in its word. */
struct use {
    bool quoted;
    bool list;   /* $@, $*, ${x[@]}, ${x[*]}: all elements */
    bool joined; /* of these, with a *: one word in quotes */
};

/* What it may be several words of, even in quotes. */
static bool use_is_apart(struct use use)
{
    return use.list && !use.joined;
}

static bool name_is_special(const struct shell_param *param)
{
    char first = param->name[0];

    return !shell_name_byte(first) || (first >= '0' && first <= '9');
}

static struct use param_use(const struct shell_param *param, bool quoted)
{
    char all = '\0';

    if (name_is_special(param))
        all = param->name[0];
    else if (param->index && param->index->raw_len == 1)
        all = param->index->raw[0];
    return (struct use){ quoted, all == '@' || all == '*', all == '*' };
}

/* A name of the text's own, or of the shell. */
static struct value value_named(struct walker *w, const struct shell_param *param)
{
    const struct symbol *symbol = scope_find(w->scope, param->name, param->name_len);
    struct value value = symbol ? scope_get(w->scope, symbol)
                                : (struct value){ .kind = VALUE_INITIAL };

    if (!symbol && (w->scope->poisoned || w->scope->epoch.value.epoch != 0))
        value.kind = VALUE_UNKNOWN;
    if (value.kind == VALUE_INITIAL)
        value = value_initial(param);
    if (name_is_dynamic(param->name, param->name_len))
        value.kind = VALUE_UNKNOWN;
    if (name_is(param, "PWD")) {
        struct value cwd = scope_get(w->scope, &w->scope->cwd);

        value.kind = VALUE_UNKNOWN;
        if (cwd.kind == VALUE_SCALAR && cwd.items[0].text[0] == '/')
            value = cwd;
    }
    return value;
}

static struct value param_value(struct walker *w, const struct shell_param *param)
{
    const struct value unknown = { .kind = VALUE_UNKNOWN };

    if (name_is_special(param))
        return strchr("?-$!", param->name[0]) ? unknown : value_positional(w, param);
    struct value value = value_named(w, param);

    if (param->index)
        return value_indexed(value, param->index);
    return value.kind == VALUE_LIST ? value_item(value, 0) : value;
}

/* ---- putting in ------------------------------------------------------------------------------ */

static bool field_list(struct field *f, struct value value, struct use use)
{
    if (value.count == 0) {
        f->empty_list = true;
        return true;
    }
    if ((uint64_t)value.count * ITEM_COST > f->w->budget)
        return field_hole(f, false, NULL);
    f->w->budget -= (uint64_t)value.count * ITEM_COST;
    for (size_t i = 0; i < value.count; i++) {
        const struct word *item = &value.items[i];

        if (i > 0) {
            bool apart = f->splits && !(use.quoted && use.joined);

            if (apart ? !field_end(f, use.quoted) : !field_text(f, " ", 1, true))
                return false;
        }
        if ((item->flags & WORD_GLOB) && use.quoted)
            f->flags |= WORD_GLOB; /* the list was made of it */
        if (item->flags & WORD_SPLITS) {
            if (!field_hole(f, false, item->source))
                return false;
        } else if (!field_value(f, item, use.quoted)) {
            return false;
        }
        if (use.quoted && item->len == 0)
            f->started = true;
    }
    return true;
}

/* Unknown, and perhaps several words even in quotes. */
static bool field_unknown(struct field *f, struct use use)
{
    return field_hole(f, use.quoted && !use_is_apart(use), NULL);
}

static bool field_known(struct field *f, struct value value, struct use use)
{
    switch (value.kind) {
    case VALUE_SCALAR:
        return field_value(f, &value.items[0], use.quoted);
    case VALUE_LIST:
        return field_list(f, value, use);
    case VALUE_UNSET:
        return !use.quoted || field_text(f, "", 0, true);
    default:
        return field_unknown(f, use);
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

enum truth { TRUTH_NO, TRUTH_YES, TRUTH_UNKNOWN };

/* Is the value one that :- or - replaces? */
static enum truth value_is_null(struct value value, bool colon)
{
    if (value.kind == VALUE_UNSET)
        return TRUTH_YES;
    if (value.kind == VALUE_LIST)
        return value.count == 0 ? TRUTH_YES : TRUTH_UNKNOWN;
    if (value.kind != VALUE_SCALAR)
        return TRUTH_UNKNOWN;
    if (!colon)
        return TRUTH_NO;
    if (value.items[0].len == 0)
        return TRUTH_YES;
    for (size_t i = 0; i < value.items[0].len; i++) {
        if (value.items[0].text[i] != WORD_HOLE)
            return TRUTH_NO;
    }
    return TRUTH_UNKNOWN;
}

static bool param_assign(struct field *f, const struct shell_param *param, enum truth is_null)
{
    struct symbol *symbol;
    struct word word;

    if (is_null == TRUTH_NO || !shell_name_byte(param->name[0]))
        return true;
    symbol = scope_intern(f->w->scope, param->name, param->name_len);
    if (is_null == TRUTH_UNKNOWN || param->index) {
        scope_forget(f->w->scope, symbol);
        return true;
    }
    if (!expand_word(f->w, f->cx, param->operand, &word))
        return false;
    scope_set_word(f->w->scope, symbol, &word);
    return true;
}

/* - = ? +: the value or the operand. */
static bool param_choose(struct field *f, const struct shell_param *param, struct value value,
                         struct use use)
{
    enum truth is_null = value_is_null(value, param->colon);
    enum truth use_operand = is_null;

    if (param->op == PARAM_ALTERNATE && is_null != TRUTH_UNKNOWN)
        use_operand = is_null == TRUTH_YES ? TRUTH_NO : TRUTH_YES;
    if (use_operand == TRUTH_YES && param->op != PARAM_ERROR)
        return (param->op != PARAM_ASSIGN || param_assign(f, param, is_null)) &&
               field_parts(f, param->operand->parts);
    if (!expand_visit(f->w, f->cx, param->operand) ||
        (param->op == PARAM_ASSIGN && !param_assign(f, param, is_null)))
        return false;
    if (use_operand == TRUTH_NO && param->op == PARAM_ALTERNATE)
        return !use.quoted || field_text(f, "", 0, true);
    if (use_operand == TRUTH_NO)
        return field_known(f, value, use);
    return field_unknown(f, use);
}

/* At most six digits. */
static bool parse_digits(const char *text, size_t len, size_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *ret = *ret * 10 + (size_t)(text[i] - '0');
    }
    return len > 0 && len <= 6;
}

/* "N" or "N:M" */
static bool parse_slice(const struct shell_word *word, size_t *ret_from, size_t *ret_count)
{
    const char *colon = word->raw_len > 0 ? memchr(word->raw, ':', word->raw_len) : NULL;
    size_t len = colon ? (size_t)(colon - word->raw) : word->raw_len;

    *ret_count = SIZE_MAX;
    return parse_digits(word->raw, len, ret_from) &&
           (!colon || parse_digits(colon + 1, word->raw_len - len - 1, ret_count));
}

static bool param_slice(struct field *f, const struct shell_param *param, struct value value,
                        struct use use)
{
    size_t from, count;
    struct word piece;

    if (!expand_arith(f->w, f->cx, param->operand) || !parse_slice(param->operand, &from, &count))
        return f->w->result == WALK_OK && walk_may_fail(f->w) && field_unknown(f, use);
    if (use.list && value.kind == VALUE_LIST && list_is_exact(value)) {
        if (!shell_name_byte(param->name[0]))
            from = from > 0 ? from - 1 : SIZE_MAX; /* ${@:0} has $0 */
        if (from == SIZE_MAX)
            return field_unknown(f, use);
        from = MIN_OF(from, value.count);
        value.items += from;
        value.count = (uint32_t)MIN_OF(value.count - from, count);
        return field_list(f, value, use);
    }
    if (use.list || value.kind != VALUE_SCALAR ||
        (value.items[0].flags & (WORD_UNKNOWN | WORD_TILDE | WORD_GLOB)))
        return field_unknown(f, use);
    piece = value.items[0];
    from = MIN_OF(from, piece.len);
    piece.text = arena_strndup(f->w->arena, piece.text + from, MIN_OF(piece.len - from, count));
    if (!piece.text)
        return walk_fail(f->w, WALK_NOMEM, "no memory", NULL);
    piece.len = strlen(piece.text);
    return field_value(f, &piece, use.quoted);
}

/* # and % with a plain text. */
static bool param_strip(struct field *f, const struct shell_param *param, struct value value,
                        bool quoted)
{
    struct word pattern, piece;
    size_t rest;

    if (!expand_word(f->w, f->cx, param->operand, &pattern))
        return false;
    piece = value.items[0];
    if ((pattern.flags & (WORD_UNKNOWN | WORD_GLOB | WORD_TILDE)) || strchr(pattern.text, '\\') ||
        strchr(pattern.text, '(') || (piece.flags & (WORD_UNKNOWN | WORD_TILDE | WORD_GLOB)))
        return field_hole(f, quoted, NULL);
    rest = piece.len >= pattern.len ? piece.len - pattern.len : SIZE_MAX;
    if (rest != SIZE_MAX && param->op == PARAM_PREFIX && str_has_prefix(piece.text, pattern.text)) {
        piece.text += pattern.len;
        piece.len = rest;
    } else if (rest != SIZE_MAX && param->op == PARAM_SUFFIX &&
               str_has_suffix(piece.text, pattern.text)) {
        piece.text = arena_strndup(f->w->arena, piece.text, rest);
        piece.len = rest;
    }
    if (!piece.text)
        return walk_fail(f->w, WALK_NOMEM, "no memory", NULL);
    return field_value(f, &piece, quoted);
}

static bool param_length(struct field *f, struct value value, bool list)
{
    struct value number = { .kind = VALUE_UNKNOWN };

    if (list && value.kind == VALUE_LIST && list_is_exact(value))
        number = value_number(f->w, value.count);
    else if (!list && value.kind == VALUE_SCALAR &&
             !(value.items[0].flags & (WORD_UNKNOWN | WORD_TILDE | WORD_GLOB)))
        number = value_number(f->w, value.items[0].len);
    return number.kind == VALUE_SCALAR ? field_value(f, &number.items[0], true)
                                       : field_hole(f, true, NULL);
}

static bool text_runs(const char *text, size_t len);

static bool param_is_all(const struct shell_word *index)
{
    return index->raw_len == 1 && (index->raw[0] == '@' || index->raw[0] == '*');
}

/* ${x@P} runs what is in the value, ${!x} what is in its subscript. */
static bool param_is_safe(struct walker *w, const struct shell_param *param, struct value value)
{
    bool known = value.kind == VALUE_SCALAR && value.count > 0;

    if (param->op == PARAM_TRANSFORM && param->operand && param->operand->raw_len == 1 &&
        param->operand->raw[0] == 'P')
        return value.kind == VALUE_UNSET || (known && !(value.items[0].flags & WORD_UNKNOWN) &&
                                             !text_runs(value.items[0].text, value.items[0].len));
    return !param->indirect || !known || expand_subscript(w, &value.items[0]);
}

bool field_param(struct field *f, const struct shell_param *param, bool quoted)
{
    const struct use use = param_use(param, quoted);
    struct value value = param_value(f->w, param);

    if (f->w->result != WALK_OK)
        return false;
    if (param->index && !param_is_all(param->index) && !expand_arith(f->w, f->cx, param->index))
        return false;
    if (!use.list && !param_is_safe(f->w, param, value))
        return walk_fail(f->w, WALK_UNREADABLE, "a value that is expanded again", param->name);
    if (param->indirect || (param->length && param->op != PARAM_PLAIN))
        return (!param->operand || expand_visit(f->w, f->cx, param->operand)) &&
               walk_may_fail(f->w) && field_hole(f, false, NULL);
    if (param->length)
        return param_length(f, value, use.list);
    switch ((enum param_op)param->op) {
    case PARAM_PLAIN:
        return field_known(f, value, use);
    case PARAM_DEFAULT:
    case PARAM_ASSIGN:
    case PARAM_ERROR:
    case PARAM_ALTERNATE:
        return param_choose(f, param, value, use);
    case PARAM_SUBSTRING:
        return param_slice(f, param, value, use);
    case PARAM_PREFIX:
    case PARAM_SUFFIX:
        if (value.kind == VALUE_SCALAR && !use.list)
            return param_strip(f, param, value, quoted);
        FALLTHROUGH;
    default:
        return expand_visit(f->w, f->cx, param->operand) &&
               (!param->second || expand_visit(f->w, f->cx, param->second)) &&
               field_unknown(f, use);
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* = that assigns, ++ or --. */
static bool text_assigns(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char before = i > 0 ? text[i - 1] : '\0', after = i + 1 < len ? text[i + 1] : '\0';

        if ((text[i] == '+' || text[i] == '-') && after == text[i])
            return true;
        if (text[i] != '=' || after == '=' || before == '=' || before == '!')
            continue;
        if ((before != '<' && before != '>') || (i > 1 && text[i - 2] == before))
            return true;
    }
    return false;
}

/* The shell would run something when it expands this a second time. */
static bool text_runs(const char *text, size_t len)
{
    static const char starts[] = { '(', '{', WORD_HOLE };

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '`' ||
            (text[i] == '$' && i + 1 < len && memchr(starts, text[i + 1], sizeof(starts))))
            return true;
    }
    return false;
}

/* The value of each name is an expression again, in which $(…) runs. */
static bool names_run(struct walker *w, const char *text, size_t len, unsigned depth)
{
    if (depth >= ARITH_MAX_NAMES || !walk_step(w))
        return depth >= ARITH_MAX_NAMES;
    w->steps += len / 16;
    for (size_t i = 0, end; i < len; i = MAX_OF(end, i + 1)) {
        for (end = i; end < len && shell_name_byte(text[end]);)
            end++;
        if (end == i || (text[i] >= '0' && text[i] <= '9'))
            continue;
        const struct symbol *symbol = scope_find(w->scope, text + i, end - i);
        struct value value = { .kind = VALUE_UNKNOWN };

        if (symbol)
            value = scope_get(w->scope, symbol);
        for (size_t k = 0; k < value.count && k < WALK_MAX_LIST; k++) {
            const struct word *item = &value.items[k];
            bool itself = item->len == end - i && memcmp(item->text, text + i, item->len) == 0;

            if (text_runs(item->text, item->len) ||
                (!itself && names_run(w, item->text, item->len, depth + 1)))
                return true;
        }
    }
    return false;
}

bool expand_arith_effects(struct walker *w, const char *text, size_t len)
{
    bool assigns = text_assigns(text, len);

    if (names_run(w, text, len, 0))
        return walk_fail(w, WALK_UNREADABLE, "arithmetic with a text that runs commands", text);
    for (size_t i = 0; assigns && i < len;) {
        size_t end = i;

        while (end < len && shell_name_byte(text[end]))
            end++;
        if (end > i && !(text[i] >= '0' && text[i] <= '9'))
            scope_forget_name(w->scope, text + i, end - i);
        i = MAX_OF(end, i + 1);
    }
    if (w->scope->failed)
        return walk_fail(w, WALK_NOMEM, "no memory", NULL);
    return w->result == WALK_OK;
}

/* A text that is an expression once it is expanded. */
static bool arith_text(struct walker *w, const char *text, size_t len)
{
    if (text_runs(text, len))
        return walk_fail(w, WALK_UNREADABLE, "arithmetic with a text that runs commands", text);
    return expand_arith_effects(w, text, len);
}

bool expand_arith(struct walker *w, const struct context *cx, const struct shell_word *word)
{
    struct word text;

    return expand_word(w, cx, word, &text) && arith_text(w, text.text, text.len) &&
           expand_arith_effects(w, word->raw, word->raw_len);
}

bool expand_subscript(struct walker *w, const struct word *word)
{
    const char *open = strchr(word->text, '['), *close = open ? strstr(open, "]=") : NULL;

    return !open || arith_text(w, open, close ? (size_t)(close - open) : strlen(open));
}

static bool test_word_is(const struct shell_word *word, const char *const *names, size_t count)
{
    for (size_t i = 0; word && i < count && (word->flags & SHELL_WORD_PLAIN); i++) {
        if (str_is(word->first.text, word->first.len, names[i]))
            return true;
    }
    return false;
}

bool expand_test(struct walker *w, const struct context *cx, const struct shell_word *words)
{
    static const char *const compare[] = { "-eq", "-ne", "-lt", "-le", "-gt", "-ge" };
    static const char *const is_set[] = { "-v" };
    const struct shell_word *before = NULL;

    for (const struct shell_word *word = words; word; before = word, word = word->next) {
        struct word text;

        if (!expand_word(w, cx, word, &text))
            return false;
        if (test_word_is(before, is_set, ARRAY_LEN(is_set)) && !expand_subscript(w, &text))
            return false;
        if ((test_word_is(before, compare, ARRAY_LEN(compare)) ||
             test_word_is(word->next, compare, ARRAY_LEN(compare))) &&
            (!arith_text(w, text.text, text.len) ||
             !expand_arith_effects(w, word->raw, word->raw_len)))
            return false;
    }
    return true;
}
