/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: what should happen to a command before it runs. Pure: nothing is run, no file is
 * looked at, the same input gives the same verdict.
 *
 * Every simple command of a text is judged, and what it would run in turn; the strictest verdict
 * is that of the whole. What cannot be read, and what there is no memory for, is escalated.
 */
#ifndef ABX_CLASSIFY_JUDGE_H
#define ABX_CLASSIFY_JUDGE_H

#include "base/arena.h"
#include "classify/ruleset.h"

struct verdict {
    enum decision decision;
    const char *rule;   /* "" if no rule matched */
    const char *reason; /* one sentence for a person */
    const char *part;   /* the command that decided, as written; not NUL-terminated */
    size_t part_len;
};

/* cwd: where the text would start, absolute; NULL: not known. The verdict lives with the ruleset,
 * the text and the arena. */
void judge_text(const struct ruleset *rules, const char *text, size_t len, const char *cwd,
                struct arena *arena, struct verdict *ret);
/* A program and its arguments, run without a shell: the words are what they are. */
void judge_argv(const struct ruleset *rules, const char *const *argv, size_t count, const char *cwd,
                struct arena *arena, struct verdict *ret);

#endif
