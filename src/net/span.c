/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of text. All of it is foreign: nothing is read beyond its length, no byte is special. */
#include "net/span.h"

#include <string.h>

char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool ascii_is_alnum(char c)
{
    char lower = ascii_lower(c);

    return ascii_is_digit(c) || (lower >= 'a' && lower <= 'z');
}

bool ascii_is_token(char c)
{
    return ascii_is_alnum(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

bool span_eq(struct span s, const char *text)
{
    return strlen(text) == s.len && (s.len == 0 || memcmp(s.at, text, s.len) == 0);
}

bool span_eq_nocase(struct span s, const char *text)
{
    if (strlen(text) != s.len)
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (ascii_lower(s.at[i]) != ascii_lower(text[i]))
            return false;
    return true;
}

bool span_eq_folded(struct span s, const char *text)
{
    if (strlen(text) != s.len)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i] == '_' || s.at[i] == '.' ? '-' : ascii_lower(s.at[i]);
        if (c != text[i])
            return false;
    }
    return true;
}

struct span span_trim(struct span s)
{
    while (s.len > 0 && (s.at[0] == ' ' || s.at[0] == '\t')) {
        s.at++;
        s.len--;
    }
    while (s.len > 0 && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
        s.len--;
    return s;
}

bool span_next(struct span *s, char end, struct span *ret)
{
    const char *at;

    if (s->len == 0)
        return false;
    at = memchr(s->at, end, s->len);
    *ret = (struct span){ s->at, at ? (size_t)(at - s->at) : s->len };
    s->at += ret->len + (at ? 1 : 0);
    s->len -= ret->len + (at ? 1 : 0);
    return true;
}

bool span_to_u64(struct span s, uint64_t max, uint64_t *ret)
{
    uint64_t v = 0;

    if (s.len == 0 || (s.len > 1 && s.at[0] == '0'))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!ascii_is_digit(s.at[i]) || __builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.at[i] - '0'), &v))
            return false;
    }
    if (v > max)
        return false;
    *ret = v;
    return true;
}
