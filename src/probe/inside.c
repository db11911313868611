/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Am I inside? Three things that a process inside cannot undo, together: no_new_privs, a seccomp
 * filter, and the marker below a /run that is a read-only tmpfs mounted there. Nothing inside can
 * mount, unmount or write /run, and nothing takes a filter or no_new_privs away.
 */
#include "probe/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define INSIDE_MARKER    "/run/agentbox/inside"
#define INSIDE_TMPFS     0x01021994
#define SECCOMP_FILTERED 2

bool inside_sandbox(void)
{
    struct statx marker, run;
    struct statfs fs;

    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_SECCOMP) != SECCOMP_FILTERED)
        return false;
    if (statx(AT_FDCWD, INSIDE_MARKER, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &marker) < 0 ||
        !S_ISREG(marker.stx_mode) || statfs(INSIDE_MARKER, &fs) < 0)
        return false;
    if (fs.f_type != INSIDE_TMPFS || !(fs.f_flags & ST_RDONLY))
        return false;
    return statx(AT_FDCWD, "/run", AT_SYMLINK_NOFOLLOW, STATX_TYPE, &run) == 0 &&
           (run.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/*
 * Asked with a descriptor that is none: the kernel says so, unless the filter speaks first. Where
 * /proc is read-only (root's always is) no user namespace can be given its ids.
 */
bool inside_is_closed(void)
{
    if (!inside_sandbox())
        return false;
    return (setns(-1, 0) < 0 && errno == EPERM) || access("/proc/self/uid_map", W_OK) < 0;
}
