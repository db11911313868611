/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that run other commands (wrappers.def, command_flags.def): most of them put words in
 * front of a command, so their own flags and operands are skipped and the rest is the command.
 * Shells, eval and their kind run text. unwrap_more.c has the programs with ways of their own.
 *
 * Flags that a row does not know are taken to stand alone. If that is wrong, a value is judged as
 * the command: a wrong name, which is never better than sandboxed.
 */
#include "classify/unwrap.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

#define NEUTRAL true
#define ITSELF  false

const struct wrapper wrappers[] = {
#define WRAPPER(name, handler, neutral, operands, short_values, long_values)                       \
    { name, unwrap_##handler, short_values, long_values, operands, neutral },
#include "classify/wrappers.def"
#undef WRAPPER
};
const size_t wrapper_count = ARRAY_LEN(wrappers);

static const struct command_flag {
    const char *program, *name;
    char letter;
    uint32_t inner;
} command_flags[] = {
#define COMMAND_FLAG(program, name, letter, inner) { program, name, letter, inner },
#include "classify/command_flags.def"
#undef COMMAND_FLAG
};

/* ---- for the handlers ---- */

void inner_words(const struct inner_sink *sink, const struct subject *s, const struct word *words,
                 size_t count, uint32_t inner)
{
    sink->words(sink->user, s, words, count, inner);
}

void inner_text(const struct inner_sink *sink, const struct subject *s, const char *text,
                uint32_t inner)
{
    sink->text(sink->user, s, text, strlen(text), inner);
}

bool inner_joined(const struct inner_sink *sink, const struct subject *s, const struct word *words,
                  size_t count, uint32_t inner)
{
    size_t size = 1, at = 0;

    for (size_t i = 0; i < count; i++)
        size += words[i].len + 1;
    char *text = arena_alloc(s->arena, size, 1);

    if (!text) {
        sink->text(sink->user, s, NULL, 0, inner);
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            text[at++] = ' ';
        memcpy(text + at, words[i].text, words[i].len);
        at += words[i].len;
    }
    if (count > 0)
        sink->text(sink->user, s, text, at, inner);
    return count > 0;
}

/* A hole wherever the mark stands in the word. */
static void word_punch(const struct subject *s, struct word *word, const char *mark)
{
    char *text = arena_alloc(s->arena, word->len + 1, 1), *out = text;
    const char *at = word->text, *next;

    while (text && (next = strstr(at, mark))) {
        memcpy(out, at, (size_t)(next - at));
        out += next - at;
        *out++ = WORD_HOLE;
        at = next + strlen(mark);
    }
    if (text)
        memcpy(out, at, strlen(at) + 1);
    word->text = text ? text : "\x01";
    word->len = strlen(word->text);
    word->flags |= WORD_UNKNOWN;
}

const struct word *with_holes(const struct subject *s, const struct word *words, size_t count,
                              const char *mark)
{
    struct word *copy = arena_alloc(s->arena, count + 1, sizeof(*copy));

    if (!copy)
        return words;
    memcpy(copy, words, count * sizeof(*copy));
    for (size_t i = 0; i < count; i++) {
        if (*mark && strstr(copy[i].text, mark))
            word_punch(s, &copy[i], mark);
    }
    return copy;
}

static bool is_assignment(const struct word *w)
{
    const char *at = w->text;

    if (!isalpha((unsigned char)*at) && *at != '_')
        return false;
    while (isalnum((unsigned char)*at) || *at == '_')
        at++;
    return *at == '=';
}

/* Behind the wrapper's flags. */
static size_t skip_flags(const struct subject *s, const struct wrapper *w)
{
    struct flags f;

    flags_init(&f, s->args, s->count, w->short_values, w->long_values);
    f.stop_at_operand = true;
    while (flags_next(&f) != FLAG_END)
        ;
    return f.next;
}

static bool rest_is_command(const struct subject *s, const struct inner_sink *sink, size_t at,
                            uint32_t inner)
{
    if (at < s->count && word_is(&s->args[at], "--"))
        at++;
    if (at >= s->count)
        return false;
    inner_words(sink, s, s->args + at, s->count - at, inner);
    return true;
}

/* ---- words in front of a command ---- */

UNWRAP(prefix)
{
    return rest_is_command(s, sink, skip_flags(s, w) + w->operands, 0);
}

static bool is_flag(const struct flags *f, enum flag_kind kind, char letter, const char *name)
{
    return f->value && ((kind == FLAG_SHORT && f->letter == letter) ||
                        (kind == FLAG_LONG && flags_is_long(f, name)));
}

/* env -S 'bash -c' 'text': the words of the value, then the rest. */
static bool unwrap_split(const struct subject *s, const struct inner_sink *sink, const char *value,
                         size_t rest)
{
    size_t max = strlen(value) / 2 + 1 + s->count, n = 0;
    struct word *words = arena_alloc(s->arena, max, sizeof(*words));

    /* \_ \t \n and their like part words for env, not for a shell. */
    for (const char *at = strchr(value, '\\'); at; at = at[1] ? strchr(at + 2, '\\') : NULL) {
        if (at[1] && strchr("_tnvfrc", at[1]))
            words = NULL;
    }
    if (rest >= s->count || !words || strpbrk(value, "\"'\\")) {
        inner_text(sink, s, words ? value : "\x01", 0);
        return true;
    }
    for (const char *at = value + strspn(value, " \t"); *at; at += strspn(at, " \t")) {
        size_t len = strcspn(at, " \t");
        char *text = arena_strndup(s->arena, at, len);

        words[n++] = (struct word){ .text = text ? text : "\x01", .len = text ? len : 1 };
        at += len;
    }
    memcpy(words + n, s->args + rest, (s->count - rest) * sizeof(*words));
    inner_words(sink, s, words, n + s->count - rest, 0);
    return true;
}

/* The same command, started in another directory. */
static bool in_directory(const struct subject *s, const char *dir, struct subject *ret,
                         struct call *call)
{
    const char *cwd = s->call->cwd ? s->call->cwd : "";

    *call = *s->call;
    *ret = *s;
    ret->call = call;
    call->cwd = dir[0] == '/' || dir[0] == '~' || !*cwd ? dir
                                                        : arena_printf(s->arena, "%s/%s", cwd, dir);
    if (strchr(dir, WORD_HOLE))
        call->flags |= CALL_CWD_UNKNOWN;
    return call->cwd != NULL;
}

UNWRAP(env)
{
    struct flags f;
    enum flag_kind kind;
    const char *split = NULL, *dir = NULL;
    char letter = strcmp(s->name, "env") == 0 ? 'C' : 'D';
    struct subject moved;
    struct call *call = arena_alloc(s->arena, 1, sizeof(*call));

    flags_init(&f, s->args, s->count, w->short_values, w->long_values);
    f.stop_at_operand = true;
    while (!split && (kind = flags_next(&f)) != FLAG_END) { /* what follows -S is not env's */
        if (letter == 'C' && is_flag(&f, kind, 'S', "split-string"))
            split = f.value;
        else if (is_flag(&f, kind, letter, "chdir"))
            dir = f.value;
    }
    size_t at = f.next;

    if (dir && (!call || !in_directory(s, dir, &moved, call))) {
        inner_text(sink, s, "\x01", 0);
        return true;
    }
    s = dir ? &moved : s;
    if (split)
        return unwrap_split(s, sink, split, at);
    at += letter == 'C' && at < s->count && word_is(&s->args[at], "-"); /* env - is env -i */
    while (at < s->count && is_assignment(&s->args[at]))
        at++;
    return rest_is_command(s, sink, at, 0);
}

UNWRAP(command)
{
    if (s->count > 0 && strcmp(s->name, "command") == 0 &&
        (word_is(&s->args[0], "-v") || word_is(&s->args[0], "-V")))
        return false;
    return rest_is_command(s, sink, skip_flags(s, w), 0);
}

/* poetry run X, bundle exec X, npm exec X: the verb decides. */
UNWRAP(subcommand)
{
    size_t at = skip_flags(s, w);

    if (at >= s->count || !list_has("run exec x dlx stat record trace", s->args[at].text))
        return false;
    /* These run a script of the project by its name, not a program. */
    if (list_has("npm pnpm yarn bun", s->name) && word_is(&s->args[at], "run"))
        return false;
    struct subject rest = *s;

    rest.args += at + w->operands;
    rest.count = s->count > at + w->operands ? s->count - at - w->operands : 0;
    return rest_is_command(s, sink, at + w->operands + skip_flags(&rest, w), 0);
}

/* ---- text ---- */

static const struct redirect *stdin_text(const struct subject *s)
{
    for (size_t i = s->call->redirect_count; i-- > 0;) {
        const struct redirect *r = &s->call->redirects[i];

        if (r->op == REDIRECT_TEXT && r->fd == 0)
            return r;
    }
    return NULL;
}

UNWRAP(shell)
{
    struct flags f;
    enum flag_kind kind;
    bool wants_text = false;
    size_t at = 0;

    flags_init(&f, s->args, s->count, w->short_values, w->long_values);
    f.stop_at_operand = true;
    while ((kind = flags_next(&f)) != FLAG_END ||
           (f.next < s->count && !f.only_operands && s->args[f.next].text[0] == '+')) {
        if (kind == FLAG_END)
            f.next += list_has("+o +O", s->args[f.next].text) ? 2 : 1;
        else if (kind == FLAG_SHORT ? f.letter == 'c' : list_has_n("command", f.name, f.name_len))
            wants_text = true;
    }
    at = f.next;
    if (wants_text && at < s->count) {
        inner_text(sink, s, s->args[at].text, s->xargs ? INNER_XARGS : 0);
        return true;
    }
    const struct redirect *given = stdin_text(s);

    if (!wants_text && given &&
        (at >= s->count || arg_is(s, at, "- " STDIN_NAMES) || args_have_short(s, "s"))) {
        inner_text(sink, s, given->target.text, INNER_STDIN_TEXT);
        return true;
    }
    return false;
}

UNWRAP(eval)
{
    size_t at = skip_flags(s, w);

    return inner_joined(sink, s, s->args + at, s->count - at, 0);
}

UNWRAP(joined)
{
    size_t at = skip_flags(s, w);

    return inner_joined(sink, s, s->args + at, s->count - at, 0);
}

/* hyperfine 'make' 'make -j8': each operand is a text. */
UNWRAP(each)
{
    struct flags f;
    enum flag_kind kind;
    bool found = false;

    flags_init(&f, s->args, s->count, w->short_values, w->long_values);
    while ((kind = flags_next(&f)) != FLAG_END) {
        if (kind == FLAG_OPERAND) {
            inner_text(sink, s, f.word->text, 0);
            found = true;
        }
    }
    return found;
}

/* guix shell gcc -- make: the command stands behind the dashes. */
UNWRAP(dashed)
{
    size_t at = 0;

    (void)w;
    while (at < s->count && !word_is(&s->args[at], "--"))
        at++;
    return rest_is_command(s, sink, at, 0);
}

UNWRAP(trap)
{
    size_t at = skip_flags(s, w);

    if (at + 1 >= s->count || s->args[at].len == 0 || word_is(&s->args[at], "-"))
        return false;
    inner_text(sink, s, s->args[at].text, 0);
    return true;
}

UNWRAP(alias)
{
    bool found = false;

    (void)w;
    if (args_have_short(s, "gs")) { /* zsh: for words in any place, for endings of names */
        inner_text(sink, s, "\x01", 0);
        return true;
    }
    for (size_t i = 0; i < s->count; i++) {
        const char *value = strchr(s->args[i].text, '=');

        if (value && value[1] && !word_is_flag(&s->args[i])) {
            inner_text(sink, s, value + 1, 0);
            found = true;
        }
    }
    return found;
}

/* let 'a[$(ls)]', read 'a[$(ls)]', test -v 'a[$(ls)]': the shell expands a subscript once more. */
UNWRAP(subscript)
{
    bool found = false;

    for (size_t i = 0; i < s->count; i++) {
        const char *text = s->args[i].text, *open = strchr(text, '[');

        if (!open || !(strstr(open, "$(") || strchr(open, '`')))
            continue;
        if (*w->short_values && (i == 0 || !word_is(&s->args[i - 1], w->short_values)))
            continue;
        char *quoted = arena_alloc(s->arena, 2 * s->args[i].len + 8, 1), *out = quoted;

        if (!quoted) {
            inner_text(sink, s, "\x01", 0);
            return true;
        }
        *out++ = ':';
        *out++ = ' ';
        *out++ = '"';
        for (const char *at = text; *at; at++) {
            if (*at == '"')
                *out++ = '\\';
            *out++ = *at;
        }
        *out = '"';
        inner_text(sink, s, quoted, 0);
        found = true;
    }
    return found;
}

UNWRAP(flock)
{
    size_t at = skip_flags(s, w) + w->operands;

    if (at < s->count && (word_is(&s->args[at], "-c") || word_is(&s->args[at], "--command"))) {
        if (at + 1 < s->count)
            inner_text(sink, s, s->args[at + 1].text, 0);
        return at + 1 < s->count;
    }
    return rest_is_command(s, sink, at, 0);
}

/* . /dev/stdin <<< 'text' */
UNWRAP(source)
{
    const struct redirect *given = stdin_text(s);

    (void)w;
    if (!given || !arg_is(s, 0, "- " STDIN_NAMES))
        return false;
    inner_text(sink, s, given->target.text, INNER_STDIN_TEXT);
    return true;
}

UNWRAP(nothing)
{
    (void)s, (void)w, (void)sink;
    return false;
}

/* ---- flags whose value is a command ---- */

/* The value of this word, if it is the flag: behind =, glued, or the next word. */
static const char *flag_value(const struct subject *s, size_t i, const struct command_flag *row)
{
    const char *text = s->args[i].text, *next = i + 1 < s->count ? s->args[i + 1].text : NULL;
    size_t n = strlen(row->name);

    if (text[0] != '-')
        return NULL;
    const char *name = text + 1 + (text[1] == '-');
    size_t name_len = strcspn(name, "=");

    if (n > 0 && name_len == n && memcmp(name, row->name, n) == 0)
        return name[n] == '=' ? name + n + 1 : next;
    /* Abbreviated, as getopt_long takes it. */
    if (text[1] == '-' && name_len >= 4 && name_len < n && memcmp(name, row->name, name_len) == 0)
        return name[name_len] == '=' ? name + name_len + 1 : next;
    if (!row->letter || text[1] == '-')
        return NULL;
    if (text[1] == row->letter && text[2])
        return text + 2;
    return strchr(text, row->letter) && text[strlen(text) - 1] == row->letter ? next : NULL;
}

static bool unwrap_flags(const struct subject *s, const struct inner_sink *sink)
{
    bool found = false;

    if (!subject_is(s, TRAIT_FLAGGED))
        return false;
    for (size_t row = 0; row < ARRAY_LEN(command_flags); row++) {
        if (strcmp(command_flags[row].program, s->name) != 0)
            continue;
        for (size_t i = 0; i < s->count; i++) {
            const char *value = flag_value(s, i, &command_flags[row]);

            if (value && str_has_prefix(value, "exec="))
                value += strlen("exec=");
            else if (strcmp(command_flags[row].name, "checkpoint-action") == 0)
                continue;
            if (value) {
                inner_text(sink, s, value, command_flags[row].inner);
                found = true;
            }
        }
    }
    return found;
}

bool unwrap(const struct subject *s, const struct wrapper *w, const struct inner_sink *sink)
{
    bool found = w && w->unwrap(s, w, sink);

    /* $X rm -rf /: an empty X leaves the rest. */
    if (s->call->count > 1 && s->call->words[0].flags & WORD_SPLITS &&
        word_is_hole(&s->call->words[0])) {
        inner_words(sink, s, s->args, s->count, 0);
        found = true;
    }
    return unwrap_flags(s, sink) || found;
}
