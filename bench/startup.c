/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start-up: how long it takes until /bin/true has ended, in every way that there is to run it.
 *
 * The program is started as a person would start it. The library is called in this process, as a
 * host program would call it, with its defaults: output captured, everything freed again inside the
 * measured time. "Cold" makes a manager for each run, "warm" keeps one. A result that does not
 * claim the whole sandbox is a failure and not a number. firejail is tried once before: it does not
 * run everywhere (it wants an account for the user, and to be setuid root), and is left out then.
 */
#include "bench.h"

#include <unistd.h>

#include "library.h"

#define FIREJAIL_PATH "/usr/bin/firejail"

static int run_with(abx_manager *manager)
{
    static const char *const argv[] = { "/bin/true", NULL };
    abx_command *command;
    abx_result *result;
    abx_error *err = NULL;

    if (abx_command_new(argv, &command, &err) != ABX_OK)
        return library_failed("new command", err);
    int32_t code = abx_manager_run(manager, command, &result, &err);
    abx_command_free(command);
    if (code != ABX_OK)
        return library_failed("run", err);
    bool good = abx_result_exit_code(result) == 0 && abx_result_sandboxed(result);
    abx_result_free(result);
    return good ? 0 : bench_fail("library: the run did not succeed in a whole sandbox");
}

static int run_cold(void *user)
{
    abx_manager *manager;

    (void)user;
    if (library_manager(&manager) < 0)
        return -1;
    int r = run_with(manager);
    abx_manager_free(manager);
    return r;
}

static int run_warm(void *user)
{
    return run_with(user);
}

/* The profile that is closest to our default policy. */
static void args_firejail(struct args *a, const char *cwd)
{
    static char writable[BENCH_PATH_MAX + 16];

    (void)snprintf(writable, sizeof writable, "--read-write=%s", cwd);
    ARGS_ADD(a, FIREJAIL_PATH, "--noprofile", "--quiet", "--read-only=/", writable);
    ARGS_ADD(a, "--private-tmp", "--net=none", "--", "/bin/true");
}

static bool firejail_runs(const struct args *a, const char *cwd)
{
    const struct variant once = { .metric = METRIC_FIREJAIL, .args = a, .cwd = cwd };

    const bool there = access(FIREJAIL_PATH, X_OK) == 0;

    if (there && bench_once(&once) == 0)
        return true;
    (void)bench_fail("firejail %s, and is left out", there ? "does not run here" : "is not there");
    return false;
}

int startup_measure(const struct bench *b)
{
    static struct args floor, version, check, bwrap, firejail, ours, filtered, landlock;
    const char *project = b->place->project, *repo = b->place->repo;
    abx_manager *manager;

    ARGS_ADD(&floor, "/bin/true");
    ARGS_ADD(&version, b->agentbox, "version");
    ARGS_ADD(&check, b->agentbox, "check", "--", "git", "status");
    if (b->bwrap)
        args_bwrap(&bwrap, b, project);
    ARGS_ADD(&bwrap, "/bin/true");
    args_firejail(&firejail, project);
    args_agentbox(&ours, b);
    ARGS_ADD(&ours, "--", "/bin/true");
    ARGS_ADD(&filtered, b->agentbox, "run", "--", "/bin/true");
    args_agentbox(&landlock, b);
    ARGS_ADD(&landlock, "-q", "--backend", "landlock", "--set", "fallbackPolicy=warn", "--",
             "/bin/true");
    const bool jails = firejail_runs(&firejail, project);
    if (library_manager(&manager) < 0)
        return -1;

    const struct variant variants[] = {
        { .metric = METRIC_FLOOR, .args = &floor, .cwd = project },
        { .metric = METRIC_VERSION, .args = &version, .cwd = project },
        { .metric = METRIC_CHECK, .args = &check, .cwd = project },
        { .metric = METRIC_BWRAP, .args = b->bwrap ? &bwrap : NULL, .cwd = project },
        { .metric = METRIC_RUN, .args = &ours, .cwd = project },
        { .metric = METRIC_RUN_GIT, .args = &ours, .cwd = repo },
        { .metric = METRIC_RUN_FILTERED, .args = &filtered, .cwd = project },
        { .metric = METRIC_RUN_LANDLOCK, .args = &landlock, .cwd = project },
        { .metric = METRIC_LIB_COLD, .call = run_cold, .cwd = project },
        { .metric = METRIC_LIB_WARM, .call = run_warm, .user = manager, .cwd = project },
    };
    int r = bench_interleave(b, variants, ARRAY_LEN(variants), b->runs);
    abx_manager_free(manager);
    /* Alone: what it leaves to the kernel takes tens of milliseconds of both processors. */
    const struct variant last[] = {
        { .metric = METRIC_FIREJAIL, .args = jails ? &firejail : NULL, .cwd = project },
    };
    if (r >= 0)
        r = bench_interleave(b, last, ARRAY_LEN(last), b->runs);
    return r;
}
