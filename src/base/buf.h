/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer that states its ceiling when born. After a failed append the buffer is
 * `failed` and stays as it was, whatever else is appended; callers may append a lot and look once
 * at the end.
 */
#ifndef ABX_BASE_BUF_H
#define ABX_BASE_BUF_H

#include <stdarg.h>

#include "base/defs.h"

struct buf {
    char *data;             /* always NUL-terminated once something was appended */
    size_t len, cap, limit; /* len <= limit; the NUL is not counted */
    int failed;             /* 0, or the first failure: -ENOMEM, -E2BIG */
};

void buf_init(struct buf *b, size_t limit);
void buf_done(struct buf *b);
#define _buf_ __attribute__((cleanup(buf_done)))

/* Each returns 0 or b->failed. The bytes must not lie in the buffer itself. */
int buf_append(struct buf *b, const void *bytes, size_t len);
int buf_puts(struct buf *b, const char *s);
int buf_putc(struct buf *b, char c);
int buf_printf(struct buf *b, const char *fmt, ...) ATTR_PRINTF(2, 3);
int buf_vprintf(struct buf *b, const char *fmt, va_list args) ATTR_PRINTF(2, 0);
/* The bytes, NUL-terminated, for free(); the buffer is empty after. NULL if it failed. */
char *buf_take(struct buf *b);

#endif
