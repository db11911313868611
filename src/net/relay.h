/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tunnel's two directions of bytes. It moves what can be moved now, and no more: the owner says
 * what became ready (edge-triggered) and calls relay_pump. Sockets are non-blocking and belong to
 * the owner; SIGPIPE must be ignored.
 *
 * Each direction holds one chunk at most, and only while its receiver does not take it: an idle
 * tunnel has neither buffer nor pipe. Both come from a pool that all tunnels share.
 */
#ifndef ABX_NET_RELAY_H
#define ABX_NET_RELAY_H

#include "base/defs.h"

#define RELAY_CHUNK        65536
#define RELAY_SPLICE_AFTER ((uint64_t)256 << 10) /* bytes of a direction before it is spliced */
#define RELAY_PIPES        64                    /* at one time; without one bytes are copied */
#define RELAY_SPARE        32                    /* buffers kept although nobody needs them */
#define RELAY_ROUNDS       8 /* chunks a direction before others have their turn */

union relay_buffer { /* while it is spare */
    union relay_buffer *next;
    char bytes[RELAY_CHUNK];
};

struct relay_pipe {
    int in, out;
};

struct relay_pool { /* zeroed is empty and ready */
    uint32_t
        chunk; /* bytes read at once while they are copied; 0: RELAY_CHUNK, which is the most */
    union relay_buffer *spare;
    unsigned spare_count;
    struct relay_pipe pipes[RELAY_PIPES]; /* empty ones */
    unsigned pipes_free, pipes_made;
    bool no_pipes; /* the system refused one */
};

void relay_pool_done(struct relay_pool *pool);
/* NULL: no memory. */
char *relay_take_buffer(struct relay_pool *pool);
void relay_give_buffer(struct relay_pool *pool, char *buffer); /* NULL is fine */

enum relay_side { RELAY_CLIENT, RELAY_SERVER };

struct relay_flow { /* from one side to the other */
    char *buffer;   /* what was read and not yet written: from, len */
    uint32_t from, len;
    struct relay_pipe pipe; /* in >= 0: splices */
    uint32_t piped;
    uint64_t total; /* bytes written */
    bool readable;  /* the sender may have something */
    bool writable;  /* the receiver may take something */
    bool ending;    /* the sender will say no more than what is there */
    bool held;      /* nothing is read; what there is still goes out */
    bool ended;     /* the sender is done */
    bool closed;    /* … and the receiver knows */
};

struct relay {
    struct relay_pool *pool;
    int fds[2];                 /* by side */
    struct relay_flow flows[2]; /* by the side that sends */
};

enum relay_step {
    RELAY_WAIT,   /* nothing more can be done now */
    RELAY_MORE,   /* call again; others first */
    RELAY_ENDED,  /* all was said both ways; close both */
    RELAY_FAILED, /* a side is broken; close both */
};

/* Both sides count as ready, until something says otherwise. */
void relay_init(struct relay *relay, struct relay_pool *pool, int client, int server);
/* Bytes that were read already, at most RELAY_CHUNK, in a buffer of the pool: taken over. */
void relay_preload(struct relay *relay, enum relay_side from, char *buffer, size_t len);
/* What the loop said about a side: LOOP_READ, LOOP_WRITE, LOOP_END. */
void relay_ready(struct relay *relay, enum relay_side side, unsigned events);
enum relay_step relay_pump(struct relay *relay);
/* Gives buffers and pipes back. */
void relay_done(struct relay *relay);
uint64_t relay_total(const struct relay *relay);

#endif
