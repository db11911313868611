/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helpers of the matchers: names of commands, words, arguments. Pure, linear in the words.
 *
 * Names are compared without directory and case, without .exe, .cmd, .bat, and versions of
 * interpreters are dropped (python3.11 is python): a rule that forbids must not depend on spelling.
 * Long flags are understood abbreviated, as getopt_long does, for the same reason.
 */
#include "classify/subject.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "classify/rules.h"

#define VERSIONED " python pypy pip ruby perl php lua luajit node nodejs tclsh wish gcc clang "

/* ---- words ---- */

bool list_has_n(const char *list, const char *word, size_t len)
{
    /* By hand: the lists are short, and this is where the time goes. */
    for (const char *at = list; len > 0 && *at; at++) {
        size_t n = 0;

        while (n < len && at[n] == word[n] && word[n] != ' ')
            n++;
        if (n == len && (at[n] == ' ' || at[n] == '\0'))
            return true;
        while (*at && *at != ' ')
            at++;
        if (!*at)
            break;
    }
    return false;
}

bool list_has(const char *list, const char *word)
{
    return list_has_n(list, word, strlen(word));
}

bool word_is(const struct word *w, const char *text)
{
    return strcmp(w->text, text) == 0;
}

bool word_is_flag(const struct word *w)
{
    return w->text[0] == '-' && w->text[1] != '\0';
}

bool word_is_hole(const struct word *w)
{
    return w->len > 0 && strspn(w->text, "\x01") == w->len;
}

static bool starts_ignoring_case(const char *text, const char *start, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (tolower((unsigned char)text[i]) != tolower((unsigned char)start[i]))
            return false;
    }
    return true;
}

static bool has_n(const char *text, const char *part, size_t len)
{
    size_t text_len = strlen(text);

    for (size_t i = 0; i + len <= text_len; i++) {
        if (starts_ignoring_case(text + i, part, len))
            return true;
    }
    return false;
}

bool text_has(const char *text, const char *part)
{
    return has_n(text, part, strlen(part));
}

bool text_has_any(const char *text, const char *parts)
{
    for (const char *at = parts; *at;) {
        size_t n = strcspn(at, " ");

        if (n > 0 && has_n(text, at, n))
            return true;
        at += n;
        at += strspn(at, " ");
    }
    return false;
}

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_';
}

bool bytes_have_word(const char *bytes, size_t len, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= len; i++) {
        if (memcmp(bytes + i, word, n) == 0 && (i == 0 || !is_name_byte(bytes[i - 1])) &&
            (i + n == len || !is_name_byte(bytes[i + n])))
            return true;
    }
    return false;
}

/* ---- arguments ---- */

bool arg_is(const struct subject *s, size_t i, const char *list)
{
    return i < s->count && list_has(list, s->args[i].text);
}

bool args_have(const struct subject *s, const char *list)
{
    for (size_t i = 0; i < s->count; i++) {
        if (list_has_n(list, s->args[i].text, s->args[i].len))
            return true;
    }
    return false;
}

bool args_have_short(const struct subject *s, const char *letters)
{
    for (size_t i = 0; i < s->count && !word_is(&s->args[i], "--"); i++) {
        const char *text = s->args[i].text;

        if (text[0] == '-' && text[1] != '-' && strpbrk(text + 1, letters))
            return true;
    }
    return false;
}

/* --r is --recursive, as getopt_long takes it where no other name begins so. */
static bool long_is(const char *name, size_t len, const char *whole)
{
    return len > 0 && len <= strlen(whole) && memcmp(name, whole, len) == 0;
}

bool long_list_has(const char *list, const char *name, size_t len)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, " ");

        if (n >= len && memcmp(at, name, len) == 0 && (n == len || len >= 3))
            return true;
        at += n;
        at += strspn(at, " ");
    }
    return false;
}

bool args_have_long(const struct subject *s, const char *name)
{
    for (size_t i = 0; i < s->count && !word_is(&s->args[i], "--"); i++) {
        const char *text = s->args[i].text;

        if (text[0] == '-' && text[1] == '-' && long_is(text + 2, strcspn(text + 2, "="), name))
            return true;
    }
    return false;
}

bool args_want_info(const struct subject *s)
{
    return args_have(s, "--help -h --version") || (s->count == 1 && word_is(&s->args[0], "-V"));
}

void flags_init(struct flags *f, const struct word *words, size_t count, const char *short_values,
                const char *long_values)
{
    *f = (struct flags){
        .words = words, .count = count, .short_values = short_values, .long_values = long_values
    };
}

static void take_value(struct flags *f)
{
    if (f->next < f->count) {
        f->word = &f->words[f->next];
        f->value = f->words[f->next++].text;
    }
}

static enum flag_kind next_short(struct flags *f)
{
    f->letter = *f->cluster++;
    f->value = NULL;
    if (strchr(f->short_values, f->letter)) {
        if (*f->cluster)
            f->value = f->cluster;
        else
            take_value(f);
        f->cluster = NULL;
    } else if (!*f->cluster) {
        f->cluster = NULL;
    }
    return FLAG_SHORT;
}

static enum flag_kind next_long(struct flags *f, const char *text)
{
    f->name = text + 2;
    f->name_len = strcspn(f->name, "=");
    f->value = f->name[f->name_len] == '=' ? f->name + f->name_len + 1 : NULL;
    if (!f->value && long_list_has(f->long_values, f->name, f->name_len))
        take_value(f);
    return FLAG_LONG;
}

enum flag_kind flags_next(struct flags *f)
{
    if (f->cluster)
        return next_short(f);
    f->value = NULL;
    if (f->next >= f->count)
        return FLAG_END;
    f->word = &f->words[f->next];
    const char *text = f->word->text;

    if (!f->only_operands && strcmp(text, "--") == 0) {
        f->next++;
        f->only_operands = true;
        return flags_next(f);
    }
    if (f->only_operands || text[0] != '-' || text[1] == '\0') {
        if (f->stop_at_operand)
            return FLAG_END;
        f->next++;
        return FLAG_OPERAND;
    }
    f->next++;
    if (text[1] == '-')
        return next_long(f, text);
    f->cluster = text + 1;
    return next_short(f);
}

bool flags_is_long(const struct flags *f, const char *name)
{
    return long_is(f->name, f->name_len, name);
}

const char *verb_of(const struct subject *s, size_t n, const char *short_values,
                    const char *long_values)
{
    struct flags f;
    enum flag_kind kind;

    flags_init(&f, s->args, s->count, short_values, long_values);
    while ((kind = flags_next(&f)) != FLAG_END) {
        if (kind == FLAG_OPERAND && n-- == 0)
            return f.word->text;
    }
    return "";
}

bool has_toolchain(const struct subject *s)
{
    return strcmp(s->name, "cargo") == 0 && s->count > 0 && s->args[0].text[0] == '+';
}

const char *git_verb(const struct subject *s, const struct word **ret_rest, size_t *ret_count)
{
    struct flags f;

    flags_init(&f, s->args, s->count, "Cc",
               "git-dir work-tree namespace super-prefix config-env list-cmds attr-source");
    f.stop_at_operand = true;
    while (flags_next(&f) != FLAG_END)
        ;
    size_t rest = MIN_OF(f.next + 1, s->count);

    if (ret_rest)
        *ret_rest = s->args + rest;
    if (ret_count)
        *ret_count = s->count - rest;
    return f.next < s->count ? s->args[f.next].text : "";
}

/* ---- what it is ---- */

static size_t versionless(const char *name, size_t len)
{
    size_t n = len;

    while (n > 0 &&
           (isdigit((unsigned char)name[n - 1]) || name[n - 1] == '.' || name[n - 1] == '-'))
        n--;
    return n > 0 && n < len && list_has_n(VERSIONED, name, n) ? n : len;
}

void subject_init(struct subject *s, const struct call *call)
{
    static const char *const suffixes[] = { ".exe", ".cmd", ".bat" };

    s->call = call;
    s->name[0] = '\0';
    s->command = NULL;
    s->args = call->count > 0 ? call->words + 1 : NULL;
    s->count = call->count > 0 ? call->count - 1 : 0;
    if (call->count == 0)
        return;
    if (call->count == 1 && call->part && call->part_len > 5 &&
        memcmp(call->part, "$env:", 5) == 0) { /* PowerShell shows a variable */
        memcpy(s->name, "$env", sizeof("$env"));
        s->command = ruleset_command(s->rules, s->name, s->arena, s->no_memory);
        return;
    }
    const struct word *w = &call->words[0];
    size_t end = w->len, start;

    while (end > 1 && w->text[end - 1] == '/')
        end--;
    for (start = end; start > 0 && w->text[start - 1] != '/' && w->text[start - 1] != '\\';)
        start--;
    if (start == 0 && end > 1 && w->text[0] == '=') /* zsh: the program of that name */
        start++;
    for (size_t i = 0; i < ARRAY_LEN(suffixes) && end - start > 4; i++) {
        if (starts_ignoring_case(w->text + end - 4, suffixes[i], 4)) {
            end -= 4;
            break;
        }
    }
    if (end - start >= SUBJECT_NAME_MAX || memchr(w->text + start, WORD_HOLE, end - start))
        return;
    for (size_t i = start; i < end; i++)
        s->name[i - start] = (char)tolower((unsigned char)w->text[i]);
    s->name[end - start] = '\0';
    s->name[versionless(s->name, end - start)] = '\0';
    if (str_has_prefix(s->name, "mkfs.") || str_has_prefix(s->name, "newfs_"))
        s->name[strcspn(s->name, "._")] = '\0';
    else if (str_has_prefix(s->name, "ld-linux") || str_has_prefix(s->name, "ld-musl"))
        memcpy(s->name, "ld.so", sizeof("ld.so"));
    s->command = ruleset_command(s->rules, s->name, s->arena, s->no_memory);
}

bool subject_is(const struct subject *s, uint32_t traits)
{
    return s->command && s->command->traits & traits;
}

bool is_system_program(const struct subject *s)
{
    static const char *const places[] = { "/bin/",  "/usr/bin/",  "/usr/local/bin/",
                                          "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/" };
    const char *text = s->call->count > 0 ? s->call->words[0].text : "";
    const char *slash = strrchr(text, '/');

    if (!slash)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (strlen(places[i]) == (size_t)(slash - text) + 1 && str_has_prefix(text, places[i]))
            return true;
    }
    return false;
}
