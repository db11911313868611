/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing words without a libc. */
#ifndef ABX_WRAP_WORDS_H
#define ABX_WRAP_WORDS_H

#include "base/defs.h"

static inline size_t words_len(const char *s)
{
    size_t n = 0;

    while (s[n])
        n++;
    return n;
}

static inline bool words_same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static inline bool words_begin(const char *s, const char *prefix)
{
    while (*prefix && *s == *prefix)
        s++, prefix++;
    return !*prefix;
}

static inline const char *words_find(const char *s, char c)
{
    while (*s && *s != c)
        s++;
    return *s ? s : NULL;
}

static inline char words_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* The same without case: the key's first `len` bytes against a word in lower case. */
static inline bool words_same_lower(const char *s, size_t len, const char *word)
{
    for (size_t i = 0; i < len; i++)
        if (!word[i] || words_lower(s[i]) != word[i])
            return false;
    return !word[len];
}

static inline bool words_begin_lower(const char *s, size_t len, const char *prefix)
{
    for (size_t i = 0; prefix[i]; i++)
        if (i == len || words_lower(s[i]) != prefix[i])
            return false;
    return true;
}

/* One of the blank-separated words in list. */
static inline bool words_list(const char *list, const char *s, size_t len)
{
    while (*list) {
        size_t n = 0;
        while (list[n] && list[n] != ' ')
            n++;
        bool same = n == len;
        for (size_t i = 0; i < n && same; i++)
            same = list[i] == s[i];
        if (same)
            return true;
        list += n + (list[n] == ' ');
    }
    return false;
}

/* s[0 … len) is the beginning of one of them, or all of it. */
static inline bool words_list_begins(const char *list, const char *s, size_t len)
{
    while (*list) {
        size_t i = 0;
        while (i < len && list[i] == s[i])
            i++;
        if (i == len && len > 0)
            return true;
        while (*list && *list != ' ')
            list++;
        list += *list == ' ';
    }
    return false;
}

static inline const char *words_base(const char *path)
{
    const char *base = path;

    for (; *path; path++)
        if (*path == '/')
            base = path + 1;
    return base;
}

#endif
