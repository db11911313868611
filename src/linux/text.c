/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text and memory without a libc. memcpy, memset and memcmp carry their usual names because the
 * compiler emits calls to them.
 */
#include "linux/sys.h"

/* Keeps the compiler from turning a loop back into a call to the very function it is in. */
#define NO_IDIOM() __asm__ volatile("" ::: "memory")

void *memcpy(void *to, const void *from, size_t len)
{
    uint8_t *t = to;
    const uint8_t *f = from;

    while (len--) {
        *t++ = *f++;
        NO_IDIOM();
    }
    return to;
}

void *memset(void *to, int byte, size_t len)
{
    uint8_t *t = to;

    while (len--) {
        *t++ = (uint8_t)byte;
        NO_IDIOM();
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t len)
{
    const uint8_t *x = a, *y = b;

    for (; len; len--, x++, y++)
        if (*x != *y)
            return *x < *y ? -1 : 1;
    return 0;
}

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
