/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders. A name that must not be created inside a writable directory needs something that a
 * mount can cover. Where there is nothing, the host puts an empty socket (mode 000) there for the
 * time of the run: it is invisible to git, cannot be opened by anybody and costs one inode.
 *
 * Runs that share a directory share its placeholders through a registry file (plan/protocol.h); the
 * last one removes them. The registry lies outside every sandbox's reach.
 */
#ifndef ABX_RUN_HOLD_H
#define ABX_RUN_HOLD_H

#include "agentbox/agentbox.h"
#include "base/defs.h"
#include "plan/plan.h"
#include "plan/protocol.h"

struct hold {
    int registry;        /* the registry directory, flock'ed until hold_fill; -1: nothing is held */
    int keeper_registry; /* opened once more: a lock excludes only who opened the file himself */
    const char *state;   /* the registry's place, the caller's; not used after hold_fill */
    bool unrecorded;     /* it was the registry that could not be written */
    unsigned count;
    int dirs[LAUNCH_MAX_HOLDS];
    int files[LAUNCH_MAX_HOLDS];
};

void hold_init(struct hold *h);
/* Opens and locks what the plan needs; repairs what dead runs left. state_dir: facts->state_dir. */
int32_t hold_open(struct hold *h, const struct plan *plan, const char *const *state_dirs,
                  abx_error **err);
/* Makes the placeholders and gives the registry free for others. The keeper must know of them by
 * then. */
int32_t hold_fill(struct hold *h, const struct plan *plan, abx_error **err);
/* … also when it could not: the keeper, who may know of them already, waits for the registry. */
void hold_unlock(struct hold *h);
/*
 * The keeper has its registry descriptor now. It must be the only one: a lock that it holds when it
 * is killed would stay with a copy of ours, and we would wait for it forever.
 */
void hold_handed_over(struct hold *hold);
/*
 * Removes what no other run needs. The keeper does the same when pid 1 is gone; whoever comes first
 * does it, the other finds nothing to do.
 */
void hold_release(struct hold *h);
void hold_close(struct hold *h);

#endif
