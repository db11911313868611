/* SPDX-License-Identifier: Apache-2.0 */
/* What `agentbox run` does about its own memory. */
#ifndef ABX_CLI_MEMORY_H
#define ABX_CLI_MEMORY_H

#include <poll.h>

/* At the start: a plan grows the heap step by step, and then gives it back: once each is enough. */
void memory_prepare(void);
/*
 * poll() without a limit, for a program that has nothing to do, perhaps for days: while it waits it
 * has only the memory that it cannot make again.
 */
int memory_rest(struct pollfd *fds, nfds_t count);

#endif
