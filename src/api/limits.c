/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that a run hit, as records: its time, its processor time, its output, and, where it had a
 * control group, memory and processes. A limit of a single process (RLIMIT_DATA, RLIMIT_NOFILE)
 * shows as an errno inside, and nobody outside hears of it.
 */
#include <signal.h>

#include "api/internal.h"

static void add_limit(struct run *run, const char *detail, const char *rule, const char *grant,
                      uint64_t count)
{
    const struct abx_violation v = {
        .operation = VIOLATION_OTHER,
        .detail = detail,
        .rule = rule,
        .origin = "limits",
        .grant = grant,
        .count = count,
    };

    (void)violations_add(&run->violations, &v, NULL);
}

/*
 * At the hard limit, which is the same as the soft one, the kernel kills. What it counts for that
 * and what it reports afterwards differ by ticks.
 */
static bool used_up(const struct run *run)
{
    const int64_t used = run->end.user_ns + run->end.system_ns;

    return run->cpu_seconds && (uint64_t)(2 * used / NSEC_PER_SEC) >= run->cpu_seconds;
}

void add_limit_records(struct run *run)
{
    if (run->limits_told || !run->exited)
        return;
    run->limits_told = true;

    const int status = run->end.value, ended_by = status & 0x7f;

    if (run->end.detail == 1)
        add_limit(run, "time", "timeout", "a longer --timeout", 1);
    if (ended_by == SIGXCPU || (ended_by == SIGKILL && used_up(run)))
        add_limit(run, "processor time", "resourceLimits.maxCPUSeconds", "a larger --cpu-seconds",
                  1);
    if (run->counts.killed)
        add_limit(run, "memory", "resourceLimits.maxMemoryBytes", "a larger --memory",
                  run->counts.killed);
    if (run->counts.refused)
        add_limit(run, "processes", "resourceLimits.maxProcesses", "a larger --pids",
                  run->counts.refused);
    for (int i = 1; i < 3; i++)
        if (run->streams[i].captured && stream_truncated(&run->streams[i]))
            add_limit(run, i == 1 ? "standard output" : "standard error", "maxOutputBytes",
                      "--max-output 0", 1);
}
