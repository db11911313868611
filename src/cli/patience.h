/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C while the sandbox is still being made. */
#ifndef ABX_CLI_PATIENCE_H
#define ABX_CLI_PATIENCE_H

/*
 * Between the two, a SIGINT, SIGTERM or SIGHUP that is blocked ends the program if it has waited
 * for half a second. Nothing has to be undone: the launcher sees to it, as after a SIGKILL.
 */
void patience_begin(void);
void patience_end(void);
/* Within that: while somebody reads the signals after all. Otherwise nothing. */
void patience_pause(void);
void patience_resume(void);

#endif
