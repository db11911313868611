/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunked bodies of HTTP/1.1.
 *
 * Bytes of either side, in pieces of any size. Sizes are hexadecimal digits and nothing else, at
 * most fifteen; line ends are CR LF. Extensions are read over, trailers checked for being headers;
 * both are dropped, since whoever is behind us might take them for something. All lines are
 * limited: only data may be endless, and the caller counts that.
 */
#include "net/http1.h"

#include <string.h>

#define MAX_DIGITS 15

enum state {
    SIZE,
    EXTENSION,
    SIZE_LF, /* behind the CR of the size's line */
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER_START, /* of a line */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF, /* behind the CR of the empty line */
    END,
    BAD,
};

static int hex_digit(char c)
{
    char lower = ascii_lower(c);

    if (ascii_is_digit(c))
        return c - '0';
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool is_text(char c)
{
    return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

static enum state size_byte(struct http1_chunks *k, char c)
{
    int digit = hex_digit(c);

    if (++k->line_len > HTTP1_CHUNK_LINE)
        return BAD;
    if (digit >= 0) {
        k->left = k->left * 16 + (unsigned)digit;
        return ++k->digits <= MAX_DIGITS ? SIZE : BAD;
    }
    if (k->digits == 0)
        return BAD;
    return c == '\r' ? SIZE_LF : c == ';' ? EXTENSION : BAD;
}

static enum state extension_byte(struct http1_chunks *k, char c)
{
    if (++k->line_len > HTTP1_CHUNK_LINE)
        return BAD;
    return c == '\r' ? SIZE_LF : is_text(c) ? EXTENSION : BAD;
}

static enum state trailer_byte(struct http1_chunks *k, char c)
{
    if (++k->trailer_bytes > HTTP1_TRAILERS_MAX)
        return BAD;
    switch (k->state) {
    case TRAILER_START:
        if (c == '\r')
            return LAST_LF;
        return ascii_is_token(c) && ++k->trailer_lines <= HTTP1_HEADERS_MAX ? TRAILER_NAME : BAD;
    case TRAILER_NAME:
        return c == ':' ? TRAILER_VALUE : ascii_is_token(c) ? TRAILER_NAME : BAD;
    case TRAILER_VALUE:
        return c == '\r' ? TRAILER_LF : is_text(c) ? TRAILER_VALUE : BAD;
    case TRAILER_LF:
        return c == '\n' ? TRAILER_START : BAD;
    default:
        return c == '\n' ? END : BAD;
    }
}

static enum state next_state(struct http1_chunks *k, char c)
{
    switch (k->state) {
    case SIZE:
        return size_byte(k, c);
    case EXTENSION:
        return extension_byte(k, c);
    case SIZE_LF:
        k->digits = k->line_len = 0;
        return c != '\n' ? BAD : k->left > 0 ? DATA : TRAILER_START;
    case DATA_CR:
        return c == '\r' ? DATA_LF : BAD;
    case DATA_LF:
        return c == '\n' ? SIZE : BAD;
    default:
        return trailer_byte(k, c);
    }
}

enum http1_chunks_step http1_chunks_next(struct http1_chunks *chunks, const char *bytes, size_t len,
                                         size_t *ret_used, struct span *ret_data)
{
    size_t used = 0;

    while (used < len && chunks->state < END) {
        if (chunks->state == DATA) {
            size_t n = (size_t)MIN_OF(chunks->left, (uint64_t)(len - used));
            *ret_data = (struct span){ bytes + used, n };
            chunks->left -= n;
            if (chunks->left == 0)
                chunks->state = DATA_CR;
            *ret_used = used + n;
            return HTTP1_CHUNKS_DATA;
        }
        chunks->state = next_state(chunks, bytes[used++]);
    }
    *ret_used = used;
    return chunks->state == END   ? HTTP1_CHUNKS_END
           : chunks->state == BAD ? HTTP1_CHUNKS_BAD
                                  : HTTP1_CHUNKS_MORE;
}

size_t http1_chunk_head(size_t len, char head[HTTP1_CHUNK_HEAD])
{
    char digits[2 * sizeof len], *out = head;
    size_t n = 0;

    do {
        digits[n++] = "0123456789abcdef"[len & 15];
        len >>= 4;
    } while (len > 0);
    while (n > 0)
        *out++ = digits[--n];
    memcpy(out, "\r\n", 3);
    return (size_t)(out - head) + 2;
}
