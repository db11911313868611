/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git repositories (@git, @git-strict): the one around the working directory, and those that are
 * found below writable roots.
 */
#ifndef ABX_PROBE_GIT_H
#define ABX_PROBE_GIT_H

#include "probe/scan_state.h"

/* A directory that has a ".git", or that is a bare repository itself. It is protected by scan_git,
 * after the repository around the working directory. */
int32_t git_found(struct scan *s, const char *dir, bool bare);
int32_t scan_git(struct scan *s);

/* ---- between git.c, git_protect.c and git_refs.c ---- */

#define GIT_MAX_POINTER 16384
#define GIT_MAX_CONFIG  ((size_t)1 << 20)
#define GIT_MAX_NESTING 8
#define GIT_MAX_HELD    24u /* git directories, and work trees, with placeholders */
#define GIT_SOURCE      "@git"

struct repo {
    const char *top;        /* the working tree; of a bare repository the git directory itself */
    struct resolved dotgit; /* top/.git; where a symlink leads */
    const char *gitdir, *common;
    struct resolved pointers[2]; /* how those two were found, if by a pointer */
    bool consents;               /* gitdir belongs to top, and top to gitdir */
    bool valid;                  /* it has what git asks for */
    bool bare;
};

int32_t git_look(struct scan *s, const char *dir, const char *name, struct resolved *ret);
/* The same, saying nothing: whether it could be looked at. */
bool git_looks(struct scan *s, const char *dir, const char *name, struct resolved *ret);
bool git_is_there(struct scan *s, const char *dir, const char *name, bool directory);
/* A small file without its last line ends, or NULL. */
char *git_read_text(struct scan *s, const char *path, size_t limit);
/* Follows a pointer file: the directory, or the file, that its text names. False if there is none.
 */
bool git_follow(struct scan *s, const char *dir, const char *name, const char *prefix,
                struct resolved *ret);

/* What was done to a directory. Each kind of look at its entries is one: another finds more. */
enum git_done_what {
    GIT_DONE_POINTERS = 0x1,
    GIT_DONE_CONFIG = 0x2,
    GIT_DONE_READ = 0x4, /* a file: counted */
    GIT_DONE_MODULES = 0x8,
    GIT_DONE_INNER = 0x10,
    GIT_DONE_OWN = 0x20,
    GIT_DONE_WORKTREES = 0x40,
    GIT_DONE_PRESENT = 0x80, /* of worktrees, what is there */
    GIT_DONE_REFS = 0x100,
};

typedef int32_t git_entry_fn(struct scan *s, const char *dir, void *data, unsigned depth);
/* Calls fn for each entry of dir; kind: which look that is, GIT_DONE_MODULES and those after it. */
int32_t git_each_entry(struct scan *s, const char *dir, unsigned kind, git_entry_fn *fn, void *data,
                       unsigned depth);
/* Read-only, and if RULE_IF_PRESENT is not among the flags, not to be made. */
int32_t git_protect_name(struct scan *s, const char *dir, const char *name, uint32_t flags);
int32_t git_refuse_config(struct scan *s, const char *path, const char *problem);

/* All of a directory: one that we cannot look into, or one too many. */
int32_t git_protect_closed(struct scan *s, const char *dir);
/* The work tree, whose .git is a directory, does not become a bare repository. */
int32_t git_keep_work_tree(struct scan *s, const struct repo *repo);
/* A ".git" that is protected for its name, whatever it is. */
int32_t git_protect_broken(struct scan *s, struct repo *repo);
int32_t git_protect_repo(struct scan *s, const struct repo *repo);
/* @git-strict: every branch but the current one, tags and packed refs. */
int32_t git_protect_refs(struct scan *s, const struct repo *repo);

#endif
