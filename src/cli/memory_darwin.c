/* SPDX-License-Identifier: Apache-2.0 */
/* The program's memory on macOS: its allocator and its pager need no help. */
#include "cli/memory.h"

void memory_prepare(void)
{
}

void memory_give_back(void)
{
}
