/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launcher that was started before main(). `agentbox run` knows what it will need from its name
 * alone: the same launcher with the same layers as nearly always. Its entry code (launcher/early.c)
 * starts it at once, so that the namespaces are made while the libc and the options are still being
 * looked at. Whoever runs the first command takes it (run/early.c), or finds that it does not fit.
 */
#ifndef ABX_PLAN_EARLY_H
#define ABX_PLAN_EARLY_H

#include "base/defs.h"
#include "plan/protocol.h"

/*
 * A launcher that borrows its pages (launcher/borrow.c): on which page of the file behind this
 * descriptor it begins, 32 bits in the bytes of the ELF header that mean nothing; 0: it has them.
 */
#define LAUNCH_FD_BORROW LAUNCH_FD_FREE
#define EARLY_MARK       12

struct early_launch {
    int32_t pid; /* 0: none */
    int32_t status_fd, lifeline_fd;
    uint32_t layers;
};

/* Written before any other code runs; the library itself leaves it empty. */
extern struct early_launch early_launch;

#endif
