/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of JSON and JSONC.
 *
 * By hand, because every key and value needs its line and column, which no JSON library at hand
 * keeps. doc.c has checked that the text is UTF-8 without NUL. Refused is everything that RFC 8259
 * does not allow (comments and trailing commas only where `extended` is not set), and what it
 * allows and programs disagree about: escapes that are half of a surrogate pair or NUL, numbers
 * that do not fit, keys that are there twice, more than DOC_MAX_DEPTH levels. The first mistake of
 * grammar ends it, since all that follows would be guesses; a double key does not.
 */
#include <errno.h>
#include <string.h>

#include "base/doc_build.h"
#include "base/str.h"

struct reader {
    struct doc_builder *b;
    const char *text;
    size_t len, at;
    struct doc_place place; /* of at */
    bool extended;
    unsigned depth;
};

static int read_value(struct reader *r, struct doc_node ***tail, const char *wanted);

/* The byte at the cursor; NUL at the end, which no text holds. */
static char look(const struct reader *r)
{
    return r->at < r->len ? r->text[r->at] : '\0';
}

static void skip(struct reader *r, size_t bytes)
{
    for (; bytes > 0; bytes--, r->at++) {
        if (r->text[r->at] == '\n')
            r->place = (struct doc_place){ r->place.line + 1, 1 };
        else if (((unsigned char)r->text[r->at] & 0xc0) != 0x80)
            r->place.column++;
    }
}

static bool has(const struct reader *r, const char *word)
{
    size_t n = strlen(word);

    return r->len - r->at >= n && memcmp(r->text + r->at, word, n) == 0;
}

static int stop(struct reader *r, const char *what, const char *hint)
{
    return doc_stop(r->b, r->place, what, hint);
}

static int skip_comment(struct reader *r)
{
    if (!r->extended)
        return stop(r, "a comment", "only .jsonc and .yaml files may have comments");
    if (has(r, "//")) {
        while (r->at < r->len && look(r) != '\n')
            skip(r, 1);
        return 0;
    }
    if (!has(r, "/*"))
        return stop(r, "a '/' that begins no comment", "write // or /* */");

    struct doc_place start = r->place;
    skip(r, 2);
    while (r->at < r->len && !has(r, "*/"))
        skip(r, 1);
    if (r->at == r->len)
        return doc_stop(r->b, start, "a comment without its end", "close it with */");
    skip(r, 2);
    return 0;
}

static int skip_space(struct reader *r)
{
    for (;;) {
        char c = look(r);

        if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            skip(r, 1);
        else if (c == '/' || c == '#') {
            if (c == '#')
                return stop(r, "a '#'", "comments begin with // in .jsonc; # is for .yaml");
            if (skip_comment(r) < 0)
                return r->b->failed;
        } else
            return 0;
    }
}

/* Four hexadecimal digits at s. */
static bool read_hex(const char *s, size_t len, uint32_t *ret)
{
    uint32_t v = 0;

    if (len < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        char c = s[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit > 15)
            return false;
        v = v << 4 | digit;
    }
    *ret = v;
    return true;
}

/* \uXXXX, or two of them that are a pair; the cursor is at the backslash. */
static int read_unicode(struct reader *r, char *out, size_t *ret_len)
{
    uint32_t c = 0, low = 0;
    size_t bytes = 6, left = r->len - r->at;
    const char *s = r->text + r->at;

    if (!read_hex(s + 2, left - 2, &c))
        return stop(r, "\\u without four hexadecimal digits", NULL);
    if (c == 0)
        return stop(r, "\\u0000: no text may hold NUL", NULL);
    if (c >= 0xd800 && c < 0xdc00) {
        if (left < 12 || s[6] != '\\' || s[7] != 'u' || !read_hex(s + 8, left - 8, &low) ||
            low < 0xdc00 || low > 0xdfff)
            return stop(r, "half of a surrogate pair", NULL);
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        bytes = 12;
    } else if (c >= 0xdc00 && c <= 0xdfff) {
        return stop(r, "half of a surrogate pair", NULL);
    }
    *ret_len = str_put_utf8(out, c);
    skip(r, bytes);
    return 0;
}

static int read_escape(struct reader *r, char *out, size_t *ret_len)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = r->len - r->at > 1 ? r->text[r->at + 1] : '\0';
    const char *found = c ? strchr(from, c) : NULL;

    if (c == 'u')
        return read_unicode(r, out, ret_len);
    if (!found)
        return stop(r, "an escape that JSON does not know", "write a backslash as \\\\");
    out[0] = to[found - from];
    *ret_len = 1;
    skip(r, 2);
    return 0;
}

/* Bytes to the closing quote: no text becomes longer by taking its escapes away. */
static size_t string_room(const struct reader *r)
{
    size_t i = r->at;

    while (i < r->len && r->text[i] != '"' && r->text[i] != '\n')
        i += r->text[i] == '\\' && r->len - i > 1 ? 2 : 1;
    return i - r->at;
}

static int read_string(struct reader *r, const char **ret)
{
    struct doc_place start = r->place;
    size_t n = 0;

    skip(r, 1);
    char *out = arena_alloc(r->b->arena, string_room(r) + 1, 1);
    if (!out)
        return doc_nomem(r->b);
    while (look(r) != '"') {
        size_t added = 1;

        if (r->at == r->len || look(r) == '\n')
            return doc_stop(r->b, start, "a text without its closing quote", NULL);
        if ((unsigned char)look(r) < 0x20)
            return stop(r, "a control character in a text", "write \\t, \\n or \\u00XX");
        if (look(r) == '\\') {
            if (read_escape(r, out + n, &added) < 0)
                return r->b->failed;
        } else {
            out[n] = look(r);
            skip(r, 1);
        }
        n += added;
    }
    skip(r, 1);
    *ret = out;
    return 0;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '+' || c == '-' || c == '.';
}

/* true, false, null, a number; or what people write instead of them. */
static int read_word(struct reader *r, struct doc_node ***tail, const char *wanted)
{
    const char *s = r->text + r->at;
    size_t n = 0;
    enum doc_type type = DOC_NUMBER;

    while (r->at + n < r->len && is_word(s[n]))
        n++;
    if (n == 0)
        return stop(r, wanted, look(r) == '\'' ? "texts stand in double quotes" : NULL);

    char *text = arena_strndup(r->b->arena, s, n);
    if (!text)
        return doc_nomem(r->b);
    enum doc_number number = doc_check_number(text, n);

    if (number == DOC_NUMBER_TOO_LARGE)
        return stop(r, "a number that is too large", NULL);
    if (str_eq(text, "true") || str_eq(text, "false"))
        type = DOC_BOOL;
    else if (str_eq(text, "null"))
        type = DOC_NULL;
    else if (number == DOC_NUMBER_NONE)
        return stop(r, "neither a number nor true, false or null", "texts stand in double quotes");

    struct doc_node *node = doc_add(r->b, tail, type, r->place);
    if (!node)
        return r->b->failed;
    node->truth = text[0] == 't';
    node->text = text;
    skip(r, n);
    return 0;
}

/* Behind a member or element: true if another one must follow. */
static int read_comma(struct reader *r, char end, bool *ret_more)
{
    struct doc_place place;

    if (skip_space(r) < 0)
        return r->b->failed;
    *ret_more = false;
    if (look(r) == end)
        return 0;
    if (look(r) != ',')
        return stop(r, r->at == r->len ? "the text ends too early" : "expected ',' or the end",
                    end == ']' ? "entries are parted by commas, a list ends with ]"
                               : "members are parted by commas, an object ends with }");
    place = r->place;
    skip(r, 1);
    if (skip_space(r) < 0)
        return r->b->failed;
    *ret_more = look(r) != end;
    if (!*ret_more && !r->extended)
        return doc_stop(r->b, place, "a comma behind the last one",
                        "take it away; only .jsonc files may have it");
    return 0;
}

static int read_list(struct reader *r, struct doc_node *list)
{
    struct doc_node **tail = &list->first;
    bool more;

    skip(r, 1);
    if (skip_space(r) < 0)
        return r->b->failed;
    more = look(r) != ']';
    while (more) {
        if (read_value(r, &tail, "expected a value") < 0)
            return r->b->failed;
        list->count++;
        if (read_comma(r, ']', &more) < 0)
            return r->b->failed;
    }
    skip(r, 1);
    return 0;
}

static int read_member(struct reader *r, struct doc_node ***tail)
{
    struct doc_place place = r->place;
    struct doc_node **member = *tail;
    const char *key = NULL;

    if (look(r) != '"')
        return stop(r, r->at == r->len ? "the text ends too early" : "expected a key",
                    "keys stand in double quotes");
    if (read_string(r, &key) < 0 || skip_space(r) < 0)
        return r->b->failed;
    if (look(r) != ':')
        return stop(r, "expected ':' behind the key", NULL);
    skip(r, 1);
    if (skip_space(r) < 0 || read_value(r, tail, "expected a value behind the key") < 0)
        return r->b->failed;
    (*member)->key = key;
    (*member)->key_place = place;
    return 0;
}

static int read_map(struct reader *r, struct doc_node *map)
{
    struct doc_node **tail = &map->first;
    bool more;

    skip(r, 1);
    if (skip_space(r) < 0)
        return r->b->failed;
    more = look(r) != '}';
    while (more) {
        if (read_member(r, &tail) < 0)
            return r->b->failed;
        map->count++;
        if (read_comma(r, '}', &more) < 0)
            return r->b->failed;
    }
    skip(r, 1);
    doc_check_keys(r->b, map);
    return r->b->failed;
}

static int read_nested(struct reader *r, struct doc_node ***tail, bool map)
{
    struct doc_node *node;

    if (r->depth == DOC_MAX_DEPTH)
        return stop(r, "nested too deeply", NULL);
    node = doc_add(r->b, tail, map ? DOC_MAP : DOC_LIST, r->place);
    if (!node)
        return r->b->failed;
    r->depth++;
    (void)(map ? read_map(r, node) : read_list(r, node));
    r->depth--;
    return r->b->failed;
}

static int read_value(struct reader *r, struct doc_node ***tail, const char *wanted)
{
    struct doc_place place = r->place;
    const char *text = NULL;

    if (r->at == r->len)
        return stop(r, "the text ends too early", NULL);
    if (look(r) == '{' || look(r) == '[')
        return read_nested(r, tail, look(r) == '{');
    if (look(r) != '"')
        return read_word(r, tail, wanted);
    if (read_string(r, &text) < 0)
        return r->b->failed;

    struct doc_node *node = doc_add(r->b, tail, DOC_STRING, place);
    if (node)
        node->text = text;
    return r->b->failed;
}

void json_read(struct doc_builder *b, const char *text, size_t len, bool extended)
{
    struct reader r = { .b = b, .text = text, .len = len, .place = { 1, 1 }, .extended = extended };
    struct doc_node *root = NULL, **tail = &root;

    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        (void)stop(&r, "it begins with a byte order mark", "save it as UTF-8 without one");
        return;
    }
    if (skip_space(&r) < 0)
        return;
    if (r.at == len) {
        (void)stop(&r, "there is nothing in it", "an empty configuration is {}");
        return;
    }
    if (read_value(&r, &tail, "expected a value") < 0 || skip_space(&r) < 0)
        return;
    if (r.at < len)
        (void)stop(&r, "more text behind the end",
                   "a file is one object: everything stands between its { and its }");
    b->doc->root = root;
}
