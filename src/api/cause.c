/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual causes of a missing layer, told apart by a few signs of the host. The kernel's errno is
 * nearly always EPERM, so the signs decide: a filter is recognised by a call that the kernel itself
 * would answer otherwise, a chroot by its root. Files that cannot be read are no sign. Nothing here
 * changes what a run does; it only chooses words.
 */
#include "api/cause.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "probe/inside.h"

#ifndef ABX_DATADIR /* of the analysers, which do not know the build */
#define ABX_DATADIR "/usr/share"
#endif

static bool file_says(const char *path, const char *text)
{
    _buf_ struct buf b = { .limit = 256 };

    return io_read_file(AT_FDCWD, path, &b) == 0 && b.len > 0 &&
           strncmp(b.data, text, strlen(text)) == 0;
}

/* Flags that no kernel takes: it says EINVAL, unless a filter speaks first. Nothing is unshared. */
static bool userns_is_filtered(void)
{
    const long no_flag = 1;

    return syscall(SYS_unshare, CLONE_NEWUSER | no_flag) < 0 && errno != EINVAL;
}

/* Whether both names lead to the same thing; false where one cannot be looked at. */
static bool is_same(const char *a, const char *b, bool *ret_seen)
{
    struct stat first, second;

    *ret_seen = stat(a, &first) == 0 && stat(b, &second) == 0;
    return *ret_seen && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* A root that no mount stands on, or another one than the first process has in the same mounts. */
static bool root_is_changed(void)
{
    struct statx root;
    bool seen;

    if (statx(AT_FDCWD, "/", 0, STATX_TYPE, &root) == 0 &&
        (root.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
        !(root.stx_attributes & STATX_ATTR_MOUNT_ROOT))
        return true;
    return is_same("/proc/1/ns/mnt", "/proc/self/ns/mnt", &seen) &&
           !is_same("/proc/1/root/.", "/", &seen) && seen;
}

void cause_look(struct cause_signs *ret)
{
    *ret = (struct cause_signs){
        .inner = inside_is_closed(),
        .chroot = root_is_changed(),
        .filter = userns_is_filtered(),
        .container = access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0,
        .apparmor = file_says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
        .only_root = file_says("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        .none = file_says("/proc/sys/user/max_user_namespaces", "0\n"),
    };
}

#define UNCONFINED "--security-opt seccomp=unconfined --security-opt systempaths=unconfined"

static const char *userns_hint(int32_t error, const struct cause_signs *signs)
{
    if (signs->inner)
        return "the sandbox around has namespaces and mounts of its own and allows no others, "
               "unless it is started with --set allowNestedNamespaces=true";
    if (signs->none || error == ENOSPC)
        return "user namespaces are switched off, or all in use; as root: sysctl "
               "user.max_user_namespaces=15000";
    if (signs->filter && signs->container)
        return "the engine's filter refuses user namespaces: start the container with " UNCONFINED
               " (Podman: unmask=ALL in place of systempaths)";
    if (signs->filter)
        return "a filter around this process refuses user namespaces: start its container "
               "with " UNCONFINED ", or its service without RestrictNamespaces=";
    if (signs->chroot)
        return "the kernel makes no user namespace in a chroot: enter this tree as a root of its "
               "own in place of chroot (systemd-nspawn -D DIR, or unshare -m and pivot_root)";
    if (signs->apparmor)
        return "AppArmor lets only named programs make user namespaces; as root: cp " ABX_DATADIR
               "/agentbox/apparmor /etc/apparmor.d/agentbox && apparmor_parser -r "
               "/etc/apparmor.d/agentbox";
    if (signs->only_root)
        return "user namespaces are for root only here; as root: sysctl "
               "kernel.unprivileged_userns_clone=1";
    if (signs->container)
        return "a security module refuses user namespaces in this container: start it with "
               "--security-opt apparmor=unconfined (or label=disable for SELinux)";
    return "a security module or the kernel's configuration (CONFIG_USER_NS) refuses user "
           "namespaces: see the kernel's log for which";
}

static const char *mounts_hint(int32_t error, bool bwrap)
{
    if (error == ENOSYS && bwrap)
        return "the kernel is older than 5.13, or its container's engine is older than the kernel: "
               "update it";
    if (error == ENOSYS)
        return "the kernel is older than 5.13, or its container's engine is older than the kernel: "
               "update it, or install bubblewrap (0.8 or newer), which does without the new calls";
    if (error == ENOENT || error == ENODEV)
        return "/dev lacks one of null, zero, full, random, urandom and tty: make it with mknod";
    return "a filter or a security module refuses mounts: start the container with --security-opt "
           "seccomp=unconfined --security-opt apparmor=unconfined";
}

static const char *proc_hint(int32_t error)
{
    if (error == ENOENT || error == ENODEV)
        return mounts_hint(error, false);
    return "parts of /proc are masked here (a container), and a new /proc may not show more than "
           "the old one: start the container with --security-opt systempaths=unconfined (Podman: "
           "unmask=ALL)";
}

static const char *namespace_hint(int32_t error)
{
    if (error == ENOSPC)
        return "all that are allowed are in use: see /proc/sys/user/max_*_namespaces";
    if (error == EINVAL)
        return "this kernel is built without this kind of namespace: use another one";
    return "a filter or a security module refuses it: start the container with --security-opt "
           "seccomp=unconfined";
}

const char *cause_hint(enum probe_item item, int32_t error, const struct cause_signs *signs)
{
    switch (item) {
    case PROBE_USERNS:
        return userns_hint(error, signs);
    case PROBE_LANDLOCK:
        return error == EPERM || error == EACCES
                   ? "the engine's filter does not know Landlock: update the engine, or start the "
                     "container with --security-opt seccomp=unconfined"
                   : "boot with lsm=landlock,... in front of the other modules, or use a kernel of "
                     "5.13 or newer with CONFIG_SECURITY_LANDLOCK";
    case PROBE_SECCOMP:
    case PROBE_NOTIFY:
        return "the kernel lacks CONFIG_SECCOMP_FILTER: use another one";
    case PROBE_CLOSE_RANGE:
    case PROBE_PIDFD:
        return "every kernel since 5.13 has this call: the kernel is older, or the filter of a "
               "container's engine is; update it";
    default:
        break;
    }
    if (signs->follows || signs->inner)
        return "";
    return item == PROBE_MOUNTS ? mounts_hint(error, signs->bwrap)
           : item == PROBE_PROC ? proc_hint(error)
                                : namespace_hint(error);
}

const char *cause_cost(enum probe_item item, struct cause_rest rest)
{
    const bool around = item <= PROBE_PROC || item >= PROBE_LANDLOCK; /* of what keeps files */

    if (item == PROBE_CLOSE_RANGE || item == PROBE_PIDFD)
        return "nothing can run";
    if (!rest.view && !rest.landlock && around)
        return "nothing is left that could stand around the files";
    switch (item) {
    case PROBE_USERNS:
        return "none of the other namespaces can be made";
    case PROBE_MOUNTS:
    case PROBE_PROC:
        return "Landlock stands alone around the files: names of hidden ones, modes and times are "
               "open, /tmp is closed";
    case PROBE_PIDNS:
        return "the host's processes can be seen, with their arguments, and slowed down";
    case PROBE_NETNS:
        return rest.view ? "there is no network at all"
                         : "nothing inside can listen, or send datagrams";
    case PROBE_IPCNS:
        return "System V IPC is the host's";
    case PROBE_UTSNS:
        return "the host's name is shown";
    case PROBE_CGROUPNS:
        return "control groups are shown";
    case PROBE_LANDLOCK:
        return "the mounts stand alone around the files";
    default:
        return "every system call can be made";
    }
}
