/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the launcher of macOS does about what happens: pure. supervise.c hears of it from kqueue and
 * carries out what this decides.
 */
#ifndef ABX_DARWIN_WATCH_H
#define ABX_DARWIN_WATCH_H

#include "base/defs.h"

enum watch_event {
    WATCH_EXITED, /* the command; value: nothing */
    WATCH_SIGNAL, /* value: its number */
    WATCH_HOST_GONE,
    WATCH_TIMEOUT,
    WATCH_GRACE_OVER,
};

#define WATCH_FORWARD     0x1u /* the signal, to the command's group */
#define WATCH_TERMINATE   0x2u /* SIGTERM to the command's group */
#define WATCH_KILL        0x4u /* everything of the run */
#define WATCH_START_GRACE 0x8u
#define WATCH_REPORT      0x10u /* how it ended */
#define WATCH_LEAVE       0x20u /* nobody is there to be told */

struct watch {
    bool is_ending; /* the grace period has begun */
    bool timed_out;
    bool is_over;
};

/* Bits of WATCH_*, to be done in the order of their values. */
unsigned watch_decide(struct watch *w, enum watch_event event, int value);

#endif
