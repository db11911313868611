/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shell's own commands change in what is known: export, read, set, … Only effects:
 * whether a command is harmful is for the judge.
 *
 * A command whose name or arguments are not known may be any of them: then everything is forgotten.
 * The same holds after eval and source. Arithmetic and traps that could change a value behind our
 * back poison the scope for good.
 */
#include <string.h>

#include "base/str.h"
#include "classify/walker.h"

static bool is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!shell_name_byte(text[i]))
            return false;
    }
    return len > 0 && !(text[0] >= '0' && text[0] <= '9');
}

/* ---- assignments ----------------------------------------------------------------------------- */

/* The old value and the new one behind it. */
static bool value_append(struct walker *w, const struct value *old, const struct word *value,
                         struct word *ret)
{
    char *text;

    *ret = *value;
    if (old->kind == VALUE_UNSET)
        return true;
    if (old->kind != VALUE_SCALAR || (value->flags & WORD_TILDE) ||
        old->items[0].len + value->len > MIN_OF(WALK_MAX_VALUE, w->budget))
        return false;
    w->budget -= old->items[0].len + value->len;
    text = walk_alloc(w, old->items[0].len + value->len + 1, 1);
    if (!text)
        return false;
    memcpy(text, old->items[0].text, old->items[0].len);
    memcpy(text + old->items[0].len, value->text, value->len);
    ret->text = text;
    ret->len = old->items[0].len + value->len;
    ret->flags |= old->items[0].flags;
    if (!ret->source)
        ret->source = old->items[0].source;
    return true;
}

void assign_text(struct walker *w, const char *name, size_t len, bool append,
                 const struct word *value)
{
    struct symbol *symbol = scope_intern(w->scope, name, len);
    struct value old = scope_get(w->scope, symbol);
    struct word joined;

    if (!symbol)
        return;
    if (value->len > WALK_MAX_VALUE || (append && !value_append(w, &old, value, &joined)))
        scope_forget(w->scope, symbol);
    else
        scope_set_word(w->scope, symbol, append ? &joined : value);
}

/* NAME, and whether it is NAME[…] and NAME+=. */
static size_t assign_name(const struct shell_word *word, bool *ret_indexed, bool *ret_append)
{
    size_t len = 0;

    while (shell_name_byte(word->raw[len]))
        len++;
    *ret_indexed = word->raw[len] == '[';
    *ret_append = word->value[-2] == '+';
    return len;
}

/* The elements that w->array has, for NAME=(…) or NAME+=(…). */
bool assign_array(struct walker *w, const struct shell_word *word)
{
    bool indexed, append;
    size_t len = assign_name(word, &indexed, &append);
    struct symbol *symbol = scope_intern(w->scope, word->raw, len);
    struct value value = w->array, old = scope_get(w->scope, symbol);
    struct word *items;

    if (!symbol)
        return walk_fail(w, WALK_NOMEM, "no memory", NULL);
    if (append && (old.kind == VALUE_LIST || old.kind == VALUE_SCALAR) &&
        old.count + value.count <= WALK_MAX_LIST && value.kind == VALUE_LIST) {
        items = walk_alloc(w, old.count + value.count, sizeof(*items));
        if (!items)
            return false;
        if (old.count > 0)
            memcpy(items, old.items, old.count * sizeof(*items));
        if (value.count > 0)
            memcpy(items + old.count, value.items, value.count * sizeof(*items));
        value.items = items;
        value.count += old.count;
    } else if (append && old.kind != VALUE_UNSET) {
        value = (struct value){ .kind = VALUE_UNKNOWN };
    }
    scope_set(w->scope, symbol, value);
    return true;
}

/* Variables that the shell itself has made readonly. */
static bool name_is_readonly(const char *name)
{
    static const char *const names[] = { "BASHOPTS", "BASH_VERSINFO", "EUID",
                                         "PPID",     "SHELLOPTS",     "UID" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(name, names[i]))
            return true;
    }
    return false;
}

bool assign_word(struct walker *w, const struct context *cx, const struct shell_word *word,
                 bool keep, struct assignment *ret)
{
    bool indexed, append;
    size_t len = assign_name(word, &indexed, &append);
    struct symbol *symbol = scope_intern(w->scope, word->raw, len);

    if (!symbol)
        return walk_fail(w, WALK_NOMEM, "no memory", NULL);
    *ret = (struct assignment){ .name = symbol->name };
    if ((indexed || (symbol->flags & SYMBOL_READONLY) || name_is_readonly(symbol->name)) &&
        !walk_may_fail(w))
        return false;
    if (indexed && !expand_visit(w, cx, word))
        return false;
    if (indexed) {
        static const char hole[] = { WORD_HOLE, '\0' };

        ret->value = (struct word){ .text = hole, .len = 1, .flags = WORD_UNKNOWN };
        scope_forget(w->scope, symbol);
        return expand_arith_effects(w, word->raw, (size_t)(word->value - word->raw) - 1);
    }
    if (!expand_value(w, cx, word, &ret->value))
        return false;
    if (word->flags & SHELL_WORD_ARRAY)
        return assign_array(w, word);
    if ((word->flags & SHELL_WORD_CR) && ret->value.len > 0) { /* as it is with arguments */
        ret->value.text = arena_strndup(w->arena, ret->value.text, --ret->value.len);
        if (!ret->value.text)
            return walk_fail(w, WALK_NOMEM, "no memory", NULL);
    }
    if (keep)
        assign_text(w, word->raw, len, append, &ret->value);
    return true;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* The name in front of = or +=, or the whole; 0: none that is known. */
static size_t argument_name(const struct word *word, bool *ret_append, const char **ret_value)
{
    const char *equals = strchr(word->text, '=');
    size_t len = equals ? (size_t)(equals - word->text) : word->len;
    const char *index;

    *ret_append = equals && len > 0 && word->text[len - 1] == '+';
    *ret_value = equals ? equals + 1 : NULL;
    len -= *ret_append;
    index = memchr(word->text, '[', len);
    if (index)
        len = (size_t)(index - word->text);
    return is_name(word->text, len) ? len : 0;
}

static void forget_argument(struct walker *w, const struct word *word)
{
    const char *value;
    bool append;
    size_t len = argument_name(word, &append, &value);

    if (len > 0)
        scope_forget_name(w->scope, word->text, len);
    else if (word->flags & WORD_UNKNOWN)
        scope_forget_all(w->scope);
}

/* read, mapfile, getopts, …: all arguments that can be names are unknown after. */
static bool builtin_read(struct walker *w, const struct word *words, size_t count)
{
    for (size_t i = 1; i < count; i++)
        forget_argument(w, &words[i]);
    return true;
}

static bool builtin_printf(struct walker *w, const struct word *words, size_t count)
{
    if (count > 2 && (str_eq(words[1].text, "-v") || words[1].text[0] == WORD_HOLE))
        forget_argument(w, &words[2]);
    else if (count > 1 && ((words[1].flags & WORD_SPLITS) ||
                           (str_has_prefix(words[1].text, "-v") && words[1].len > 2)))
        scope_forget_all(w->scope);
    return true;
}

static bool builtin_let(struct walker *w, const struct word *words, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (words[i].flags & WORD_UNKNOWN)
            scope_forget_all(w->scope);
        if (!expand_arith_effects(w, words[i].text, words[i].len))
            return false;
    }
    return true;
}

static bool local_save(struct walker *w, struct symbol *symbol)
{
    struct local *local = walk_alloc(w, 1, sizeof(*local));

    if (!local)
        return false;
    *local = (struct local){ w->frame->locals, symbol, symbol->value, symbol->flags };
    w->frame->locals = local;
    return true;
}

struct declare {
    bool exports, locals, unsets;
    bool refers;   /* -n makes a reference */
    bool may_fail; /* local outside of functions: zsh takes it */
    uint32_t flags;
    bool functions, prints;
};

static void declare_option(struct walker *w, struct declare *d, const char *option)
{
    if (option[0] != '-')
        return;
    for (; *option; option++) {
        d->exports |= *option == 'x';
        d->locals &= *option != 'g';
        d->functions |= *option == 'f' || *option == 'F';
        d->prints |= *option == 'p';
        if (*option == 'r')
            d->flags |= SYMBOL_READONLY;
        if (strchr("iulcA", *option))
            d->flags |= SYMBOL_ODD;
        if (*option == 'n' && d->refers)
            w->scope->poisoned = true; /* a reference: any name may be another one */
    }
}

/* What it had before is known. */
static bool had_value(const struct walker *w, const struct symbol *symbol)
{
    return scope_get(w->scope, symbol).kind > VALUE_UNKNOWN || str_eq(symbol->name, "IFS");
}

static bool declare_one(struct walker *w, const struct declare *d, const struct word *word)
{
    const char *text;
    bool append;
    size_t len = argument_name(word, &append, &text);
    struct symbol *symbol;
    struct word value = *word;

    if (len == 0) {
        scope_forget_all(w->scope);
        return true;
    }
    symbol = scope_intern(w->scope, word->text, len);
    if (!symbol || (d->locals && w->frame && !local_save(w, symbol)))
        return walk_fail(w, WALK_NOMEM, "no memory", NULL);
    if (word->text[len] == '[' ||
        (d->may_fail && !(word->flags & WORD_ARRAY) && had_value(w, symbol))) {
        scope_forget(w->scope, symbol);
    } else if (text && !(word->flags & WORD_ARRAY)) {
        value.text = text;
        value.len = strlen(text);
        assign_text(w, word->text, len, append, &value);
    } else if (!text && d->unsets) {
        scope_set(w->scope, symbol, (struct value){ .kind = VALUE_UNSET });
    }
    if (d->flags)
        scope_set_flags(w->scope, symbol, symbol->flags | d->flags);
    if (d->exports)
        scope_export(w->scope, symbol);
    return true;
}

/* readonly -f, declare -rf: from now on these cannot be defined anew. */
static bool fix_functions(struct walker *w, const struct word *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct symbol *symbol = scope_intern(w->scope, names[i].text, names[i].len);

        if (!symbol)
            return walk_fail(w, WALK_NOMEM, "no memory", NULL);
        symbol->is_fixed = true;
        if (names[i].flags & WORD_UNKNOWN)
            scope_forget_all(w->scope);
    }
    return true;
}

/* declare, typeset, local, export, readonly. */
static bool builtin_declare(struct walker *w, const struct word *words, size_t count)
{
    bool is_local = str_eq(words[0].text, "local"), is_export = str_eq(words[0].text, "export");
    bool is_readonly = str_eq(words[0].text, "readonly");
    struct declare d = { .exports = is_export, .locals = !is_export && !is_readonly };
    size_t i = 1;

    d.refers = !is_export && !is_readonly;
    d.may_fail = is_local && !w->frame;
    d.unsets = is_local || (d.locals && w->frame);
    d.flags = is_readonly ? SYMBOL_READONLY : 0;
    for (; i < count && (words[i].text[0] == '-' || words[i].text[0] == '+'); i++)
        declare_option(w, &d, words[i].text);
    if (d.functions)
        return !(d.flags & SYMBOL_READONLY) || fix_functions(w, words + i, count - i);
    if (d.prints)
        return true;
    for (; i < count; i++) {
        if (!declare_one(w, &d, &words[i]))
            return false;
    }
    return true;
}

static bool builtin_unset(struct walker *w, const struct word *words, size_t count)
{
    bool functions = count > 1 && str_eq(words[1].text, "-f");

    for (size_t i = 1; i < count; i++) {
        struct symbol *symbol;

        if (words[i].text[0] == '-')
            continue;
        if (!is_name(words[i].text, words[i].len)) {
            forget_argument(w, &words[i]);
            continue;
        }
        symbol = scope_intern(w->scope, words[i].text, words[i].len);
        if (!symbol)
            return walk_fail(w, WALK_NOMEM, "no memory", NULL);
        if (functions || symbol->value.kind == VALUE_INITIAL)
            symbol->function_epoch = UINT32_MAX;
        if (!functions)
            scope_set(w->scope, symbol, (struct value){ .kind = VALUE_UNSET });
    }
    return true;
}

/* ---- the shell itself ------------------------------------------------------------------------ */

static bool builtin_eval(struct walker *w, const struct word *words, size_t count)
{
    (void)words;
    if (count <= 1)
        return true;
    scope_forget_all(w->scope);
    return walk_jump_take(w, true, true);
}

static bool builtin_break(struct walker *w, const struct word *words, size_t count)
{
    (void)words;
    (void)count;
    return walk_jump_take(w, true, false);
}

static bool builtin_return(struct walker *w, const struct word *words, size_t count)
{
    (void)words;
    (void)count;
    return walk_jump_take(w, false, true);
}

static bool builtin_set(struct walker *w, const struct word *words, size_t count)
{
    size_t i = 1;
    bool sets = false;

    for (; i < count && (words[i].text[0] == '-' || words[i].text[0] == '+'); i++) {
        bool on = words[i].text[0] == '-';

        if (str_eq(words[i].text, "--") || str_eq(words[i].text, "-")) {
            sets = true;
            i++;
            break;
        }
        w->scope->all_exported |= on && strchr(words[i].text, 'a');
        w->scope->stops_on_error |= on && strchr(words[i].text, 'e') && w->unsure == 0;
        w->scope->poisoned |= on && strchr(words[i].text, 'k');
        if (strchr(words[i].text, 'o') && i + 1 < count) {
            i++;
            w->scope->all_exported |= on && str_eq(words[i].text, "allexport");
            w->scope->poisoned |= on && str_eq(words[i].text, "keyword");
        }
    }
    if (sets || i < count)
        scope_set(w->scope, &w->scope->args,
                  (struct value){
                      .kind = VALUE_LIST, .count = (uint32_t)(count - i), .items = words + i });
    if (i < count && !sets && (words[i].flags & WORD_UNKNOWN))
        scope_forget(w->scope, &w->scope->args);
    return true;
}

static bool builtin_shift(struct walker *w, const struct word *words, size_t count)
{
    struct value args = scope_get(w->scope, &w->scope->args);
    uint64_t by = 1;

    if (args.kind != VALUE_LIST)
        return true;
    if (count > 2 || (count == 2 && !str_to_u64(words[1].text, WALK_MAX_LIST, &by)) ||
        by > args.count || by > WALK_MAX_LIST) {
        scope_forget(w->scope, &w->scope->args);
        return true;
    }
    for (size_t i = 0; i < by; i++) {
        if (args.items[i].flags & (WORD_SPLITS | WORD_GLOB)) {
            scope_forget(w->scope, &w->scope->args);
            return true;
        }
    }
    args.items += by;
    args.count -= (uint32_t)by;
    scope_set(w->scope, &w->scope->args, args);
    return true;
}

/* A trap between commands can change every value at any time. */
static bool builtin_trap(struct walker *w, const struct word *words, size_t count)
{
    static const char *const always[] = { "DEBUG", "ERR", "RETURN", "SIGDEBUG", "SIGERR" };
    size_t i = count > 1 && str_eq(words[1].text, "--") ? 2 : 1;

    if (i >= count || str_eq(words[i].text, "-") || words[i].len == 0 ||
        str_eq(words[i].text, "-p") || str_eq(words[i].text, "-l"))
        return true;
    for (i++; i < count; i++) {
        w->scope->poisoned |= (words[i].flags & WORD_UNKNOWN) != 0;
        for (size_t k = 0; k < ARRAY_LEN(always); k++)
            w->scope->poisoned |= strcasecmp(words[i].text, always[k]) == 0;
    }
    return true;
}

/* Patterns without a match are errors from now on: any command may be skipped. */
static bool builtin_shopt(struct walker *w, const struct word *words, size_t count)
{
    for (size_t i = 1; i < count; i++)
        w->scope->poisoned |= str_eq(words[i].text, "failglob") ||
                              (words[i].flags & WORD_UNKNOWN) != 0;
    return true;
}

static const struct builtin_row { /* sorted */
    const char *name;
    bool (*apply)(struct walker *w, const struct word *words, size_t count);
} builtin_rows[] = {
    /* clang-format off */
    { ".",         builtin_eval },
    { "alias",     builtin_alias },
    { "break",     builtin_break },
    { "cd",        builtin_cd },
    { "continue",  builtin_break },
    { "declare",   builtin_declare },
    { "eval",      builtin_eval },
    { "export",    builtin_declare },
    { "getopts",   builtin_read },
    { "hash",      builtin_hash },
    { "let",       builtin_let },
    { "local",     builtin_declare },
    { "mapfile",   builtin_read },
    { "popd",      builtin_popd },
    { "printf",    builtin_printf },
    { "pushd",     builtin_pushd },
    { "read",      builtin_read },
    { "readarray", builtin_read },
    { "readonly",  builtin_declare },
    { "return",    builtin_return },
    { "set",       builtin_set },
    { "shift",     builtin_shift },
    { "shopt",     builtin_shopt },
    { "source",    builtin_eval },
    { "trap",      builtin_trap },
    { "typeset",   builtin_declare },
    { "unset",     builtin_unset },
    { "wait",      builtin_read },
    /* clang-format on */
};

static const struct builtin_row *builtin_find(const char *name)
{
    size_t low = 0, high = ARRAY_LEN(builtin_rows);

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(name, builtin_rows[middle].name);

        if (order == 0)
            return &builtin_rows[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* In front of these, an assignment stays in some shells. */
static bool builtin_is_special(const char *name)
{
    static const char *const names[] = { ".",     ":",      "break",    "continue", "eval",
                                         "exec",  "export", "readonly", "return",   "set",
                                         "shift", "source", "times",    "trap",     "unset" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(name, names[i]))
            return true;
    }
    return false;
}

static void builtin_keeps(struct walker *w, const struct call *call)
{
    for (size_t i = 0; i < call->assign_count; i++)
        scope_forget_name(w->scope, call->assigns[i].name, strlen(call->assigns[i].name));
}

bool builtin_apply(struct walker *w, const struct call *call)
{
    const struct word *words = call->words;
    size_t count = call->count;
    const struct builtin_row *row;

    while (count > 1 && (str_eq(words[0].text, "command") || str_eq(words[0].text, "builtin"))) {
        words++;
        count--;
        while (count > 1 && (str_eq(words[0].text, "-p") || str_eq(words[0].text, "--"))) {
            words++;
            count--;
        }
    }
    if (count == 0)
        return true;
    if (words[0].flags & (WORD_UNKNOWN | WORD_GLOB)) {
        scope_forget_all(w->scope);
        return walk_jump_take(w, true, true);
    }
    row = builtin_find(words[0].text);
    if (call->assign_count > 0 && builtin_is_special(words[0].text))
        builtin_keeps(w, call);
    return !row || (row->apply(w, words, count) && w->result == WALK_OK);
}
