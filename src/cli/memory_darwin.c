/* SPDX-License-Identifier: Apache-2.0 */
/* The program's memory on macOS: its allocator and its pager need no help. */
#include "cli/memory.h"

void memory_prepare(void)
{
}

int memory_rest(struct pollfd *fds, nfds_t count)
{
    return poll(fds, count, -1);
}
