/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies. The buffer has room in front of the data for a chunk's first line and behind it for the
 * line's end and the last chunk; so a piece goes out as one write whatever its framing.
 *
 * Raw bytes are hostile: a chunked body is taken apart by http1_chunks_next, which refuses what has
 * two readings, and only data is passed on.
 */
#include "net/body.h"

#include <string.h>

#define HEADROOM 32
#define TAILROOM 16
#define ROOM     (RELAY_CHUNK - HEADROOM - TAILROOM)

static void append_tail(struct body *b, const char *text)
{
    size_t len = strlen(text);

    memcpy(b->buffer + b->from + b->len, text, len);
    b->len += (uint32_t)len;
}

/* The data lies at HEADROOM: puts the outgoing framing around it. */
static void frame(struct body *b, size_t data)
{
    char head[HTTP1_CHUNK_HEAD];

    b->from = HEADROOM;
    b->len = (uint32_t)data;
    b->total += data;
    if (!b->chunk)
        return;
    if (data > 0) {
        size_t n = http1_chunk_head(data, head);

        memcpy(b->buffer + HEADROOM - n, head, n);
        b->from -= (uint32_t)n;
        b->len += (uint32_t)n;
        append_tail(b, "\r\n");
    }
    if (b->ended)
        append_tail(b, "0\r\n\r\n");
}

static void release(struct body *b)
{
    relay_give_buffer(b->pool, b->buffer);
    b->buffer = NULL;
    b->from = b->len = 0;
}

void body_init(struct body *b, struct relay_pool *pool, enum http1_framing framing, uint64_t length,
               bool chunk)
{
    *b = (struct body){ .pool = pool, .framing = framing, .left = length, .chunk = chunk };
    b->ended = framing == HTTP1_NO_BODY || (framing == HTTP1_LENGTH && length == 0);
}

void body_done(struct body *b)
{
    if (b->buffer)
        release(b);
}

bool body_is_over(const struct body *b)
{
    return b->ended && b->len == 0;
}

size_t body_room(struct body *b, char **ret)
{
    size_t room = ROOM;

    if (b->ended || b->len > 0)
        return 0;
    if (!b->buffer)
        b->buffer = relay_take_buffer(b->pool);
    if (!b->buffer)
        return 0;
    if (b->framing == HTTP1_LENGTH)
        room = (size_t)MIN_OF((uint64_t)room, b->left);
    *ret = b->buffer + HEADROOM;
    return room;
}

static bool unchunk(struct body *b, size_t n, size_t *ret_data, struct buf *extra)
{
    char *raw = b->buffer + HEADROOM, *end = raw + n;
    size_t data = 0;

    while (raw < end) {
        struct span piece = { 0 };
        size_t used = 0;
        enum http1_chunks_step step = http1_chunks_next(&b->chunks, raw, (size_t)(end - raw), &used,
                                                        &piece);

        raw += used;
        if (step == HTTP1_CHUNKS_BAD)
            return false;
        if (step == HTTP1_CHUNKS_DATA) {
            memmove(b->buffer + HEADROOM + data, piece.at, piece.len);
            data += piece.len;
        }
        if (step == HTTP1_CHUNKS_END) {
            b->ended = true;
            break;
        }
    }
    *ret_data = data;
    return raw == end || buf_append(extra, raw, (size_t)(end - raw)) == 0;
}

bool body_took(struct body *b, size_t n, struct buf *extra)
{
    size_t data = n;

    if (b->framing == HTTP1_CHUNKED && !unchunk(b, n, &data, extra))
        return false;
    if (b->framing == HTTP1_LENGTH) {
        b->left -= n;
        b->ended = b->left == 0;
    }
    frame(b, data);
    if (b->len == 0)
        release(b);
    return true;
}

bool body_stream_ended(struct body *b)
{
    if (b->ended)
        return true;
    if (b->framing != HTTP1_UNTIL_CLOSE)
        return false;
    char *at;
    if (b->chunk && body_room(b, &at) == 0)
        return false;
    b->ended = true;
    if (b->chunk)
        frame(b, 0);
    else
        body_done(b);
    return true;
}

size_t body_pending(const struct body *b, const char **ret)
{
    *ret = b->buffer ? b->buffer + b->from : NULL;
    return b->len;
}

void body_sent(struct body *b, size_t n)
{
    b->from += (uint32_t)n;
    b->len -= (uint32_t)n;
    if (b->len == 0)
        release(b);
}
