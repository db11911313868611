/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The growing byte buffer.
 *
 * Invariants: len <= limit; data is NULL or holds cap bytes with len < cap and data[len] == 0; once
 * `failed` is set, len and data no longer change. Growth doubles, but never beyond limit + 1, so a
 * hostile stream costs at most twice its ceiling while it is copied.
 *
 * Trusts its caller for one thing only: bytes that are appended do not lie in the buffer itself.
 */
#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST_CAP ((size_t)64)

void buf_init(struct buf *b, size_t limit)
{
    /* One byte less than SIZE_MAX: the NUL has to fit too. */
    *b = (struct buf){ .limit = MIN_OF(limit, SIZE_MAX - 1) };
}

void buf_done(struct buf *b)
{
    free(b->data);
    *b = (struct buf){ 0 };
}

static int buf_fail(struct buf *b, int code)
{
    b->failed = code;
    return code;
}

/* Makes room for `more` bytes and the NUL. */
static int buf_grow(struct buf *b, size_t more)
{
    size_t need, cap;
    char *data;

    if (b->failed)
        return b->failed;
    if (more > b->limit - b->len)
        return buf_fail(b, -E2BIG);
    need = b->len + more + 1;
    if (need <= b->cap)
        return 0;

    if (__builtin_mul_overflow(b->cap, 2, &cap))
        cap = SIZE_MAX;
    cap = MAX_OF(MAX_OF(cap, BUF_FIRST_CAP), need);
    cap = MIN_OF(cap, b->limit + 1);
    data = realloc(b->data, cap);
    if (!data)
        return buf_fail(b, -ENOMEM);
    b->data = data;
    b->cap = cap;
    return 0;
}

int buf_append(struct buf *b, const void *bytes, size_t len)
{
    int r = buf_grow(b, len);

    if (r < 0)
        return r;
    if (len > 0)
        memcpy(b->data + b->len, bytes, len);
    b->len += len;
    b->data[b->len] = '\0';
    return 0;
}

int buf_puts(struct buf *b, const char *s)
{
    return buf_append(b, s, strlen(s));
}

int buf_putc(struct buf *b, char c)
{
    return buf_append(b, &c, 1);
}

int buf_vprintf(struct buf *b, const char *fmt, va_list args)
{
    char *text = NULL;
    int r, n = vasprintf(&text, fmt, args);

    if (n < 0)
        return b->failed ? b->failed : buf_fail(b, -ENOMEM);
    r = buf_append(b, text, (size_t)n);
    free(text);
    return r;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args;
    int r;

    va_start(args, fmt);
    r = buf_vprintf(b, fmt, args);
    va_end(args);
    return r;
}

char *buf_take(struct buf *b)
{
    char *data = NULL;

    if (buf_append(b, "", 0) == 0) {
        data = b->data;
        b->data = NULL;
        b->len = b->cap = 0;
    }
    return data;
}
