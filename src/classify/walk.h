/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads shell text and visits every simple command in it, in the order of the text, in its context.
 * Nothing is run, no file is looked at. Linear in the text; the limits below are refusals.
 */
#ifndef ABX_CLASSIFY_WALK_H
#define ABX_CLASSIFY_WALK_H

#include "base/arena.h"
#include "classify/call.h"

#define WALK_MAX_TEXT  ((size_t)1 << 20) /* bytes of one text */
#define WALK_MAX_DEPTH 64                /* nesting of constructs, and of texts in texts */
#define WALK_MAX_CALLS 65536             /* visits, expansion of functions included */

enum walk_result {
    WALK_OK,
    WALK_UNREADABLE, /* not complete, or not understood: the problem says what and where */
    WALK_LIMIT,      /* one of the limits above */
    WALK_NOMEM,
    WALK_STOPPED, /* visit returned false */
};

struct walk_problem {
    const char *what; /* static text: "unterminated quote", "unknown operator", … */
    size_t offset;    /* byte in the text */
    uint64_t steps;   /* in all cases: the work done, which is linear in the text */
    bool differs;     /* in all cases: walk_plain_text may see other commands */
};

/* The call and all it points to live as long as the arena. */
typedef bool (*walk_visit)(void *user, const struct call *call);

/*
 * outer: the call that contains this text (bash -c '…'): its exports, assignments, cwd, pipe flags,
 * redirects and feeder hold for the text too; NULL for the whole. depth: of texts in texts.
 */
enum walk_result walk_text(const char *text, size_t len, const struct call *outer, uint32_t depth,
                           struct arena *arena, walk_visit visit, void *user,
                           struct walk_problem *ret_problem);
/*
 * The same, read as dash does: what bash added and dash takes for something else ($'…', $"…", $[…],
 * [[, ((, &>) has its old meaning. `echo $'\'; ls #'` is one command for bash and two for dash.
 */
enum walk_result walk_plain_text(const char *text, size_t len, const struct call *outer,
                                 uint32_t depth, struct arena *arena, walk_visit visit, void *user,
                                 struct walk_problem *ret_problem);

#endif
