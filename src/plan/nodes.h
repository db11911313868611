/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first half of the mount compiler: policy and facts become one sorted list of nodes, each a
 * path with the one thing that is to happen there. Pure.
 */
#ifndef ABX_PLAN_NODES_H
#define ABX_PLAN_NODES_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "plan/facts.h"
#include "policy/policy.h"

/* At most one of the kinds before NODE_PIN lies at a path, except that there may be several holds.
 */
enum node_kind {
    NODE_RULE,
    NODE_COVER, /* a directory that the view replaces (enum place) */
    NODE_MASK,  /* an entry of /proc */
    NODE_KEEP,  /* an entry of /run */
    NODE_TOP,   /* an entry of "/": writable if "/" is */
    NODE_HOLD,  /* an absent name that must stay absent: the first missing component */
    NODE_PIN,   /* an entry that must not be replaced */
    NODE_WRAP,  /* a program that is covered by a wrapper */
    NODE_CWD,   /* the working directory must be visible here */
};

struct node {
    const char *path;
    enum node_kind kind;
    const struct policy_rule *rule;    /* RULE: the winner; NULL: only a ceiling lies here */
    const struct policy_rule *without; /* RULE_PROTECT: who would win here without it, or NULL */
    uint32_t cap;                      /* RULE: enum access; ACCESS_RW: no ceiling */
    uint32_t place;                    /* COVER; WRAP: number of the target */
    bool exists, is_dir;
    bool is_link; /* PIN */
    uint64_t dev, ino;
    const char *why;
    const char *target;    /* KEEP: of a symlink */
    const char *name_root; /* counts only where this is a writable root */
};

int32_t nodes_collect(const struct policy *policy, const struct facts *facts, struct arena *arena,
                      const struct node **ret, size_t *ret_count, abx_error **err);

/* The error for a working directory that lies in something hidden. */
int32_t nodes_refuse_cwd(const char *cwd, abx_error **err);

/* Why the working directory is not made writable although the preset would, or NULL. */
const char *nodes_cwd_refusal(const struct policy *policy, const struct facts *facts);

#endif
