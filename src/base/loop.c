/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop, on epoll.
 *
 * Timers are a pairing heap whose nodes lie in the callers' structs: setting one costs no memory,
 * taking the first one log n on average. Tasks are a list; those that a task posts wait for the
 * next turn, so no task can keep events from being served.
 *
 * What epoll returned is served from a batch. Whoever removes a descriptor also takes its events
 * out of the rest of the batch; so a callback is never called for something that is gone, and a
 * descriptor with the same number that came after it never gets its events.
 *
 * Trusts its callers; nothing here sees foreign bytes.
 */
#include "base/loop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define LOOP_BATCH 128

struct loop {
    int epoll;
    int64_t now;
    struct loop_timer *timers; /* the root: the first one due */
    struct loop_task *first, *last;
    struct epoll_event batch[LOOP_BATCH];
    int batch_next, batch_count;
    bool stopped;
};

static int64_t clock_now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

int loop_new(struct loop **ret)
{
    struct loop *loop = calloc(1, sizeof *loop);

    if (!loop)
        return -ENOMEM;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0) {
        int r = -errno;
        free(loop);
        return r;
    }
    loop->now = clock_now();
    *ret = loop;
    return 0;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    fd_close(loop->epoll);
    free(loop);
}

int64_t loop_now(const struct loop *loop)
{
    return loop->now;
}

/* ---- descriptors ---- */

static uint32_t epoll_bits(unsigned events)
{
    return (events & LOOP_READ ? (uint32_t)EPOLLIN | EPOLLRDHUP : 0) |
           (events & LOOP_WRITE ? (uint32_t)EPOLLOUT : 0) |
           (events & LOOP_EDGE ? (uint32_t)EPOLLET : 0);
}

static unsigned loop_bits(uint32_t bits)
{
    return (bits & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR) ? LOOP_READ : 0) |
           (bits & (EPOLLOUT | EPOLLHUP | EPOLLERR) ? LOOP_WRITE : 0) |
           (bits & (EPOLLHUP | EPOLLERR) ? LOOP_GONE : 0) |
           (bits & (EPOLLRDHUP | EPOLLHUP | EPOLLERR) ? LOOP_END : 0);
}

int loop_add(struct loop *loop, struct loop_io *io, unsigned events)
{
    struct epoll_event event = { .events = epoll_bits(events), .data.ptr = io };

    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, io->fd, &event) < 0 ? -errno : 0;
}

void loop_change(struct loop *loop, const struct loop_io *io, unsigned events)
{
    struct epoll_event event = { .events = epoll_bits(events), .data.ptr = (void *)(uintptr_t)io };

    (void)epoll_ctl(loop->epoll, EPOLL_CTL_MOD, io->fd, &event);
}

static void drop_fetched(struct loop *loop, const struct loop_io *io)
{
    for (int i = loop->batch_next; i < loop->batch_count; i++)
        if (loop->batch[i].data.ptr == io)
            loop->batch[i].data.ptr = NULL;
}

void loop_remove(struct loop *loop, const struct loop_io *io)
{
    drop_fetched(loop, io);
    (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, io->fd, NULL);
}

void loop_close(struct loop *loop, struct loop_io *io)
{
    if (io->fd < 0)
        return;
    drop_fetched(loop, io);
    fd_close(TAKE_FD(io->fd));
}

/* ---- timers ---- */

/* Two heaps become one; each root has no siblings. */
static struct loop_timer *meld(struct loop_timer *a, struct loop_timer *b)
{
    if (!a || !b)
        return a ? a : b;
    if (b->due < a->due) {
        struct loop_timer *swap = a;
        a = b;
        b = swap;
    }
    b->next = a->child;
    b->prev = a;
    if (a->child)
        a->child->prev = b;
    a->child = b;
    return a;
}

/* The children of a root that goes: melded in pairs from the left, then from the right. */
static struct loop_timer *meld_children(struct loop_timer *child)
{
    struct loop_timer *pairs = NULL, *root = NULL;

    while (child) {
        struct loop_timer *a = child, *b = child->next;

        child = b ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b)
            b->next = b->prev = NULL;
        a = meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        struct loop_timer *next = pairs->next;

        pairs->next = NULL;
        root = meld(root, pairs);
        pairs = next;
    }
    return root;
}

void loop_timer_clear(struct loop *loop, struct loop_timer *timer)
{
    if (!timer->is_set)
        return;
    timer->is_set = false;
    struct loop_timer *below = meld_children(timer->child);
    timer->child = NULL;
    if (loop->timers == timer) {
        loop->timers = below;
        return;
    }
    if (timer->prev->child == timer)
        timer->prev->child = timer->next;
    else
        timer->prev->next = timer->next;
    if (timer->next)
        timer->next->prev = timer->prev;
    timer->next = timer->prev = NULL;
    loop->timers = meld(loop->timers, below);
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t due)
{
    loop_timer_clear(loop, timer);
    timer->due = due;
    timer->is_set = true;
    timer->child = timer->next = timer->prev = NULL;
    loop->timers = meld(loop->timers, timer);
}

static void serve_timers(struct loop *loop)
{
    /* Those that a callback sets for now wait for the next turn: `now` does not move meanwhile. */
    int64_t now = loop->now;

    for (struct loop_timer *t; !loop->stopped && (t = loop->timers) && t->due <= now;) {
        loop_timer_clear(loop, t);
        t->expired(t);
    }
}

/* ---- tasks ---- */

void loop_post(struct loop *loop, struct loop_task *task)
{
    if (task->is_posted)
        return;
    task->is_posted = true;
    task->next = NULL;
    task->prev = loop->last;
    if (loop->last)
        loop->last->next = task;
    else
        loop->first = task;
    loop->last = task;
}

void loop_unpost(struct loop *loop, struct loop_task *task)
{
    if (!task->is_posted)
        return;
    task->is_posted = false;
    if (task->prev)
        task->prev->next = task->next;
    else
        loop->first = task->next;
    if (task->next)
        task->next->prev = task->prev;
    else
        loop->last = task->prev;
    task->next = task->prev = NULL;
}

/* A mark behind the last one ends this turn's share, whatever is posted or taken away meanwhile. */
static void serve_tasks(struct loop *loop)
{
    struct loop_task mark = { 0 };

    if (!loop->first)
        return;
    loop_post(loop, &mark);
    while (loop->first != &mark) {
        struct loop_task *task = loop->first;

        loop_unpost(loop, task);
        task->run(task);
    }
    loop_unpost(loop, &mark);
}

/* ---- turns ---- */

/* In milliseconds, rounded up: a timer is never served early, nor waited for in a busy loop. */
static int wait_msec(const struct loop *loop, int64_t wait_ns)
{
    if (loop->first || loop->stopped)
        return 0;
    if (loop->timers) {
        int64_t left = MAX_OF(loop->timers->due - loop->now, 0);
        wait_ns = wait_ns < 0 ? left : MIN_OF(wait_ns, left);
    }
    if (wait_ns < 0)
        return -1;
    return (int)MIN_OF((wait_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC, INT_MAX);
}

int loop_turn(struct loop *loop, int64_t wait_ns)
{
    loop->now = clock_now();
    serve_tasks(loop);
    serve_timers(loop);
    int n = epoll_wait(loop->epoll, loop->batch, LOOP_BATCH, wait_msec(loop, wait_ns));
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    loop->now = clock_now();
    loop->batch_count = n;
    for (loop->batch_next = 0; loop->batch_next < loop->batch_count && !loop->stopped;) {
        const struct epoll_event *event = &loop->batch[loop->batch_next++];
        struct loop_io *io = event->data.ptr;

        if (io)
            io->ready(io, loop_bits(event->events));
    }
    loop->batch_next = loop->batch_count = 0;
    return 0;
}

int loop_run(struct loop *loop)
{
    int r = 0;

    while (r == 0 && !loop->stopped)
        r = loop_turn(loop, -1);
    return r;
}

void loop_stop(struct loop *loop)
{
    loop->stopped = true;
}
