/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abx_probe: what was found out about this host, in words: of each layer what it is good for, or
 * why it is missing, what that costs and what to do (cause.c). One hint a cause: what only follows
 * from another row has none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/cause.h"
#include "api/internal.h"
#include "api/report.h"
#include "probe/state.h"
#include "run/bwrap.h"
#include "run/cgroup.h"
#include "run/probe.h"

/* The launcher's answers, with what else tells why. */
struct findings {
    const struct probe_facts *facts;
    struct cause_signs signs;
    struct bwrap bwrap;
    int32_t bwrap_code;   /* of looking for it */
    abx_error *bwrap_why; /* … */
    char *bwrap_said;     /* … of trying it, where that matters */
    bool by_bwrap;        /* what is missing it has for us */
    bool calls;           /* those that every back end needs are there */
    struct cause_rest rest;
};

static bool is_missing(const struct findings *f, enum probe_item item)
{
    return f->facts->items[item].error != 0;
}

static bool in_userns(enum probe_item item)
{
    return item > PROBE_USERNS && item < PROBE_LANDLOCK;
}

/* A namespace that works, and that a run with Landlock alone does without. */
static bool is_unused(const abx_report *r, const struct findings *f, enum probe_item item)
{
    return in_userns(item) && !r->inner && !f->by_bwrap && !f->rest.view;
}

/* A layer that is missing: why, what that costs, what to do. */
static void add_item(abx_report *r, const struct findings *f, enum probe_item item,
                     const char *good)
{
    const int32_t error = f->facts->items[item].error;
    const char *cost = item >= PROBE_LANDLOCK ? cause_cost(item, f->rest)
                       : r->inner             ? "the sandbox around has its own"
                       : f->by_bwrap          ? "bubblewrap can make it"
                                              : cause_cost(item, f->rest);
    struct cause_signs signs = f->signs;
    struct report_row *row = report_add(r, probe_names[item],
                                        error ? ABX_STATUS_MISSING : ABX_STATUS_OK);

    if (!error && is_unused(r, f, item)) {
        row->status = ABX_STATUS_LIMITED;
        (void)snprintf(row->detail, sizeof row->detail, "of no use without mounts: %s", cost);
    } else if (!error) {
        (void)snprintf(row->detail, sizeof row->detail, "%s", good);
    } else {
        signs.follows = in_userns(item) && is_missing(f, PROBE_USERNS);
        signs.bwrap = f->by_bwrap;
        (void)snprintf(row->detail, sizeof row->detail, "%s: %s",
                       signs.follows ? "needs userns" : strerrordesc_np(error), cost);
        row->hint = cause_hint(item, error, &signs);
    }
}

static void add_mounts(abx_report *r, const struct findings *f)
{
    bool proc_only = !is_missing(f, PROBE_MOUNTS) && is_missing(f, PROBE_PROC);

    add_item(r, f, proc_only ? PROBE_PROC : PROBE_MOUNTS,
             "read-only view of the host, own /proc, /dev, /tmp");
    r->rows[r->count - 1].name = "mounts";
}

/* What that ABI lacks; without a view nothing else covers it. */
static const char *abi_text(int32_t abi, bool covered)
{
    if (abi < 3)
        return covered ? ": no control of truncation; the mounts cover it"
                       : ": no control of truncation: the user's files can be emptied";
    if (abi < 5)
        return covered ? ": no control of device ioctls; the minimal /dev covers it"
                       : ": no control of device ioctls, nor of signals to the user's processes";
    if (abi < 6)
        return covered ? ": no scopes; the namespaces cover signals and abstract sockets"
                       : ": no scopes: processes can be signalled, and a run put off its end";
    return ": all rights and scopes";
}

static void add_landlock(abx_report *r, const struct findings *f)
{
    const int32_t abi = f->facts->items[PROBE_LANDLOCK].value;

    add_item(r, f, PROBE_LANDLOCK, "");
    struct report_row *row = &r->rows[r->count - 1];
    if (row->status != ABX_STATUS_OK)
        return;
    (void)snprintf(row->detail, sizeof row->detail, "ABI %d%s", (int)abi,
                   abi_text(abi, f->rest.view || f->by_bwrap));
    if (abi < 6)
        row->status = ABX_STATUS_LIMITED;
    if (abi < 6)
        row->hint = "a newer kernel (6.12) has all of Landlock that agentbox uses";
}

static void add_limits(abx_report *r, const struct findings *f)
{
    bool own_pids = !is_missing(f, PROBE_PIDLIMIT);
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
                   group ? "of the whole sandbox, by a control group"
                         : "per process, by rlimits, shared memory not at all");
    if (!group)
        row->hint =
            "a ceiling for the whole sandbox's memory needs a delegated control group (v2), as in "
            "a systemd user session";
    if (!own_pids && !group && !is_missing(f, PROBE_PIDNS) && !is_missing(f, PROBE_PROC))
        row->hint =
            "kernel 6.14 limits processes per pid namespace, for root too; so does a delegated "
            "control group (v2)";
}

/* Where our own namespaces are refused it matters; elsewhere it is told which one there is. */
static void find_bwrap(const abx_report *r, struct image *image, struct findings *f)
{
    f->bwrap_code = bwrap_find(&f->bwrap, &f->bwrap_why);
    if (f->bwrap_code == ABX_OK && !r->native && !r->inner && f->calls)
        f->bwrap_said = bwrap_try(&f->bwrap, LAYERS_OF_VIEW, image);
    f->by_bwrap = f->bwrap_code == ABX_OK && !f->bwrap_said && !r->native && !r->inner && f->calls;
}

static void add_bwrap(abx_report *r, const struct findings *f)
{
    const bool found = f->bwrap_code == ABX_OK;
    const struct bwrap *b = &f->bwrap;

    if (r->inner || (r->native && !found))
        return;
    struct report_row *row = report_add(
        r, "bwrap", f->by_bwrap || r->native ? ABX_STATUS_OK : ABX_STATUS_MISSING);
    if (!found)
        (void)snprintf(row->detail, sizeof row->detail, "%s", abx_error_message(f->bwrap_why));
    else
        (void)snprintf(row->detail, sizeof row->detail, "%s, version %u.%u%s%s%s%s", b->path,
                       b->major, b->minor, b->setuid ? ", setuid" : "",
                       r->native ? "; not needed" : "", f->bwrap_said ? " fails: " : "",
                       f->bwrap_said ? f->bwrap_said : "");
    if (!found && f->signs.apparmor)
        row->hint = "where only bubblewrap may make namespaces, agentbox builds on it: install the "
                    "package bubblewrap (0.8 or newer)";
    if (f->by_bwrap && geteuid() == 0) {
        row->status = ABX_STATUS_LIMITED;
        row->hint = "as root it cannot promise everything: --set fallbackPolicy=warn accepts that";
    }
    r->bwrap = f->by_bwrap && f->rest.landlock;
}

/* What a run could have: everything; Landlock, where there is no view; or less under "warn". */
static void judge(abx_report *r, struct findings *f)
{
    const uint32_t layers = probe_layers(f->facts);
    const uint32_t view = LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_MOUNTS) |
                          LAYER_BIT(LAYER_PIDNS);
    const uint32_t few = LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_SECCOMP);
    const uint32_t all = LAYER_BIT(LAYER_COUNT) - 1;

    f->calls = !is_missing(f, PROBE_CLOSE_RANGE) && !is_missing(f, PROBE_PIDFD);
    f->rest = (struct cause_rest){ (layers & view) == view, (layers & few) == few };
    r->native = f->calls && (layers & all) == all;
    r->inner = f->signs.inner && f->rest.landlock && f->calls;
    r->landlock = f->rest.landlock && f->calls && (r->inner || !f->rest.view);
    r->notify = !is_missing(f, PROBE_NOTIFY);
}

static void fill(abx_report *r, const struct findings *f)
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
    if (is_missing(f, PROBE_CLOSE_RANGE))
        add_item(r, f, PROBE_CLOSE_RANGE, "");
    if (is_missing(f, PROBE_PIDFD))
        add_item(r, f, PROBE_PIDFD, "");
    add_bwrap(r, f);
}

int32_t abx_probe(int32_t refresh, abx_report **ret_report, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    struct probe_facts facts;
    struct image image;

    if (!ret_report)
        return err_new(err, ABX_E_INVALID, "probe: no place for the report");
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *const *dirs = state_directories(&arena, configfiles_home(&arena));
    if (!dirs)
        return err_nomem(err);
    image_init(&image, NULL);
    int32_t code = probe_host(&image, dirs, refresh != 0, &facts, err);
    abx_report *r = code == ABX_OK ? calloc(1, sizeof *r) : NULL;
    if (r) {
        struct findings found = { .facts = &facts };

        cause_look(&found.signs);
        judge(r, &found);
        find_bwrap(r, &image, &found);
        fill(r, &found);
        free(found.bwrap_said);
        abx_error_free(found.bwrap_why);
    }
    image_done(&image);
    if (!r)
        return code == ABX_OK ? err_nomem(err) : code;
    *ret_report = r;
    return ABX_OK;
}
