/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test builds only (tests/attacks/knockout): ABX_TEST_SKIP=NAME,… leaves layers out of a run. In
 * what is shipped nothing of this exists.
 *
 *   mounts, landlock, seccomp, limits     are claimed, and not applied
 *   userns, pidns, ipcns, utsns, cgroupns are not made, as on a host that has none
 *   environment, placeholders, monitor    the variables as they are; none made; nobody watches
 *   capabilities, descriptors, a step     plan/steps.def: left out there
 */
#ifndef ABX_API_TEST_SKIP_H
#define ABX_API_TEST_SKIP_H

#include "base/arena.h"
#include "plan/plan.h"

#ifdef ABX_TESTING
/* What is left of the layers. */
uint32_t test_skip_layers(uint32_t layers);
/* envp: the variables that the caller has. */
void test_skip_plan(struct plan *plan, const char *const *envp, struct arena *arena);
#else
static inline uint32_t test_skip_layers(uint32_t layers)
{
    return layers;
}
static inline void test_skip_plan(struct plan *plan, const char *const *envp, struct arena *arena)
{
    (void)plan;
    (void)envp;
    (void)arena;
}
#endif

#endif
