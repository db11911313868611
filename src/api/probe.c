/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abx_probe: what was found out about this host, in words. The table says for each layer what its
 * absence means and what to do; a few files of /proc tell which of the usual causes it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/internal.h"
#include "api/report.h"
#include "base/buf.h"
#include "base/io.h"
#include "probe/inside.h"
#include "probe/state.h"
#include "run/cgroup.h"
#include "run/probe.h"

#ifndef ABX_DATADIR /* of the analysers, which do not know the build */
#define ABX_DATADIR "/usr/share"
#endif

static bool file_says(const char *path, const char *text)
{
    _buf_ struct buf b = { .limit = 256 };

    return io_read_file(AT_FDCWD, path, &b) == 0 && b.len > 0 &&
           strncmp(b.data, text, strlen(text)) == 0;
}

static const char *userns_hint(void)
{
    if (file_says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"))
        return "AppArmor lets only named programs make user namespaces; as root: cp " ABX_DATADIR
               "/agentbox/apparmor /etc/apparmor.d/agentbox && apparmor_parser -r "
               "/etc/apparmor.d/agentbox";
    if (file_says("/proc/sys/kernel/unprivileged_userns_clone", "0"))
        return "user namespaces are for root only here; as root: sysctl "
               "kernel.unprivileged_userns_clone=1";
    if (file_says("/proc/sys/user/max_user_namespaces", "0\n"))
        return "user namespaces are switched off; as root: sysctl user.max_user_namespaces=15000";
    if (access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0)
        return "this container forbids user namespaces: start it with --security-opt "
               "seccomp=unconfined (or a profile that allows clone with CLONE_NEWUSER)";
    return "a security module or the kernel's configuration refuses user namespaces";
}

static const char *layer_hint(enum probe_item item, bool inner)
{
    if (inner && item == PROBE_USERNS)
        return "the sandbox around has namespaces and mounts of its own and allows no others, "
               "unless it is started with --set allowNestedNamespaces=true";
    if (inner && item != PROBE_LANDLOCK && item != PROBE_SECCOMP)
        return "";
    switch (item) {
    case PROBE_USERNS:
        return userns_hint();
    case PROBE_PROC:
        return "parts of /proc are masked here (a container), and a new /proc may not show more "
               "than the old one; start the container with --security-opt "
               "systempaths=unconfined";
    case PROBE_LANDLOCK:
        return "boot with lsm=landlock,... in front of the other modules, or use a kernel of 5.13 "
               "or newer with CONFIG_SECURITY_LANDLOCK";
    case PROBE_SECCOMP:
    case PROBE_NOTIFY:
        return "the kernel lacks CONFIG_SECCOMP_FILTER";
    default:
        return "needs user namespaces and kernel 5.13 or newer";
    }
}

static void add_item(abx_report *r, const struct probe_facts *f, enum probe_item item,
                     const char *good)
{
    int32_t error = f->items[item].error;
    struct report_row *row = report_add(r, probe_names[item],
                                        error ? ABX_STATUS_MISSING : ABX_STATUS_OK);

    (void)snprintf(row->detail, sizeof row->detail, "%s", error ? strerrordesc_np(error) : good);
    if (error)
        row->hint = layer_hint(item, r->inner);
}

static void add_mounts(abx_report *r, const struct probe_facts *f)
{
    bool proc_only = !f->items[PROBE_MOUNTS].error && f->items[PROBE_PROC].error;

    add_item(r, f, proc_only ? PROBE_PROC : PROBE_MOUNTS,
             "read-only view of the host, own /proc, /dev, /tmp");
    r->rows[r->count - 1].name = "mounts";
}

static void add_landlock(abx_report *r, const struct probe_facts *f)
{
    int32_t abi = f->items[PROBE_LANDLOCK].value;

    add_item(r, f, PROBE_LANDLOCK, "");
    struct report_row *row = &r->rows[r->count - 1];
    if (row->status != ABX_STATUS_OK)
        return;
    (void)snprintf(row->detail, sizeof row->detail, "ABI %d%s", (int)abi,
                   abi < 3   ? ": no control of truncation; the mounts cover it"
                   : abi < 5 ? ": no control of device ioctls; the minimal /dev covers it"
                   : abi < 6 ? ": no scopes; the namespaces cover signals and abstract sockets"
                             : ": all rights and scopes");
    if (abi < 6)
        row->status = ABX_STATUS_LIMITED;
    if (abi < 6)
        row->hint = "a newer kernel (6.12) has all of Landlock that agentbox uses";
}

static void add_limits(abx_report *r, const struct probe_facts *f)
{
    bool own_pids = f->items[PROBE_PIDLIMIT].error == 0;
    bool group = cgroup_probe() == 0, root = geteuid() == 0;
    struct report_row *row = report_add(r, "limits",
                                        own_pids || group ? ABX_STATUS_OK : ABX_STATUS_LIMITED);

    (void)snprintf(row->detail, sizeof row->detail,
                   "processes by %s; memory %s; files and cpu time per "
                   "process",
                   own_pids ? "the pid namespace's own pid_max"
                   : group  ? "a control group"
                   : root   ? "nothing (root is exempt from RLIMIT_NPROC)"
                            : "RLIMIT_NPROC",
                   group ? "of the whole sandbox, by a control group" : "per process, by rlimits");
    if (!group)
        row->hint =
            "a ceiling for the whole sandbox's memory needs a delegated control group (v2), as in "
            "a "
            "systemd user session";
    if (!own_pids && !group)
        row->hint =
            "kernel 6.14 limits processes per pid namespace, for root too; so does a delegated "
            "control group (v2)";
}

static void fill(abx_report *r, const struct probe_facts *f)
{
    add_item(r, f, PROBE_USERNS, "a user namespace of its own");
    add_mounts(r, f);
    add_item(r, f, PROBE_PIDNS, "host processes are invisible");
    add_item(r, f, PROBE_NETNS, "an empty network with a loopback of its own");
    add_item(r, f, PROBE_IPCNS, "no System V IPC or message queue of the host");
    add_item(r, f, PROBE_UTSNS, "a host name of its own");
    add_item(r, f, PROBE_CGROUPNS, "control groups are not shown");
    add_landlock(r, f);
    add_item(r, f, PROBE_SECCOMP, "system calls by allow-list");
    add_limits(r, f);
    const uint32_t few = LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_SECCOMP);
    const uint32_t all = LAYER_BIT(LAYER_COUNT) - 1;
    r->native = (probe_layers(f) & all) == all;
    r->landlock = (probe_layers(f) & few) == few;
    r->inner = r->inner && r->landlock;
    r->notify = f->items[PROBE_NOTIFY].error == 0;
}

int32_t abx_probe(int32_t refresh, abx_report **ret_report, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    struct probe_facts facts;
    struct image image;

    if (!ret_report)
        return err_new(err, ABX_E_INVALID, "probe: no place for the report");
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *home = getenv("HOME");
    const char *const *dirs = state_directories(&arena, home && home[0] == '/' ? home : NULL);
    if (!dirs)
        return err_nomem(err);
    image_init(&image, NULL);
    int32_t code = probe_host(&image, dirs, refresh != 0, &facts, err);
    image_done(&image);
    if (code != ABX_OK)
        return code;
    abx_report *r = calloc(1, sizeof *r);
    if (!r)
        return err_nomem(err);
    r->inner = inside_is_closed();
    fill(r, &facts);
    *ret_report = r;
    return ABX_OK;
}
