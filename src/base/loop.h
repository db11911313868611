/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event loop of one thread: descriptors, timers, tasks. Everything that it is given is part of
 * the caller's own structs (CONTAINER_OF leads back to them), so that nothing is allocated after
 * loop_new and nothing but loop_add can fail.
 *
 * A callback may remove and free anything, itself included: events that were fetched already for
 * what is removed are dropped.
 */
#ifndef ABX_BASE_LOOP_H
#define ABX_BASE_LOOP_H

#include "base/defs.h"

#define LOOP_READ  1u /* readable, or the other side is done writing */
#define LOOP_WRITE 2u
#define LOOP_GONE  4u  /* error, or both sides are done; told without being asked for */
#define LOOP_EDGE  8u  /* tell only what is new; without it, as long as it lasts */
#define LOOP_END   16u /* the other side is done writing; told without being asked for */

struct loop;

struct loop_io {
    int fd;
    void (*ready)(struct loop_io *io, unsigned events);
};

struct loop_timer { /* zeroed: not set */
    void (*expired)(struct loop_timer *timer);
    int64_t due;
    bool is_set;
    struct loop_timer *child, *next, *prev; /* internal: a pairing heap */
};

struct loop_task { /* zeroed: not posted */
    void (*run)(struct loop_task *task);
    bool is_posted;
    struct loop_task *next, *prev; /* internal */
};

/* 0 or -errno. */
int loop_new(struct loop **ret);
void loop_free(struct loop *loop);

/* Monotonic nanoseconds, as of the beginning of this turn. */
int64_t loop_now(const struct loop *loop);

/* 0 or -errno. io->fd and io->ready are set. */
int loop_add(struct loop *loop, struct loop_io *io, unsigned events);
/* Other events for what was added. */
void loop_change(struct loop *loop, const struct loop_io *io, unsigned events);
/* The descriptor stays open. */
void loop_remove(struct loop *loop, const struct loop_io *io);
/* Removes and closes; the descriptor must have no duplicate. A negative one is fine. */
void loop_close(struct loop *loop, struct loop_io *io);

/* Sets it, or sets it anew; a due time that has passed is served in this or the next turn. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t due);
void loop_timer_clear(struct loop *loop, struct loop_timer *timer);

/* Runs once, in the next turn, before anything is waited for. */
void loop_post(struct loop *loop, struct loop_task *task);
void loop_unpost(struct loop *loop, struct loop_task *task);

/* One turn: tasks, timers, then events, for which it waits at most wait_ns (negative: no limit). */
int loop_turn(struct loop *loop, int64_t wait_ns);
/* Turns until loop_stop. 0 or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

#endif
