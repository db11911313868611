/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relay of tunnels.
 *
 * A direction first copies: small exchanges are fastest that way. After RELAY_SPLICE_AFTER bytes it
 * splices through a pipe, which costs about half the processor time a byte. A pipe goes back to the
 * pool whenever it is empty, so that tunnels which rest, and they are most, hold none. Where there
 * is none (the limit, or the kernel's limit on a user's pipe pages) the direction goes on copying.
 *
 * Back-pressure: nothing is read from a sender while the receiver has not taken the last chunk.
 * Half-close: the end of a sender is passed on once all before it was written, and the other
 * direction goes on.
 *
 * Nothing is trusted here and nothing is looked at: bytes are bytes.
 */
#include "net/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"

#define PIPE_SIZE (256 << 10)

/* ---- the pool ---- */

void relay_pool_done(struct relay_pool *pool)
{
    while (pool->spare) {
        union relay_buffer *next = pool->spare->next;

        free(pool->spare);
        pool->spare = next;
    }
    for (unsigned i = 0; i < pool->pipes_free; i++) {
        fd_close(pool->pipes[i].in);
        fd_close(pool->pipes[i].out);
    }
    *pool = (struct relay_pool){ 0 };
}

char *relay_take_buffer(struct relay_pool *pool)
{
    union relay_buffer *buffer = pool->spare;

    if (buffer) {
        pool->spare = buffer->next;
        pool->spare_count--;
    } else {
        buffer = malloc(sizeof *buffer);
    }
    return buffer ? buffer->bytes : NULL;
}

void relay_give_buffer(struct relay_pool *pool, char *buffer)
{
    union relay_buffer *spare = (union relay_buffer *)(void *)buffer;

    if (!spare)
        return;
    if (pool->spare_count >= RELAY_SPARE) {
        free(spare);
        return;
    }
    spare->next = pool->spare;
    pool->spare = spare;
    pool->spare_count++;
}

static struct relay_pipe take_pipe(struct relay_pool *pool)
{
    int fds[2];

    if (pool->pipes_free > 0)
        return pool->pipes[--pool->pipes_free];
    if (pool->no_pipes || pool->pipes_made >= RELAY_PIPES)
        return (struct relay_pipe){ -1, -1 };
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
        pool->no_pipes = true;
        return (struct relay_pipe){ -1, -1 };
    }
    /* A smaller one works too; the kernel refuses when the user has too many pages in pipes. */
    (void)fcntl(fds[1], F_SETPIPE_SZ, PIPE_SIZE);
    pool->pipes_made++;
    return (struct relay_pipe){ .in = fds[1], .out = fds[0] };
}

/* Only an empty one can be used again. */
static void give_pipe(struct relay_pool *pool, struct relay_flow *flow)
{
    if (flow->pipe.in < 0)
        return;
    if (flow->piped == 0) {
        pool->pipes[pool->pipes_free++] = flow->pipe;
    } else {
        fd_close(flow->pipe.in);
        fd_close(flow->pipe.out);
        pool->pipes_made--;
    }
    flow->pipe.in = flow->pipe.out = -1;
    flow->piped = 0;
}

static void give_buffer(struct relay_pool *pool, struct relay_flow *flow)
{
    relay_give_buffer(pool, flow->buffer);
    flow->buffer = NULL;
    flow->from = flow->len = 0;
}

/* ---- one direction ---- */

enum move { MOVE_DONE, MOVE_LAST, MOVE_BLOCKED, MOVE_BROKEN };

static enum move move_of_errno(void)
{
    return errno == EAGAIN ? MOVE_BLOCKED : MOVE_BROKEN;
}

/* Writes what is in the buffer or in the pipe. */
static enum move flow_write(struct relay_pool *pool, struct relay_flow *flow, int to)
{
    ssize_t n;

    while (flow->len > 0) {
        n = send(to, flow->buffer + flow->from, flow->len, MSG_NOSIGNAL);
        if (n < 0)
            return move_of_errno();
        flow->from += (uint32_t)n;
        flow->len -= (uint32_t)n;
        flow->total += (uint64_t)n;
    }
    if (flow->buffer)
        give_buffer(pool, flow);
    while (flow->piped > 0) {
        /* Not SPLICE_F_MORE: the kernel would keep the last bytes for a fifth of a second. */
        n = splice(flow->pipe.out, NULL, to, NULL, flow->piped, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (n <= 0)
            return n < 0 ? move_of_errno() : MOVE_BROKEN;
        flow->piped -= (uint32_t)n;
        flow->total += (uint64_t)n;
    }
    return MOVE_DONE;
}

static enum move flow_splice(struct relay_flow *flow, int from)
{
    ssize_t n = splice(from, NULL, flow->pipe.in, NULL, PIPE_SIZE,
                       SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

    if (n < 0)
        return move_of_errno();
    flow->piped = (uint32_t)n;
    flow->ended = n == 0;
    return MOVE_DONE;
}

static enum move flow_copy(struct relay_pool *pool, struct relay_flow *flow, int from)
{
    if (!flow->buffer)
        flow->buffer = relay_take_buffer(pool);
    if (!flow->buffer)
        return MOVE_BROKEN;
    ssize_t chunk = pool->chunk ? pool->chunk : RELAY_CHUNK;
    ssize_t n = recv(from, flow->buffer, (size_t)chunk, 0);
    if (n < 0)
        return move_of_errno();
    flow->from = 0;
    flow->len = (uint32_t)n;
    flow->ended = n == 0;
    /* Less than asked for: that was all, unless an end was told that is still to be read. */
    return n < chunk && !flow->ending ? MOVE_LAST : MOVE_DONE;
}

/* Buffer and pipe are empty. */
static enum move flow_read(struct relay_pool *pool, struct relay_flow *flow, int from)
{
    if (flow->total >= RELAY_SPLICE_AFTER && flow->pipe.in < 0)
        flow->pipe = take_pipe(pool);
    return flow->pipe.in >= 0 ? flow_splice(flow, from) : flow_copy(pool, flow, from);
}

static void flow_rest(struct relay_pool *pool, struct relay_flow *flow)
{
    if (flow->len == 0)
        give_buffer(pool, flow);
    if (flow->piped == 0)
        give_pipe(pool, flow);
}

/* RELAY_ENDED: this direction is closed. */
static enum relay_step flow_pump(struct relay_pool *pool, struct relay_flow *flow, int from, int to,
                                 bool other_closed)
{
    for (unsigned round = 0; round < RELAY_ROUNDS; round++) {
        if (flow->len > 0 || flow->piped > 0) {
            enum move w = flow->writable ? flow_write(pool, flow, to) : MOVE_BLOCKED;

            if (w == MOVE_BROKEN)
                return RELAY_FAILED;
            flow->writable = flow->writable && w == MOVE_DONE;
            if (w == MOVE_BLOCKED)
                return RELAY_WAIT;
        }
        if (flow->ended) {
            flow_rest(pool, flow);
            if (!flow->closed && !other_closed) /* else both are closed for good at once */
                (void)shutdown(to, SHUT_WR);
            flow->closed = true;
            return RELAY_ENDED;
        }
        if (flow->held || !flow->readable) {
            flow_rest(pool, flow);
            return RELAY_WAIT;
        }
        enum move r = flow_read(pool, flow, from);
        if (r == MOVE_BROKEN)
            return RELAY_FAILED;
        flow->readable = r == MOVE_DONE;
    }
    return RELAY_MORE;
}

/* ---- both ---- */

void relay_init(struct relay *relay, struct relay_pool *pool, int client, int server)
{
    *relay = (struct relay){ .pool = pool, .fds = { client, server } };
    for (unsigned i = 0; i < 2; i++) {
        relay->flows[i].pipe = (struct relay_pipe){ -1, -1 };
        relay->flows[i].readable = relay->flows[i].writable = true;
    }
}

void relay_preload(struct relay *relay, enum relay_side from, char *buffer, size_t len)
{
    struct relay_flow *flow = &relay->flows[from];

    give_buffer(relay->pool, flow);
    flow->buffer = buffer;
    flow->len = (uint32_t)len;
}

void relay_ready(struct relay *relay, enum relay_side side, unsigned events)
{
    if (events & LOOP_READ)
        relay->flows[side].readable = true;
    if (events & LOOP_END)
        relay->flows[side].ending = true;
    if (events & LOOP_WRITE)
        relay->flows[!side].writable = true;
}

enum relay_step relay_pump(struct relay *relay)
{
    bool more = false, ended = true;

    for (unsigned i = 0; i < 2; i++) {
        enum relay_step step = flow_pump(relay->pool, &relay->flows[i], relay->fds[i],
                                         relay->fds[!i], relay->flows[!i].closed);

        if (step == RELAY_FAILED)
            return step;
        more = more || step == RELAY_MORE;
        ended = ended && step == RELAY_ENDED;
    }
    return ended ? RELAY_ENDED : more ? RELAY_MORE : RELAY_WAIT;
}

void relay_done(struct relay *relay)
{
    for (unsigned i = 0; i < 2 && relay->pool; i++) {
        give_buffer(relay->pool, &relay->flows[i]);
        give_pipe(relay->pool, &relay->flows[i]);
    }
}

uint64_t relay_total(const struct relay *relay)
{
    return relay->flows[0].total + relay->flows[1].total;
}
