/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource limits: rlimits, and the largest pid of the new namespace.
 *
 * Memory is RLIMIT_DATA: RLIMIT_AS counts address space that Node, Go and the JVM only reserve. A
 * core limit of 1, not 0: 0 still starts the program that the host's core_pattern names, 1 is too
 * small for that as well. RLIMIT_NPROC does not bind uid 0, whose limit is the pid namespace's.
 */
#include "plan/limits.h"

#include <sys/resource.h>

#define LIMITS_MAX_PIDS 4194304u /* the kernel's own ceiling */

int32_t limits_compile(const struct policy *policy, const struct facts *facts, struct arena *arena,
                       struct plan *plan, abx_error **err)
{
    const uint32_t own = plan->reads ? 1 : 0; /* the thread of pid 1 that serves masks */
    const struct {
        uint32_t resource;
        uint64_t value; /* 0: none */
    } table[] = {
        { RLIMIT_CORE, 1 },
        { RLIMIT_NOFILE, policy->max_fds },
        { RLIMIT_DATA, policy->max_memory },
        { RLIMIT_CPU, policy->max_cpu_seconds },
        { RLIMIT_NPROC,
          facts->is_root || !policy->max_processes ? 0 : policy->max_processes + own },
    };
    struct plan_limit *limits = arena_alloc(arena, ARRAY_LEN(table), sizeof *limits);

    if (!limits)
        return err_nomem(err);
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].value)
            limits[plan->limit_count++] = (struct plan_limit){ table[i].resource, table[i].value };
    plan->limits = limits;
    if (policy->max_processes && policy->max_processes < LIMITS_MAX_PIDS - PLAN_FIRST_PIDS)
        plan->pid_max = (uint32_t)policy->max_processes + PLAN_FIRST_PIDS + own;
    return ABX_OK;
}
