/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matchers for the command names of Windows. Its paths have backslashes, which a POSIX reader
 * takes for quoting; so these rules look at the words as they were written.
 */
#include <ctype.h>
#include <string.h>

#include "classify/place.h"
#include "classify/rules.h"

#define MAX_WORDS 64

struct raw {
    char *words[MAX_WORDS]; /* lower-case, without quotes */
    size_t count;
};

static void raw_add(const struct subject *s, struct raw *raw, const char *text, size_t len)
{
    if (len >= 2 && (text[0] == '"' || text[0] == '\'') && text[len - 1] == text[0]) {
        text++;
        len -= 2;
    }
    char *copy = raw->count < MAX_WORDS ? arena_strndup(s->arena, text, len) : NULL;

    if (!copy)
        return;
    for (size_t i = 0; i < len; i++)
        copy[i] = (char)tolower((unsigned char)copy[i]);
    raw->words[raw->count++] = copy;
}

/* The arguments: of the part as written, or of the words where there is none. */
static void raw_words(const struct subject *s, struct raw *raw)
{
    const char *part = s->call->part;
    size_t len = s->call->part_len, at = 0;

    raw->count = 0;
    if (s->from_argv || !part) {
        for (size_t i = 0; i < s->count; i++)
            raw_add(s, raw, s->args[i].text, s->args[i].len);
        return;
    }
    while (at < len && raw->count < MAX_WORDS) {
        while (at < len && isspace((unsigned char)part[at]))
            at++;
        size_t start = at;

        for (char quote = 0; at < len && (quote || !isspace((unsigned char)part[at])); at++) {
            if (part[at] == quote)
                quote = 0;
            else if (!quote && (part[at] == '"' || part[at] == '\''))
                quote = part[at];
        }
        if (at > start)
            raw_add(s, raw, part + start, at - start);
    }
}

static bool raw_has(const struct raw *raw, const char *list)
{
    for (size_t i = 0; i < raw->count; i++) {
        if (list_has(list, raw->words[i]))
            return true;
    }
    return false;
}

static bool is_system(const char *path)
{
    static const char *const places[] = { "c:/windows",      "c:/program files", "c:/users",
                                          "%systemroot%",    "%windir%",         "%userprofile%",
                                          "%programfiles%",  "$env:systemroot",  "$env:windir",
                                          "$env:userprofile" };
    char text[64] = "";
    size_t n = MIN_OF(strlen(path), sizeof(text) - 1);

    for (size_t i = 0; i < n; i++)
        text[i] = (char)(path[i] == '\\' ? '/' : path[i]);
    text[n] = '\0';
    while (n > 1 && (text[n - 1] == '/' || text[n - 1] == '*'))
        text[--n] = '\0';
    if (n == 2 && isalpha((unsigned char)text[0]) && text[1] == ':')
        return true;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        size_t len = strlen(places[i]);

        if (strncmp(text, places[i], len) == 0 &&
            (text[len] == '\0' || (text[len] == '/' && strcmp(places[i], "c:/users") != 0) ||
             text[len] == ' '))
            return true;
    }
    return false;
}

static bool is_danger(const struct subject *s, const char *path)
{
    const struct word w = { .text = path,
                            .len = strlen(path),
                            .flags = path[0] == '~' ? WORD_TILDE : 0 };

    if (list_has(". .. .\\ ..\\ ./ ../", path) || is_system(path))
        return true;
    if (path[0] != '/' && path[0] != '~' && path[0] != '$')
        return false;
    const char *place = strlen(path) == 2 && path[0] == '/' ? "" : place_of(s, &w, path);

    return *place && place_is_danger(s, place);
}

static bool any_danger(const struct subject *s, const struct raw *raw)
{
    for (size_t i = 0; i < raw->count; i++) {
        if (is_danger(s, raw->words[i]))
            return true;
    }
    return false;
}

MATCH(win_rmdir)
{
    struct raw raw;

    raw_words(s, &raw);
    return raw_has(&raw, "/s") && any_danger(s, &raw);
}

MATCH(win_del)
{
    struct raw raw;

    raw_words(s, &raw);
    return raw_has(&raw, "/s") && (raw_has(&raw, "* *.*") || any_danger(s, &raw));
}

MATCH(win_format)
{
    for (size_t i = 0; i < s->count; i++) {
        const char *text = s->args[i].text;

        if (isalpha((unsigned char)text[0]) && text[1] == ':')
            return true;
    }
    return false;
}

MATCH(win_remove)
{
    struct raw raw;

    raw_words(s, &raw);
    return raw_has(&raw, "-recurse -r -rec") && any_danger(s, &raw);
}

MATCH(win_safe)
{
    static const char dangerous[] =
        "stop-process remove-item stop-service restart-service clear-content set-executionpolicy "
        "new-item new-service new-object start-process start-service invoke-expression "
        "invoke-command invoke-webrequest invoke-restmethod set-content set-itemproperty "
        "add-content add-type iex iwr irm";
    struct raw raw;

    if (strcmp(s->name, "set") == 0 && s->count > 0)
        return false; /* of a shell */
    raw_words(s, &raw);
    return !raw_has(&raw, dangerous);
}
