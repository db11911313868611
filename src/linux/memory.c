/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory without a libc, under the usual names because the compiler emits calls to them. In a file
 * of its own, so that tests can have the rest of the launcher with a libc.
 */
#include "linux/sys.h"

#if defined(__x86_64__)

void *memcpy(void *to, const void *from, size_t len)
{
    void *at = to;

    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(len) : : "memory");
    return to;
}

void *memset(void *to, int byte, size_t len)
{
    void *at = to;

    __asm__ volatile("rep stosb" : "+D"(at), "+c"(len) : "a"(byte) : "memory");
    return to;
}

#else

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

#endif

int memcmp(const void *a, const void *b, size_t len)
{
    const uint8_t *x = a, *y = b;

    for (; len; len--, x++, y++)
        if (*x != *y)
            return *x < *y ? -1 : 1;
    return 0;
}
