/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings and regexes of the profile language.
 *
 * Paths are hostile bytes: a quote, a backslash or a line end in a name must not end the literal
 * it stands in. Everything that a terminal would obey, and all that is not UTF-8, is written as
 * \xNN, so a profile can also be printed. A name that is too long for the system's compiler is
 * refused, never cut: half a path is another path.
 *
 * Regexes are in the language that POSIX calls extended, without {}: what both the system's matcher
 * and tests/lib/sbpl.c read the same way.
 */
#include "plan/seatbelt_text.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "plan/seatbelt.h"

static void put_hex(struct buf *b, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        (void)buf_printf(b, "\\x%02x", (unsigned char)bytes[i]);
}

static void put_ascii(struct buf *b, char c)
{
    static const char plain[] = "\n\r\t\"\\", letters[] = "nrt\"\\";
    const char *at = c ? strchr(plain, c) : NULL;

    if (at)
        (void)buf_printf(b, "\\%c", letters[at - plain]);
    else
        (void)buf_putc(b, c);
}

int seatbelt_string(struct buf *b, const char *text, size_t len)
{
    (void)buf_putc(b, '"');
    size_t start = b->len;

    for (size_t i = 0; i < len && !b->failed;) {
        uint32_t c = 0;
        size_t n = str_utf8(text + i, len - i, &c);
        bool line_end = text[i] == '\n' || text[i] == '\r' || text[i] == '\t';

        if (n == 0 || (str_is_invisible(c) && !line_end))
            put_hex(b, text + i, n ? n : 1);
        else if (n == 1)
            put_ascii(b, text[i]);
        else
            (void)buf_append(b, text + i, n);
        i += n ? n : 1;
    }
    if (b->failed)
        return b->failed;
    if (b->len - start > SEATBELT_MAX_STRING)
        return -E2BIG;
    return buf_putc(b, '"');
}

static void put_regex_byte(struct buf *b, char c)
{
    if (c && strchr(".^$*+?()[]{}|\\", c))
        (void)buf_putc(b, '\\');
    (void)buf_putc(b, c);
}

int seatbelt_regex_plain(struct buf *b, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        put_regex_byte(b, text[i]);
    return b->failed;
}

/* ---- any spelling of a name ---- */

/* What folds into ASCII letters: full case folding, Unicode 9 and later. */
static const struct fold {
    const char *letters, *other;
} folds[] = {
    { "ffi", "\xef\xac\x83" }, { "ffl", "\xef\xac\x84" }, { "ff", "\xef\xac\x80" },
    { "fi", "\xef\xac\x81" },  { "fl", "\xef\xac\x82" },  { "st", "\xef\xac\x85" },
    { "st", "\xef\xac\x86" },  { "ss", "\xc3\x9f" },      { "ss", "\xe1\xba\x9e" },
    { "s", "\xc5\xbf" },       { "k", "\xe2\x84\xaa" },   { ";", "\xcd\xbe" },
    { "`", "\xe1\xbf\xaf" },
};

static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool fold_fits(const struct fold *f, const char *name, size_t len)
{
    size_t n = strlen(f->letters);

    for (size_t i = 0; i < n; i++)
        if (i >= len || to_lower(name[i]) != f->letters[i])
            return false;
    return true;
}

static void put_any_case(struct buf *b, char c)
{
    char lower = to_lower(c);

    if (lower >= 'a' && lower <= 'z')
        (void)buf_printf(b, "[%c%c]", lower, lower - 'a' + 'A');
    else
        put_regex_byte(b, c);
}

/* Where the run of characters that ligatures tie together ends. */
static size_t cluster_length(const char *name, size_t len)
{
    size_t end = 1;

    for (size_t i = 0; i < end; i++)
        for (size_t j = 0; j < ARRAY_LEN(folds); j++)
            if (fold_fits(&folds[j], name + i, len - i))
                end = MAX_OF(end, i + strlen(folds[j].letters));
    return end;
}

/* All ways to write the first len characters, as alternatives. A cluster is short: see folds. */
static void put_cluster(struct buf *b, const char *name, size_t len)
{
    bool ways = false;

    for (size_t j = 0; j < ARRAY_LEN(folds) && len; j++)
        ways = ways || (strlen(folds[j].letters) <= len && fold_fits(&folds[j], name, len));
    if (len == 0)
        return;
    if (ways)
        (void)buf_putc(b, '(');
    put_any_case(b, name[0]);
    put_cluster(b, name + 1, len - 1);
    for (size_t j = 0; j < ARRAY_LEN(folds); j++) {
        size_t n = strlen(folds[j].letters);
        if (n <= len && fold_fits(&folds[j], name, len)) {
            (void)buf_printf(b, "|%s", folds[j].other);
            put_cluster(b, name + n, len - n);
        }
    }
    if (ways)
        (void)buf_putc(b, ')');
}

#define CLUSTER_MAX 8 /* "fffff…": beyond it the ways are too many to write down */

static bool is_ascii(char c)
{
    return (unsigned char)c < 0x80;
}

/* Bytes at name that characters beyond ASCII are part of, or may be combined with. */
static size_t foreign_length(const char *name, size_t len)
{
    size_t n = len > 1 && is_ascii(name[0]) && !is_ascii(name[1]);

    while (n < len && !is_ascii(name[n]))
        n++;
    return n;
}

/* The row of the character at name that folds into letters, or NULL. */
static const struct fold *fold_back(const char *name, size_t len)
{
    for (size_t j = 0; j < ARRAY_LEN(folds); j++) {
        size_t n = strlen(folds[j].other);
        if (n <= len && memcmp(folds[j].other, name, n) == 0)
            return &folds[j];
    }
    return NULL;
}

/*
 * Normal forms differ in ways that only tables know, so this is wider than it need be: anything
 * with a character beyond ASCII in it. And the letters alone, where all of it folds into letters.
 */
static void put_foreign(struct buf *b, const char *name, size_t len)
{
    size_t start = is_ascii(name[0]), i = start;
    const struct fold *f;

    while ((f = fold_back(name + i, len - i)) != NULL)
        i += strlen(f->other);
    if (i == len) {
        (void)buf_putc(b, '(');
        if (start)
            put_any_case(b, name[0]);
        for (i = start; i < len; i += strlen(f->other)) {
            f = fold_back(name + i, len - i);
            for (const char *letter = f->letters; *letter; letter++)
                put_any_case(b, *letter);
        }
        (void)buf_putc(b, '|');
    }
    (void)buf_puts(b, "[^/]*[^ -~/][^/]*");
    if (i == len)
        (void)buf_putc(b, ')');
}

int seatbelt_regex_folded(struct buf *b, const char *name, size_t len)
{
    for (size_t i = 0; i < len && !b->failed;) {
        size_t n = foreign_length(name + i, len - i);

        if (n) {
            put_foreign(b, name + i, n);
        } else {
            n = 1;
            while (i + n < len && n < CLUSTER_MAX && n < cluster_length(name + i, n + 1) &&
                   !foreign_length(name + i + n, len - i - n))
                n++;
            put_cluster(b, name + i, n);
        }
        i += n;
    }
    return b->failed;
}

/* ---- patterns ---- */

static bool is_plain_in_set(char c)
{
    return c > ' ' && c < 0x7f && !strchr("/[]\\^-", c);
}

/* The set at p ('['), valid; bytes of it. Written as a class if all of it is plain ASCII. */
static size_t put_set(struct buf *b, const char *p, size_t len)
{
    bool negated = p[1] == '!' || p[1] == '^', plain = true;
    size_t first = negated ? 2 : 1, end = first;

    for (; end < len && (p[end] != ']' || end == first); end++) {
        bool range = p[end] == '-' && end > first && end + 1 < len && p[end + 1] != ']';
        plain = plain && (range || is_plain_in_set(p[end]));
        if (p[end] == '\\')
            end++;
    }
    if (plain)
        (void)buf_printf(b, "[%s%.*s]", negated ? "^/" : "", (int)(end - first), p + first);
    else
        (void)buf_puts(b, "[^/]");
    return end + 1;
}

static void put_component(struct buf *b, const char *p, size_t len)
{
    for (size_t i = 0; i < len;) {
        if (p[i] == '*') {
            (void)buf_puts(b, "[^/]*");
            while (i < len && p[i] == '*')
                i++;
        } else if (p[i] == '?') {
            (void)buf_puts(b, "[^/]");
            i++;
        } else if (p[i] == '[') {
            i += put_set(b, p + i, len - i);
        } else {
            i += p[i] == '\\' && i + 1 < len;
            put_regex_byte(b, p[i++]);
        }
    }
}

int seatbelt_regex_glob(struct buf *b, const char *pattern, size_t len)
{
    for (size_t at = 0; at <= len;) {
        const char *slash = memchr(pattern + at, '/', len - at);
        size_t end = slash ? (size_t)(slash - pattern) : len;
        bool any = end - at == 2 && memcmp(pattern + at, "**", 2) == 0;

        if (any)
            (void)buf_puts(b, slash ? "(.*/)?" : ".+");
        else
            put_component(b, pattern + at, end - at);
        if (slash && !any)
            (void)buf_putc(b, '/');
        at = end + 1;
    }
    return b->failed;
}
