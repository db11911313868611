/* SPDX-License-Identifier: Apache-2.0 */
/* Text without a libc. */
#include "linux/sys.h"

size_t text_len(const char *s)
{
    size_t n = 0;

    while (s[n])
        n++;
    return n;
}

bool text_eq(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

bool text_has_prefix(const char *s, const char *prefix)
{
    while (*prefix && *s == *prefix)
        s++, prefix++;
    return *prefix == '\0';
}

size_t text_append(char *to, size_t cap, const char *s)
{
    size_t n = text_len(to);

    while (*s && n + 1 < cap)
        to[n++] = *s++;
    to[n] = '\0';
    return n;
}

size_t text_append_u64(char *to, size_t cap, uint64_t v)
{
    char digits[24];
    size_t i = sizeof digits - 1;

    digits[i] = '\0';
    do
        digits[--i] = (char)('0' + v % 10);
    while (v /= 10);
    return text_append(to, cap, digits + i);
}

uint64_t text_to_u64(const char *s)
{
    uint64_t v = 0;

    while (*s >= '0' && *s <= '9')
        v = v * 10 + (uint64_t)(*s++ - '0');
    return v;
}
