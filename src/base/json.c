/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON writer.
 *
 * It keeps one bit per level (has this level a member already?) and whether a key was just written.
 * Which functions are called in which order is the caller's business and asserted where it can be
 * seen; what the strings hold is not trusted at all: the output is always valid UTF-8, one line,
 * and safe to show on a terminal. Nesting deeper than JSON_MAX_DEPTH makes the buffer fail.
 */
#include "base/json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/str.h"

void json_init(struct json *j, struct buf *out)
{
    *j = (struct json){ .out = out };
    j->first[0] = true;
}

/* What stands before a value or a key: a comma, unless it is the first or follows its key. */
static void json_separate(struct json *j)
{
    if (j->after_key)
        j->after_key = false;
    else if (j->first[j->depth])
        j->first[j->depth] = false;
    else
        (void)buf_putc(j->out, ',');
}

static void json_open(struct json *j, char bracket)
{
    json_separate(j);
    if (j->depth == JSON_MAX_DEPTH) {
        if (!j->out->failed)
            j->out->failed = -E2BIG;
        return;
    }
    (void)buf_putc(j->out, bracket);
    j->depth++;
    j->first[j->depth] = true;
}

static void json_close(struct json *j, char bracket)
{
    assert(!j->after_key);
    /* A level that was refused for its depth is closed too; the output is void already then. */
    if (j->out->failed)
        return;
    assert(j->depth > 0);
    (void)buf_putc(j->out, bracket);
    j->depth--;
}

void json_object(struct json *j)
{
    json_open(j, '{');
}

void json_object_end(struct json *j)
{
    json_close(j, '}');
}

void json_array(struct json *j)
{
    json_open(j, '[');
}

void json_array_end(struct json *j)
{
    json_close(j, ']');
}

static void json_put_escaped(struct buf *b, uint32_t c)
{
    if (c == '\n')
        (void)buf_puts(b, "\\n");
    else if (c == '\t')
        (void)buf_puts(b, "\\t");
    else if (c < 0x10000)
        (void)buf_printf(b, "\\u%04x", (unsigned)c);
    else
        (void)buf_printf(b, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
                         (unsigned)(0xdc00 + ((c - 0x10000) & 0x3ff)));
}

static void json_put_text(struct buf *b, const char *s, size_t len)
{
    (void)buf_putc(b, '"');
    for (size_t i = 0; i < len;) {
        uint32_t c;
        size_t n = str_utf8(s + i, len - i, &c);

        if (n == 0) {
            (void)buf_puts(b, "\xef\xbf\xbd");
            n = 1;
        } else if (c == '"' || c == '\\') {
            (void)buf_putc(b, '\\');
            (void)buf_putc(b, (char)c);
        } else if (str_is_invisible(c)) {
            json_put_escaped(b, c);
        } else {
            (void)buf_append(b, s + i, n);
        }
        i += n;
    }
    (void)buf_putc(b, '"');
}

void json_key(struct json *j, const char *key)
{
    assert(!j->after_key);
    json_separate(j);
    json_put_text(j->out, key, strlen(key));
    (void)buf_putc(j->out, ':');
    j->after_key = true;
}

void json_strn(struct json *j, const char *s, size_t len)
{
    json_separate(j);
    json_put_text(j->out, s, len);
}

void json_str(struct json *j, const char *s)
{
    if (s)
        json_strn(j, s, strlen(s));
    else
        json_null(j);
}

void json_int(struct json *j, int64_t v)
{
    json_separate(j);
    (void)buf_printf(j->out, "%" PRId64, v);
}

void json_uint(struct json *j, uint64_t v)
{
    json_separate(j);
    (void)buf_printf(j->out, "%" PRIu64, v);
}

void json_bool(struct json *j, bool v)
{
    json_separate(j);
    (void)buf_puts(j->out, v ? "true" : "false");
}

void json_null(struct json *j)
{
    json_separate(j);
    (void)buf_puts(j->out, "null");
}

void json_pair_str(struct json *j, const char *key, const char *value)
{
    json_key(j, key);
    json_str(j, value);
}

void json_pair_int(struct json *j, const char *key, int64_t value)
{
    json_key(j, key);
    json_int(j, value);
}

void json_pair_uint(struct json *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_uint(j, value);
}

void json_pair_bool(struct json *j, const char *key, bool value)
{
    json_key(j, key);
    json_bool(j, value);
}

void json_raw(struct json *j, const char *text)
{
    json_separate(j);
    (void)buf_puts(j->out, text);
}

static void json_new_line(struct buf *out, size_t depth)
{
    (void)buf_putc(out, '\n');
    for (size_t i = 0; i < depth; i++)
        (void)buf_puts(out, "  ");
}

void json_indent(struct buf *out, const char *text, size_t len)
{
    size_t depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < len; i++) {
        char c = text[i], next = i + 1 < len ? text[i + 1] : '\0';

        if (quoted) {
            (void)buf_putc(out, c);
            if (c == '\\' && next)
                (void)buf_putc(out, text[++i]);
            quoted = c != '"';
            continue;
        }
        quoted = c == '"';
        if ((c == '}' || c == ']') && depth > 0 && i > 0 && text[i - 1] != '{' &&
            text[i - 1] != '[')
            json_new_line(out, depth - 1);
        (void)buf_putc(out, c);
        if (c == ':')
            (void)buf_putc(out, ' ');
        depth += c == '{' || c == '[';
        depth -= (c == '}' || c == ']') && depth > 0;
        if (c == ',' || ((c == '{' || c == '[') && next != '}' && next != ']'))
            json_new_line(out, depth);
    }
}
