/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the profile does not do: the launcher, which the command's user owns too, cannot be traced;
 * nothing leaves a core; the plan's limits hold; no descriptor of ours reaches the command.
 *
 * A limit above the one that holds already is not an error: it cannot be raised, and need not be.
 * macOS has no limit of memory that programs survive (RLIMIT_DATA is not enforced): docs/macos.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include "darwin/launch.h"
#include "darwin/undeclared.h"

#define SWEPT_FDS 1024 /* the host spawns us with all others closed; these to be sure */

static int set_limit(int resource, rlim_t value)
{
    struct rlimit now;

    if (getrlimit(resource, &now) < 0)
        return -errno;
    if (value >= now.rlim_max)
        return 0;
    const struct rlimit wanted = { value, value };
    return setrlimit(resource, &wanted) < 0 ? -errno : 0;
}

int harden_launcher(struct launch *l)
{
    l->object = "debuggers";
    if (ptrace(PT_DENY_ATTACH, 0, NULL, 0) < 0)
        return -errno;
    l->object = "core";
    return set_limit(RLIMIT_CORE, 0);
}

int harden_limits(struct launch *l)
{
    l->object = "limits";
    for (uint32_t i = 0; i < l->plan.limit_count; i++) {
        const struct plan_limit *limit = &l->plan.limits[i];
        int r = set_limit((int)limit->resource, (rlim_t)limit->value);
        if (r < 0)
            return r;
    }
    return set_limit(RLIMIT_CORE, 0);
}

int harden_descriptors(struct launch *l)
{
    l->object = "descriptors";
    for (int fd = 3; fd < SWEPT_FDS; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 && errno != EBADF)
            return -errno;
    return 0;
}
