/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outer terminal while a command has a terminal of its own inside: keys go in, output comes
 * out, byte by byte; nothing inside has a descriptor of the outer one.
 */
#ifndef ABX_CLI_TERMINAL_H
#define ABX_CLI_TERMINAL_H

#include <poll.h>
#include <termios.h>

#include "base/defs.h"

#define TERMINAL_BUFFER 65536

#define TERMINAL_BOTH 3u /* input and output */

struct terminal {
    int master;       /* non-blocking; -1: none, or ended */
    int keys, screen; /* of the outer one; keys -1: what is typed is not for us */
    bool raw, hung_up;
    bool away;                /* in the background when last looked */
    struct termios saved;     /* while raw */
    char in[TERMINAL_BUFFER]; /* keys on their way in */
    size_t in_len;
};

/*
 * Which streams among these, a bit each, are terminals that the command must not have itself: all
 * that are one where input and output are, or where we are in the background. Elsewhere they are
 * passed through: in the foreground a command may read what is typed, wherever it finds the
 * terminal (`… | less`).
 */
unsigned terminal_streams(unsigned among);
/* What is typed is for us: input and output are both among them. */
static inline bool terminal_has_keys(unsigned streams)
{
    return (streams & TERMINAL_BOTH) == TERMINAL_BOTH;
}

void terminal_open(struct terminal *t, int master, unsigned streams);
/* Raw mode, window size; in the background only that is found out. */
void terminal_enter(struct terminal *t);
void terminal_leave(struct terminal *t); /* as it was */
void terminal_resize(const struct terminal *t);
/* What to poll for: fds[0] the keyboard, fds[1] the master side. */
void terminal_poll(const struct terminal *t, struct pollfd fds[2]);
void terminal_relay(struct terminal *t, const struct pollfd fds[2]);
/* What the command left in the terminal when it ended. */
void terminal_drain(struct terminal *t);

#endif
