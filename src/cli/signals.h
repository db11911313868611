/* SPDX-License-Identifier: Apache-2.0 */
/* Signals through a descriptor. */
#ifndef ABX_CLI_SIGNALS_H
#define ABX_CLI_SIGNALS_H

#include "base/defs.h"

/* Blocks them; they are read from the descriptor instead, which does not block. -1: impossible. */
int signals_open(const int *numbers, size_t count);
/* The next one that came, or 0. */
int signals_next(int fd);

#endif
