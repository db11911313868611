/* SPDX-License-Identifier: Apache-2.0 */
/* Signals through a descriptor. */
#ifndef ABX_CLI_SIGNALS_H
#define ABX_CLI_SIGNALS_H

#include <signal.h>

#include "base/defs.h"

/*
 * Under nohup a hangup is not for us, nor for the command. What else a caller ignores is: shells
 * have their background jobs ignore SIGINT, and who sends it to one of them by name means it.
 */
static inline bool signals_is_nohup(int number)
{
    struct sigaction action;

    return number == SIGHUP && sigaction(number, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

/*
 * Blocks them; they are read from the descriptor instead, which does not block. A hangup under
 * nohup stays ignored. -1: impossible.
 */
int signals_open(const int *numbers, size_t count);
/* The next one that came, or 0. */
int signals_next(int fd);

#endif
