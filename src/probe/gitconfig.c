/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git's configuration syntax: [section "part"] or [section.part], then lines "key = value" with
 * quotes, escapes, comments and lines that go on behind a backslash; a key may follow its section
 * on the same line. The text may be anybody's: no line is too long, nothing is looked at behind its
 * end, and each byte is looked at a constant number of times.
 */
#include "probe/gitconfig.h"

#include <string.h>

static bool is_key_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

void gitconfig_init(struct gitconfig *g, struct arena *arena, const char *text, size_t len)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8 */

    *g = (struct gitconfig){ .arena = arena, .at = text, .end = text + len, .section = "" };
    if (len >= 3 && memcmp(text, mark, 3) == 0)
        g->at += 3;
}

static void skip_line(struct gitconfig *g)
{
    const char *newline = g->at < g->end ? memchr(g->at, '\n', (size_t)(g->end - g->at)) : NULL;

    g->at = newline ? newline + 1 : g->end;
}

static void skip_blanks(struct gitconfig *g, bool lines)
{
    while (g->at < g->end && (is_blank(*g->at) || (lines && *g->at == '\n')))
        g->at++;
}

static char *copy_lower(struct gitconfig *g, const char *text, size_t len)
{
    char *copy = arena_strndup(g->arena, text, len);

    for (char *c = copy; c && *c; c++)
        *c = lower(*c);
    g->failed = g->failed || !copy;
    return copy;
}

/* At '['. The part behind the name may hold anything but a newline, a ']' only in quotes. */
static void read_section(struct gitconfig *g)
{
    const char *name = ++g->at;
    bool quoted = false;

    while (g->at < g->end && is_key_byte(*g->at))
        g->at++;
    const char *section = copy_lower(g, name, (size_t)(g->at - name));
    for (; g->at < g->end && *g->at != '\n' && (quoted || *g->at != ']'); g->at++) {
        if (*g->at == '"')
            quoted = !quoted;
        else if (quoted && *g->at == '\\' && g->at + 1 < g->end && g->at[1] != '\n')
            g->at++;
    }
    if (g->at < g->end && *g->at == ']')
        g->at++;
    if (section)
        g->section = section;
}

/* The byte that a backslash and c mean. */
static char unescape(char c)
{
    return c == 't' ? '\t' : c == 'n' ? '\n' : c == 'b' ? '\b' : c;
}

/*
 * The value that begins at text, behind '=': the rest of the line, and of those that it goes on in.
 * Returns where it ends. to may be NULL: then only *ret_len is found, the room that it needs.
 */
static const char *decode_value(const char *text, const char *end, char *to, size_t *ret_len)
{
    bool quoted = false, comment = false;
    size_t len = 0, kept = 0; /* kept: without blanks at the end */

    for (; text < end && *text != '\n'; text++) {
        char c = *text;
        bool escaped = c == '\\' && !comment;

        if (escaped && (text + 1 == end || *++text == '\n'))
            continue; /* goes on in the next line */
        if (escaped)
            c = unescape(*text);
        else if (c == '"' && !comment)
            quoted = !quoted;
        else if ((c == '#' || c == ';') && !quoted)
            comment = true;
        if (comment || (!escaped && (c == '"' || (len == 0 && !quoted && is_blank(c)))))
            continue;
        if (to)
            to[len] = c;
        len++;
        if (quoted || escaped || !is_blank(c))
            kept = len;
    }
    if (to)
        to[kept] = '\0';
    *ret_len = len;
    return text;
}

static const char *read_value(struct gitconfig *g)
{
    size_t bound;

    (void)decode_value(g->at, g->end, NULL, &bound);
    char *value = arena_alloc(g->arena, bound + 1, 1);
    g->failed = g->failed || !value;
    if (value)
        g->at = decode_value(g->at, g->end, value, &bound);
    return value;
}

bool gitconfig_next(struct gitconfig *g, struct gitconfig_entry *ret)
{
    while (!g->failed) {
        skip_blanks(g, true);
        if (g->at == g->end)
            return false;
        if (*g->at == '[') {
            read_section(g);
            continue;
        }
        const char *name = g->at;
        while (g->at < g->end && is_key_byte(*g->at))
            g->at++;
        if (g->at == name) { /* a comment, or nothing that git would read */
            skip_line(g);
            continue;
        }
        const char *key = copy_lower(g, name, (size_t)(g->at - name)), *value = "";
        skip_blanks(g, false);
        if (g->at < g->end && *g->at == '=') {
            g->at++;
            value = read_value(g);
        } else {
            skip_line(g);
        }
        if (g->failed)
            return false;
        *ret = (struct gitconfig_entry){ g->section, key, value };
        return true;
    }
    return false;
}
