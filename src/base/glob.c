/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Path patterns.
 *
 * The same idea works on two levels. Within a component, "*" first stands for nothing; when what
 * follows does not fit, the last star takes one byte more and what follows is tried again. Earlier
 * stars need not be looked at again: a later star can make up for whatever they left. Between
 * components "**" is such a star, with components in the place of bytes. So each byte of the
 * pattern meets each byte of the text a constant number of times, whoever wrote the pattern.
 *
 * Pattern and text are hostile byte strings. A position in a string of n bytes is the start of a
 * component; n + 1 stands for "behind the last one" (as if a slash followed the end), so that the
 * empty component and the end are different things.
 */
#include "base/glob.h"

#include <errno.h>

#define NONE SIZE_MAX

static size_t component_length(const char *s, size_t len, size_t at)
{
    size_t n = 0;

    while (at + n < len && s[at + n] != '/')
        n++;
    return n;
}

static bool is_globstar(const char *p, size_t len)
{
    return len == 2 && p[0] == '*' && p[1] == '*';
}

/* One character of a set, at *i, which moves behind it. */
static bool set_character(const char *p, size_t len, size_t *i, unsigned char *ret)
{
    if (p[*i] == '[' && *i + 1 < len && (p[*i + 1] == ':' || p[*i + 1] == '=' || p[*i + 1] == '.'))
        return false;
    if (p[*i] == '\\')
        (*i)++;
    if (*i >= len)
        return false;
    *ret = (unsigned char)p[(*i)++];
    return true;
}

/* Bytes of the set that begins at p, and whether c is in it; 0 if the set is invalid. */
static size_t set_match(const char *p, size_t len, unsigned char c, bool *ret_in)
{
    bool negated = len > 1 && (p[1] == '!' || p[1] == '^'), in = false;
    size_t first = negated ? 2 : 1, i = first;

    for (;;) {
        unsigned char from, to;

        if (i >= len)
            return 0;
        if (p[i] == ']' && i > first)
            break;
        if (!set_character(p, len, &i, &from))
            return 0;
        to = from;
        if (i + 1 < len && p[i] == '-' && p[i + 1] != ']') {
            i++;
            if (!set_character(p, len, &i, &to) || to < from)
                return 0;
        }
        in = in || (c >= from && c <= to);
    }
    *ret_in = in != negated;
    return i + 1;
}

/* Bytes of the element at p (not a star), and whether it fits c; 0 if it is invalid. */
static size_t element_match(const char *p, size_t len, unsigned char c, bool *ret_fits)
{
    if (p[0] == '[')
        return set_match(p, len, c, ret_fits);
    if (p[0] == '\\') {
        if (len < 2)
            return 0;
        *ret_fits = (unsigned char)p[1] == c;
        return 2;
    }
    *ret_fits = p[0] == '?' || (unsigned char)p[0] == c;
    return 1;
}

static bool component_is_valid(const char *p, size_t len)
{
    size_t i = 0;

    while (i < len) {
        bool fits;
        size_t n = element_match(p + i, len - i, 0, &fits);

        if (n == 0 || p[i] == '\0')
            return false;
        i += n;
    }
    return true;
}

int glob_check(const char *pattern, size_t len)
{
    if (len > GLOB_MAX_PATTERN)
        return -E2BIG;
    for (size_t at = 0; at <= len;) {
        size_t n = component_length(pattern, len, at);

        if (!component_is_valid(pattern + at, n))
            return -EINVAL;
        at += n + 1;
    }
    return 0;
}

bool glob_is_pattern(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '*' || text[i] == '?' || text[i] == '[' || text[i] == '\\')
            return true;
    }
    return false;
}

/* A valid pattern and a text, both without slashes. */
static bool component_match(const char *p, size_t plen, const char *t, size_t tlen, uint64_t *steps)
{
    size_t pi = 0, ti = 0, star = NONE, resume = 0;

    for (;;) {
        (*steps)++;
        if (pi < plen && p[pi] == '*') {
            star = ++pi;
            resume = ti;
            if (star == plen)
                return true;
            continue;
        }
        if (ti == tlen)
            return pi == plen;
        if (pi < plen) {
            bool fits = false;
            size_t n = element_match(p + pi, plen - pi, (unsigned char)t[ti], &fits);

            *steps += n;
            if (fits) {
                pi += n;
                ti++;
                continue;
            }
        }
        if (star == NONE)
            return false;
        pi = star;
        ti = ++resume;
    }
}

bool glob_match_steps(const char *pattern, size_t pattern_len, const char *text, size_t text_len,
                      uint64_t *ret_steps)
{
    size_t pi = 0, ti = 0, star = NONE, resume = 0;

    *ret_steps = MIN_OF(pattern_len, (size_t)GLOB_MAX_PATTERN);
    if (glob_check(pattern, pattern_len) < 0)
        return false;
    for (;;) {
        size_t pn = pi <= pattern_len ? component_length(pattern, pattern_len, pi) : 0;
        size_t tn = ti <= text_len ? component_length(text, text_len, ti) : 0;

        *ret_steps += pn + tn;
        if (pi <= pattern_len && is_globstar(pattern + pi, pn)) {
            pi += pn + 1;
            if (pi > pattern_len)
                return ti < text_len;
            star = pi;
            resume = ti;
            continue;
        }
        if (ti > text_len)
            return pi > pattern_len;
        if (pi <= pattern_len && component_match(pattern + pi, pn, text + ti, tn, ret_steps)) {
            pi += pn + 1;
            ti += tn + 1;
            continue;
        }
        if (star == NONE)
            return false;
        resume += component_length(text, text_len, resume) + 1;
        pi = star;
        ti = resume;
    }
}

bool glob_match(const char *pattern, size_t pattern_len, const char *text, size_t text_len)
{
    uint64_t steps;

    return glob_match_steps(pattern, pattern_len, text, text_len, &steps);
}

bool glob_may_match_below(const char *pattern, size_t pattern_len, const char *dir, size_t dir_len)
{
    uint64_t steps = 0;
    size_t pi = 0, ti = 0;

    if (pattern_len == 0 || glob_check(pattern, pattern_len) < 0)
        return false;
    if (dir_len == 0)
        return pattern[0] != '/';
    if (dir[dir_len - 1] == '/')
        dir_len--;
    while (ti <= dir_len) {
        size_t pn, tn = component_length(dir, dir_len, ti);

        if (pi > pattern_len)
            return false;
        pn = component_length(pattern, pattern_len, pi);
        if (is_globstar(pattern + pi, pn))
            return true;
        if (!component_match(pattern + pi, pn, dir + ti, tn, &steps))
            return false;
        pi += pn + 1;
        ti += tn + 1;
    }
    return pi <= pattern_len;
}
