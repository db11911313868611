/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control group (v2) for one run, where the user may make one that limits something: memory and
 * processes of the whole sandbox then have one ceiling. Elsewhere rlimits are all there is.
 */
#ifndef ABX_RUN_CGROUP_H
#define ABX_RUN_CGROUP_H

#include "base/defs.h"
#include "plan/protocol.h"

struct cgroup {
    int parent; /* the directory that it was made in; -1: no group */
    int dir;    /* the group itself */
    char name[LAUNCH_CGROUP_MAX];
};

struct cgroup_limits {
    uint64_t memory, processes; /* 0: none */
};

void cgroup_init(struct cgroup *g);
/*
 * Makes a group below the caller's own, or beside it, if that gives at least one of the limits.
 * 0, or -errno: there is none, which is not an error of the run.
 */
int cgroup_make(struct cgroup *g, const struct cgroup_limits *limits);
/* Which limits were hit, and how often. Zeros without a group, and once it is gone. */
struct cgroup_counts {
    uint64_t killed;  /* processes, for want of memory */
    uint64_t refused; /* processes that were too many */
};
struct cgroup_counts cgroup_count(const struct cgroup *g);
/* Removes it; the keeper does the same when the run is over and the host has hung up. */
void cgroup_remove(struct cgroup *g);
void cgroup_close(struct cgroup *g);

/* For doctor: 0 if cgroup_make would find a place, or why not. */
int cgroup_probe(void);

#endif
