/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource limits of the command. A limit that is already tighter stays: raising a hard limit is
 * not ours to do, and a sandbox never gives more than its caller had.
 */
#include <linux/resource.h>

#include "linux/launch.h"

struct rlimit_pair {
    uint64_t soft, hard;
};

long limits_apply(struct launch *l)
{
    const struct plan *p = &l->plan;

    l->object = "rlimit";
    for (uint32_t i = 0; i < p->limit_count; i++) {
        struct rlimit_pair old, new;
        long r = SYS4(__NR_prlimit64, 0, p->limits[i].resource, 0, &old);
        if (r < 0)
            return r;
        new.soft = new.hard = MIN_OF(p->limits[i].value, old.hard);
        r = SYS4(__NR_prlimit64, 0, p->limits[i].resource, &new, 0);
        if (r < 0)
            return r;
    }
    return 0;
}
