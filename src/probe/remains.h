/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command left behind for the host's git to run, or to write through: looked for when a run
 * is over, in the repositories that were there when it began. This explains and enforces nothing;
 * what can be kept from being made is protected by mounts (git_protect.c).
 *
 * The command is dead by then, but all that is read here was its to write: no link is followed but
 * where git follows it, nothing blocks, names are bytes, and there is a limit to all.
 */
#ifndef ABX_PROBE_REMAINS_H
#define ABX_PROBE_REMAINS_H

#include "base/arena.h"
#include "plan/facts.h"

#define REMAINS_MAX 3u /* that are told of each run */

enum remains_kind {
    REMAINS_LINK,       /* path, in a git directory, is a link to `what`; git writes through it */
    REMAINS_REPOSITORY, /* git in directory path runs `what` of a repository that is new */
    REMAINS_BROKEN,     /* path was a repository; git now looks at `what` instead, and above it */
    REMAINS_REBASE,     /* path has exec lines for "git rebase --continue" */
    REMAINS_UNREAD,     /* path is too large to be looked at */
};

struct remains_find {
    enum remains_kind kind;
    const char *path, *what; /* any bytes; what may be NULL */
};

/* What to look at, and what was there before: one block, for free(). NULL: no memory. */
struct remains;
struct remains *remains_expect(const struct facts *facts);
/* How many there are; the first REMAINS_MAX are in ret, with text in the arena or in r. */
size_t remains_look(const struct remains *r, struct arena *arena,
                    struct remains_find ret[REMAINS_MAX]);

#endif
