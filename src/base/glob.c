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
 *
 * Split patterns are the textbook automaton: a state is a part that the next component may meet,
 * and "**" is a state that stays.
 */
#include "base/glob.h"

#include <errno.h>
#include <string.h>

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

/* ---- one component at a time ---- */

enum part_kind { PART_LITERAL, PART_SUFFIX, PART_ANY, PART_PATTERN, PART_GLOBSTAR };

/* Takes backslashes out of a part that needs nothing else; false: it needs matching. */
static bool unescape(const char *text, size_t len, char *to, size_t *ret_len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '*' || text[i] == '?' || text[i] == '[')
            return false;
        if (text[i] == '\\')
            i++;
        to[n++] = text[i];
    }
    *ret_len = n;
    return true;
}

static bool make_part(struct arena *arena, const char *text, size_t len, struct glob_part *ret)
{
    bool star = len > 0 && text[0] == '*';
    char *copy = arena_alloc(arena, len + 1, 1);
    size_t n;

    if (!copy)
        return false;
    if (is_globstar(text, len)) {
        *ret = (struct glob_part){ .kind = PART_GLOBSTAR };
    } else if (unescape(text + star, len - star, copy, &n)) {
        *ret = (struct glob_part){ copy, (uint32_t)n,
                                   !star ? PART_LITERAL
                                   : n   ? PART_SUFFIX
                                         : PART_ANY };
    } else {
        memcpy(copy, text, len);
        *ret = (struct glob_part){ copy, (uint32_t)len, PART_PATTERN };
    }
    return true;
}

int glob_split(struct arena *arena, const char *pattern, size_t len, struct glob_parts *ret)
{
    size_t count = 1;
    int r = glob_check(pattern, len);

    if (r < 0)
        return r;
    for (size_t i = 0; i < len; i++)
        count += pattern[i] == '/';
    if (count > GLOB_MAX_PARTS)
        return -E2BIG;

    struct glob_part *list = arena_alloc(arena, count, sizeof *list);
    if (!list)
        return -ENOMEM;
    for (size_t at = 0, i = 0; at <= len; i++) {
        size_t n = component_length(pattern, len, at);

        if (!make_part(arena, pattern + at, n, &list[i]))
            return -ENOMEM;
        at += n + 1;
    }
    *ret = (struct glob_parts){ list, (uint32_t)count };
    return 0;
}

/* "**" may stand for nothing: then the part behind it is next. */
static uint64_t with_skipped(const struct glob_parts *parts, uint64_t states)
{
    for (uint32_t i = 0; i + 1 < parts->count; i++)
        if (parts->list[i].kind == PART_GLOBSTAR && (states >> i & 1))
            states |= UINT64_C(1) << (i + 1);
    return states;
}

uint64_t glob_begin(const struct glob_parts *parts)
{
    return with_skipped(parts, 1);
}

static bool part_fits(const struct glob_part *part, const char *name, size_t len)
{
    uint64_t steps = 0;

    switch (part->kind) {
    case PART_LITERAL:
        return part->len == len && memcmp(part->text, name, len) == 0;
    case PART_SUFFIX:
        return part->len <= len && memcmp(part->text, name + len - part->len, part->len) == 0;
    case PART_PATTERN:
        return component_match(part->text, part->len, name, len, &steps);
    default:
        return true;
    }
}

uint64_t glob_advance(const struct glob_parts *parts, uint64_t states, const char *name, size_t len,
                      bool *ret_match)
{
    uint64_t next = 0, rest = states;

    *ret_match = false;
    while (rest) {
        uint32_t i = (uint32_t)__builtin_ctzll(rest);
        bool stays = parts->list[i].kind == PART_GLOBSTAR;

        rest &= rest - 1;
        if (!part_fits(&parts->list[i], name, len))
            continue;
        if (i + 1 == parts->count)
            *ret_match = true;
        if (stays)
            next |= UINT64_C(1) << i;
        else if (i + 1 < parts->count)
            next |= UINT64_C(1) << (i + 1);
    }
    return next == states ? next : with_skipped(parts, next);
}
