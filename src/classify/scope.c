/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The known state of the shell that a text would run in.
 *
 * Names are in a balanced tree, so that no choice of names is slow. Every change of a value is
 * logged with what was there before; going back is reading the log backwards. "Everything is
 * unknown from here" costs one number: values carry the epoch they were set in, and the epoch is
 * itself a logged value.
 *
 * The exports are a list that only grows, because calls point into it: a value that goes back is
 * appended again. An assignment to a name that the environment may well have (PATH, LD_PRELOAD) is
 * listed too, marked as a guess.
 */
#include "classify/scope.h"

#include <string.h>

#include "base/str.h"

void scope_init(struct scope *s, struct arena *arena)
{
    *s = (struct scope){ .arena = arena };
}

/* ---- names ----------------------------------------------------------------------------------- */

static int name_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (a_len != b_len)
        return a_len < b_len ? -1 : 1;
    return memcmp(a, b, a_len);
}

struct symbol *scope_find(const struct scope *s, const char *name, size_t len)
{
    struct symbol *node = s->root;

    while (node) {
        int order = name_compare(name, len, node->name, node->len);

        if (order == 0)
            break;
        node = order < 0 ? node->left : node->right;
    }
    return node;
}

static struct symbol *tree_skew(struct symbol *node)
{
    struct symbol *left = node->left;

    if (!left || left->level != node->level)
        return node;
    node->left = left->right;
    left->right = node;
    return left;
}

static struct symbol *tree_split(struct symbol *node)
{
    struct symbol *right = node->right;

    if (!right || !right->right || right->right->level != node->level)
        return node;
    node->right = right->left;
    right->left = node;
    right->level++;
    return right;
}

static struct symbol *tree_insert(struct symbol *node, struct symbol *added)
{
    if (!node)
        return added;
    if (name_compare(added->name, added->len, node->name, node->len) < 0)
        node->left = tree_insert(node->left, added);
    else
        node->right = tree_insert(node->right, added);
    return tree_split(tree_skew(node));
}

struct symbol *scope_intern(struct scope *s, const char *name, size_t len)
{
    struct symbol *symbol = scope_find(s, name, len);

    if (symbol)
        return symbol;
    symbol = arena_alloc(s->arena, 1, sizeof(*symbol));
    if (symbol)
        symbol->name = arena_strndup(s->arena, name, len);
    if (!symbol || !symbol->name) {
        s->failed = true;
        return NULL;
    }
    symbol->len = len;
    symbol->level = 1;
    symbol->function_epoch = UINT32_MAX;
    s->root = tree_insert(s->root, symbol);
    return symbol;
}

/* ---- exports --------------------------------------------------------------------------------- */

bool name_is_environment(const char *name)
{
    static const char *const names[] = { "BASH_ENV", "CDPATH",       "EDITOR", "ENV",
                                         "HOME",     "NODE_OPTIONS", "PATH",   "PROMPT_COMMAND",
                                         "PS4",      "RUBYOPT",      "SHELL",  "TMPDIR",
                                         "VISUAL" };
    static const char *const prefixes[] = { "LD_", "DYLD_", "GIT_", "PYTHON", "PERL5", "SSH_" };

    if (str_has_suffix(name, "PAGER") || str_has_suffix(name, "_proxy") ||
        str_has_suffix(name, "_PROXY"))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(name, names[i]))
            return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if (str_has_prefix(name, prefixes[i]))
            return true;
    }
    return false;
}

static void export_push(struct scope *s, struct symbol *symbol, bool guessed)
{
    static const char hole[] = { WORD_HOLE, '\0' };
    struct assignment *entry;
    struct value value = scope_get(s, symbol);

    if (s->export_count >= SCOPE_MAX_EXPORTS) {
        s->too_many = true;
        return;
    }
    if (s->export_count == s->export_cap) {
        size_t cap = s->export_cap ? s->export_cap * 2 : 8;
        struct assignment *grown = arena_alloc(s->arena, cap, sizeof(*grown));

        if (!grown) {
            s->failed = true;
            return;
        }
        if (s->export_count > 0)
            memcpy(grown, s->exports, s->export_count * sizeof(*grown));
        s->exports = grown;
        s->export_cap = cap;
    }
    entry = &s->exports[s->export_count++];
    entry->name = symbol->name;
    entry->guessed = guessed;
    symbol->listed = true;
    if (value.kind == VALUE_SCALAR || value.kind == VALUE_LIST)
        entry->value = value.count > 0 ? value.items[0] : (struct word){ .text = "" };
    else if (value.kind == VALUE_UNSET)
        entry->value = (struct word){ .text = "" };
    else
        entry->value = (struct word){ .text = hole, .len = 1, .flags = WORD_UNKNOWN };
}

static void export_update(struct scope *s, struct symbol *symbol)
{
    if (!symbol->name)
        return; /* the directory, the arguments: no variables */
    if (symbol->flags & SYMBOL_EXPORTED)
        export_push(s, symbol, false);
    else if (name_is_environment(symbol->name))
        export_push(s, symbol, true);
}

void scope_export(struct scope *s, struct symbol *symbol)
{
    if (!(symbol->flags & SYMBOL_EXPORTED))
        scope_set_flags(s, symbol, symbol->flags | SYMBOL_EXPORTED);
    export_push(s, symbol, false);
}

/* ---- values ---------------------------------------------------------------------------------- */

bool value_equal(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind || a->epoch != b->epoch)
        return false;
    if (a->kind == VALUE_SCALAR)
        return a->items == b->items ||
               (a->items[0].flags == b->items[0].flags && !(a->items[0].flags & WORD_UNKNOWN) &&
                str_eq(a->items[0].text, b->items[0].text));
    return a->count == b->count && a->items == b->items;
}

struct value scope_get(const struct scope *s, const struct symbol *symbol)
{
    if (!symbol || s->poisoned || symbol->value.epoch != s->epoch.value.epoch ||
        (symbol->flags & SYMBOL_ODD))
        return (struct value){ .kind = VALUE_UNKNOWN };
    return symbol->value;
}

static bool log_change(struct scope *s, struct symbol *symbol)
{
    s->steps++;
    if (s->change_count == s->change_cap) {
        size_t cap = s->change_cap ? s->change_cap * 2 : 32;
        struct scope_change *grown = arena_alloc(s->arena, cap, sizeof(*grown));

        if (!grown) {
            s->failed = true;
            return false;
        }
        if (s->change_count > 0)
            memcpy(grown, s->changes, s->change_count * sizeof(*grown));
        s->changes = grown;
        s->change_cap = cap;
    }
    s->changes[s->change_count++] = (struct scope_change){ symbol, symbol->value, symbol->flags };
    return true;
}

void scope_set_flags(struct scope *s, struct symbol *symbol, uint32_t flags)
{
    if (symbol->flags != flags && log_change(s, symbol))
        symbol->flags = flags;
}

void scope_set(struct scope *s, struct symbol *symbol, struct value value)
{
    if (!symbol || !log_change(s, symbol))
        return;
    if ((symbol->flags & SYMBOL_READONLY) && symbol->value.kind != VALUE_UNKNOWN)
        value.kind = VALUE_UNKNOWN; /* fails; what follows differs between shells */
    value.epoch = s->epoch.value.epoch;
    symbol->value = value;
    if (s->all_exported && symbol->name)
        symbol->flags |= SYMBOL_EXPORTED;
    export_update(s, symbol);
}

void scope_set_word(struct scope *s, struct symbol *symbol, const struct word *word)
{
    struct word *copy = symbol ? arena_alloc(s->arena, 1, sizeof(*copy)) : NULL;

    if (!copy) {
        s->failed = true;
        return;
    }
    *copy = *word;
    scope_set(s, symbol, (struct value){ .kind = VALUE_SCALAR, .count = 1, .items = copy });
}

void scope_forget(struct scope *s, struct symbol *symbol)
{
    if (symbol)
        scope_set(s, symbol, (struct value){ .kind = VALUE_UNKNOWN });
}

/* The name is interned: IFS and HOME have a known value until the text touches them. */
void scope_forget_name(struct scope *s, const char *name, size_t len)
{
    struct symbol *symbol = scope_intern(s, name, len);

    if (symbol)
        scope_set(s, symbol, (struct value){ .kind = VALUE_UNKNOWN });
}

/* The last change of the log, or the one before it. */
static bool log_ends_with(const struct scope *s, const struct symbol *symbol, size_t back)
{
    return s->change_count > back && s->changes[s->change_count - 1 - back].symbol == symbol;
}

/* Nothing was set since everything was forgotten. */
static bool scope_is_blank(const struct scope *s)
{
    return log_ends_with(s, &s->epoch, log_ends_with(s, &s->definitions, 0));
}

void scope_forget_values(struct scope *s)
{
    if (!scope_is_blank(s) && log_change(s, &s->epoch))
        s->epoch.value.epoch = ++s->epochs;
}

/* Functions are not logged, so this counts even if it is the second time in a row. */
static void scope_forget_functions(struct scope *s)
{
    if (log_ends_with(s, &s->definitions, 0) || log_change(s, &s->definitions))
        s->definitions.value.epoch = ++s->epochs;
}

void scope_forget_all(struct scope *s)
{
    scope_forget_values(s);
    scope_forget_functions(s);
}

/* ---- branches -------------------------------------------------------------------------------- */

size_t scope_mark(const struct scope *s)
{
    return s->change_count;
}

static void change_undo(struct scope *s, const struct scope_change *change)
{
    struct symbol *symbol = change->symbol;
    bool differs = !value_equal(&symbol->value, &change->value) || symbol->flags != change->flags;

    symbol->value = change->value;
    symbol->flags = change->flags;
    if (differs && symbol->listed)
        export_push(s, symbol, !(symbol->flags & SYMBOL_EXPORTED));
}

void scope_rollback(struct scope *s, size_t mark)
{
    while (s->change_count > mark)
        change_undo(s, &s->changes[--s->change_count]);
}

struct scope_delta *scope_detach(struct scope *s, size_t mark)
{
    size_t end = s->change_count;
    struct scope_delta *delta;

    if (end == mark || s->failed)
        return NULL;
    delta = arena_alloc(s->arena, 1, sizeof(*delta));
    if (delta)
        delta->changes = arena_alloc(s->arena, end - mark, sizeof(*delta->changes));
    if (!delta || !delta->changes) {
        s->failed = true;
        return NULL;
    }
    s->stamps++;
    s->steps += end - mark;
    for (size_t i = end; i > mark; i--) {
        struct symbol *symbol = s->changes[i - 1].symbol;

        if (symbol->stamp != s->stamps) {
            symbol->stamp = s->stamps;
            delta->forgets |= symbol == &s->epoch;
            delta->redefines |= symbol == &s->definitions;
            delta->changes[delta->count++] = (struct scope_change){ symbol, symbol->value,
                                                                    symbol->flags };
        }
    }
    scope_rollback(s, mark);
    return delta;
}

size_t scope_join(struct scope *s, const struct scope_delta *delta)
{
    size_t forgotten = 0;

    for (size_t i = 0; delta && i < delta->count; i++) {
        struct symbol *symbol = delta->changes[i].symbol;

        scope_set_flags(s, symbol, symbol->flags | delta->changes[i].flags);
    }
    if (delta && delta->forgets) {
        forgotten = !scope_is_blank(s);
        scope_forget_values(s);
    }
    if (delta && delta->redefines)
        scope_forget_functions(s);
    if (delta && delta->forgets)
        return forgotten;
    for (size_t i = 0; delta && i < delta->count; i++) {
        struct symbol *symbol = delta->changes[i].symbol;
        enum value_kind kind = scope_get(s, symbol).kind;

        if (symbol != &s->definitions && kind != VALUE_UNKNOWN &&
            !value_equal(&symbol->value, &delta->changes[i].value)) {
            scope_set(s, symbol, (struct value){ .kind = VALUE_UNKNOWN });
            forgotten += kind != VALUE_INITIAL || (symbol->name && (str_eq(symbol->name, "IFS") ||
                                                                    str_eq(symbol->name, "HOME")));
        }
    }
    return forgotten;
}

size_t scope_merge(struct scope *s, size_t mark)
{
    return scope_join(s, scope_detach(s, mark));
}
