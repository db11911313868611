/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking the launcher that the program's entry code may have started (plan/early.h). It was given
 * our own standard streams, our working directory, every layer and no control group; a run that
 * wants anything else leaves it: its lifeline closes and it ends by itself.
 */
#include <poll.h>
#include <unistd.h>

#include "base/fd.h"
#include "plan/early.h"
#include "run/run.h"

struct early_launch early_launch;

static bool fits(const struct run_request *q, bool cgroup)
{
    bool streams = true;

    for (int i = 0; i < 3; i++)
        streams = streams && !q->capture[i] && q->stdio[i] == i;
    return streams && !cgroup && !q->bwrap && q->cwd_fd < 0 && q->layers == early_launch.layers;
}

bool early_take(struct run *r, const struct run_request *q, bool cgroup, int *ret_lifeline)
{
    const struct early_launch early = early_launch;

    if (early.pid <= 0)
        return false;
    const bool taken = fits(q, cgroup);
    early_launch = (struct early_launch){ 0 };
    if (!taken) {
        fd_close(early.status_fd);
        fd_close(early.lifeline_fd);
        r->unused = (struct run_rest){ .keeper = early.pid, .pidfd = -1 };
        return false;
    }
    r->early = true;
    r->keeper = early.pid;
    r->status_fd = early.status_fd;
    *ret_lifeline = early.lifeline_fd;
    return true;
}

bool early_await(const struct run *r)
{
    struct pollfd end = { .fd = r->pidfd, .events = POLLIN };

    while (r->early && getsid(r->keeper) != r->keeper)
        if (poll(&end, 1, 1) > 0)
            return false;
    return true;
}
