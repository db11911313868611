/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of a message's body: raw bytes in one framing come in, the same data in another
 * goes out. Holds one chunk at most, in a buffer of the relay's pool; nothing is copied but to
 * close the gaps that chunk headers leave.
 *
 *     while there is nothing to send:   body_room → put raw bytes there → body_took
 *     body_pending → send → body_sent
 */
#ifndef ABX_NET_BODY_H
#define ABX_NET_BODY_H

#include "base/buf.h"
#include "base/defs.h"
#include "net/http1.h"
#include "net/relay.h"

struct body {
    struct relay_pool *pool;
    enum http1_framing framing; /* of what comes in */
    bool chunk;                 /* what goes out is chunked */
    uint64_t left;              /* HTTP1_LENGTH */
    struct http1_chunks chunks;
    char *buffer;
    uint32_t from, len; /* to be sent */
    uint64_t total;     /* bytes of data so far */
    bool ended;         /* nothing more comes in */
};

void body_init(struct body *b, struct relay_pool *pool, enum http1_framing framing, uint64_t length,
               bool chunk);
void body_done(struct body *b);

/* Everything came in and went out. */
bool body_is_over(const struct body *b);
/* Where raw bytes may be put, and how many; 0: not now (something is to be sent), or no memory. */
size_t body_room(struct body *b, char **ret);
/* So many were put there. What is behind the body's end goes to extra. False: malformed. */
bool body_took(struct body *b, size_t n, struct buf *extra);
/* The sender's stream ended. False: in the middle of the body. */
bool body_stream_ended(struct body *b);
size_t body_pending(const struct body *b, const char **ret);
void body_sent(struct body *b, size_t n);

#endif
