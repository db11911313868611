/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts: what the machine says about a policy at one moment. probe/scan.c finds them out, tests
 * write them by hand, plan/compile.c decides with them and asks nothing else. In an arena,
 * immutable.
 */
#ifndef ABX_PLAN_FACTS_H
#define ABX_PLAN_FACTS_H

#include "base/defs.h"
#include "policy/policy.h"

/* An entry that a rule's text led through and that must not be replaced: a symlink, mostly. */
struct pin_fact {
    const char *path; /* the entry itself: canonical parent, own name */
    uint64_t dev, ino;
    bool is_link;
    bool is_loose; /* lies in a directory that we can write: a command may have put it there */
};

/* A rule at one canonical path. A pattern yields one for each match. */
struct path_fact {
    const struct policy_rule *rule;
    const char *why;  /* "--ro src": for people */
    const char *path; /* canonical; absent components as written */
    bool exists, is_dir;
    uint64_t dev, ino;
    /* If it does not exist: the deepest ancestor that does, a directory; NULL: cannot come to
     * exist. */
    const char *ancestor;
    const char *name_root; /* RULE_NAME: the writable root that it was looked for in */
    const struct pin_fact *pins;
    uint32_t pin_count;
};

/*
 * A pattern that restricts, whether something matches it or not. Mounts protect what matches when a
 * run starts, and that is a path_fact; Seatbelt also knows what comes to match later.
 */
struct pattern_fact {
    const struct policy_rule *rule;
    const char *why;
    const char *start;   /* canonical: the part before the first special character */
    const char *pattern; /* the rest, relative to start; valid */
};

/* Directories of every Linux that the view replaces; path is NULL if there is none. */
enum place {
    PLACE_DEV,
    PLACE_PROC,
    PLACE_RUN,
    PLACE_SHM,
    PLACE_SYS,
    PLACE_TMP,
    PLACE_COUNT,
};

/* Something below /run that programs need. */
struct keep_fact {
    const char *path;
    const char *target; /* a symlink: where it leads; NULL: not a symlink */
    bool is_dir;
    uint64_t dev, ino;
};

/* Entries of /proc that the view hides. */
struct proc_fact {
    const char *path;
    bool is_dir;
};

/* A program that a rule of `commands` is about, covered in the view. */
struct target_fact {
    const char *path; /* what is covered: canonical, or a link to a script, itself */
    const char *real; /* link: the script, which stays where it is, as it needs its neighbours */
    uint64_t dev, ino;
};

/* A rule of `commands` that has something to cover. */
struct command_fact {
    const struct policy_command *rule;
    const char *script; /* COMMAND_SCRIPT: canonical */
    uint64_t script_dev, script_ino;
    const uint32_t *targets; /* indices */
    size_t target_count;
};

/* A git repository that was found. */
struct repo_fact {
    const struct repo_fact *next;
    const char *top; /* the working tree; NULL: bare */
    const char *gitdir, *common;
    uint64_t dev, ino; /* of top/.git, or of what that leads to */
    bool valid;        /* git takes it */
};

struct facts {
    uint32_t uid, gid;
    bool is_root;
    const char *home; /* canonical; NULL: unknown */
    const char *cwd;  /* canonical; may be longer than PATH_MAX */

    const struct path_fact *paths;
    size_t path_count;
    const struct pattern_fact *patterns;
    size_t pattern_count;
    const char *places[PLACE_COUNT]; /* canonical */
    const struct keep_fact *keeps;
    size_t keep_count;
    const struct proc_fact *procs;
    size_t proc_count;
    const struct keep_fact *top; /* entries of "/", listed only if a rule makes "/" writable */
    size_t top_count;

    const struct repo_fact *repos; /* the one around cwd first */

    const struct target_fact *targets;
    size_t target_count;
    const struct command_fact *commands;
    size_t command_count;
    const char *secret;  /* name of a directory that nobody can guess; NULL: no commands */
    const char *own_dir; /* what this run has below /run: /run/agentbox, or .2, .3, … inside one */
};

#endif
