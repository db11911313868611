/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of pid 1 that does nothing but wait for calls that are watched. Who waits for several
 * things at once pays for each of them every time: of ten microseconds a call that is one. So a
 * command that is busy with files gets this thread; most never do, and cost no more than before.
 *
 * It has the filter and the Landlock rules of pid 1, which made it, and everything that it needs is
 * its own from then on: pid 1 does not serve the listener any more. Only the records have a lock,
 * for pid 1 reads them at the end.
 */
#include <asm/poll.h>
#include <linux/resource.h>

#include "launcher/watch.h"

#define CALLS_BEFORE 64u    /* so many make a command busy */
#define ROOM_MIN     1000u  /* the thread counts as a process: not where few are allowed */
#define STACK_SIZE   32768u /* watch.c's buffers are static */

static _Alignas(16) uint8_t stack[STACK_SIZE];
SMALL_STATE static uint32_t calls;
SMALL_STATE static bool has_room;

/* Serves until nobody is left who could call. It is never waited for: it ends with pid 1. */
static ATTR_NORETURN void thread_main(void *arg)
{
    const int fd = (int)(intptr_t)arg;
    struct pollfd left = { .fd = fd, .events = POLLIN };

    do {
        while (watch_serve(fd)) {}
        left.revents = 0;
        (void)TRY5(__NR_ppoll, &left, 1, 0, 0, 0);
    } while (!left.revents || (left.revents & POLLIN));
    for (;;)
        (void)TRY1(__NR_exit, 0);
}

void watch_allow_thread(const struct plan *p)
{
    has_room = !p->pid_max || p->pid_max >= ROOM_MIN;
    for (uint32_t i = 0; i < p->limit_count; i++)
        if (p->limits[i].resource == RLIMIT_NPROC && p->limits[i].value < ROOM_MIN)
            has_room = false;
}

bool watch_detach(int fd)
{
    if (!has_room || ++calls != CALLS_BEFORE)
        return false;
    return sys_clone_vm(LAUNCH_THREAD, stack + sizeof stack, thread_main, (void *)(intptr_t)fd) > 0;
}
