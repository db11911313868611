/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards: programs whose arguments we understand well enough to stop an accident, with one line why
 * and one what to do instead. Advice, not a boundary: what files may be touched is decided by the
 * mounts. Pure and freestanding: the wrapper (src/wrapper) calls this inside the sandbox.
 */
#ifndef ABX_WRAP_GUARD_H
#define ABX_WRAP_GUARD_H

#include "base/defs.h"

enum guard_id {
#define GUARD(id, name, command, shorts, longs) GUARD_##id,
#include "wrap/guards.def"
#undef GUARD
    GUARD_COUNT,
};

struct guard_row {
    char name[16], command[16], shorts[8], longs[200];
};
const struct guard_row *guard_row(size_t guard);
/* By its name, such as "@git"; GUARD_COUNT: there is none. */
size_t guard_find(const char *name);

enum guard_action {
    GUARD_RUN,
    GUARD_STOP,
    GUARD_ALIAS,   /* git: `word` may be an alias; judge again with its words in that place */
    GUARD_IF_FILE, /* git: stop if the word `word` names a file, as git sees it */
};

struct guard_call {
    size_t argc;
    const char *const *argv; /* argv[0] is the name it was called by */
    const char *const *envp;
    uint32_t depth; /* of command lines in command lines */
};

struct guard_verdict {
    uint32_t action; /* enum guard_action */
    size_t word;
    const char *what; /* the part that it is about: "reset --hard" */
    const char *why, *instead;
    bool is_local; /* harms nothing outside the repository: free where all of it is private */
};

/* What goes with the run: all that lies in tmp, but not the host's writable roots in it. */
struct guard_private {
    const char *tmp; /* "" : there is no such place */
    const char *const *roots;
    size_t root_count;
};

void guard_judge(size_t guard, const struct guard_call *call, struct guard_verdict *ret);

/* ---- git ---- */

void git_judge(const struct guard_call *call, struct guard_verdict *ret);

#define GIT_MAX_ALIASES 10 /* that stand for each other */
#define GIT_MAX_DEPTH   4  /* command lines in command lines */

/* The subcommand, or NULL; *ret_next is the place of what follows it. */
const char *git_find_verb(const struct guard_call *call, size_t *ret_next);
/* An option before the subcommand that takes the next word. */
bool git_is_global(const char *word);
/* A subcommand that no alias can replace and that is not looked at. */
bool git_is_known(const char *name);
/* Shell text: stops if a command in it would be stopped. GUARD_RUN or GUARD_STOP, nothing else. */
void git_judge_text(const char *text, uint32_t depth, struct guard_verdict *ret);

/*
 * The words of an alias, as git splits them: blanks, quotes, backslashes. Words are written to
 * text (len + 1 bytes) and words; returns how many, or -1 if git would refuse it or room is short.
 */
long git_split_alias(const char *value, size_t len, char *text, const char **words, size_t room);

/* A directory (canonical, len bytes) is private with all that is in it. */
bool git_dir_is_private(const struct guard_private *p, const char *dir, size_t len);

#endif
