/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question on the controlling terminal, and a line for an answer. It goes to the terminal and to
 * nothing else, so neither a pipe nor a file can answer; keys that were typed before the question
 * was there, or in its first moment, are thrown away. In the background there is nobody to ask.
 */
#ifndef ABX_CLI_PROMPT_H
#define ABX_CLI_PROMPT_H

#include "base/defs.h"

#define PROMPT_LINE_MAX 64

struct prompt_request {
    const char *text; /* shown again after Ctrl-Z; escaped */
    size_t text_len;
    int signals; /* cli/signals.h; the first that ends a run ends the question. -1: none */
    int fd;      /* something else to wait for; -1: nothing */
    bool (*serve)(void *user);      /* fd is readable; false: nobody needs an answer any more */
    int64_t (*left_ms)(void *user); /* until the time is up; negative, or NULL: no limit */
    int64_t rest_ms;                /* what is typed that soon was not meant for the question */
    void *user;
};

enum prompt_end {
    PROMPT_NO_TERMINAL,
    PROMPT_FAILED,  /* it could not be shown */
    PROMPT_NOTHING, /* no answer: signal, time, end of the input, nobody needs it */
    PROMPT_LINE,
};

/* line: the first word of what was typed. *ret_signal: that ended it, or 0. */
enum prompt_end prompt_ask(const struct prompt_request *q, char line[PROMPT_LINE_MAX],
                           int *ret_signal);

/* The controlling terminal, if we are in its foreground; else -1. */
int prompt_terminal(void);

#endif
