/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test builds only: what ABX_TEST_SKIP leaves out on the host's side. It trusts whoever runs the
 * tests: a name that means nothing here may mean something to the launcher, so none is refused.
 */
#include "api/test_skip.h"

#ifdef ABX_TESTING

#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "plan/dump.h"

#define CLAIMED                                                                                    \
    (LAYER_BIT(LAYER_MOUNTS) | LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_SECCOMP) |              \
     LAYER_BIT(LAYER_LIMITS))
#define UNMADE                                                                                     \
    (LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_PIDNS) | LAYER_BIT(LAYER_IPCNS) |                   \
     LAYER_BIT(LAYER_UTSNS) | LAYER_BIT(LAYER_CGROUPNS))

static bool skips(const char *name)
{
    const char *list = getenv("ABX_TEST_SKIP");
    const size_t len = strlen(name);

    for (const char *s = list; s && *s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
        if (strncmp(s, name, len) == 0 && (s[len] == '\0' || s[len] == ','))
            return true;
    return false;
}

static uint32_t skipped(uint32_t among)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; i < LAYER_COUNT; i++)
        if ((among & LAYER_BIT(i)) && skips(plan_layer_name(i)))
            bits |= LAYER_BIT(i);
    return bits;
}

uint32_t test_skip_layers(uint32_t layers)
{
    return layers & ~skipped(UNMADE);
}

/* Names that are to be held are simply absent then, and can be made. */
static void forget_holds(struct plan *plan, struct arena *arena)
{
    struct mount_op *kept = arena_alloc(arena, plan->mount_count, sizeof *kept);
    uint32_t n = 0;

    for (uint32_t i = 0; kept && i < plan->mount_count; i++)
        if (!(plan->mounts[i].flags & MOUNT_HELD))
            kept[n++] = plan->mounts[i];
    if (!kept)
        return;
    plan->mounts = kept;
    plan->mount_count = n;
    plan->hold_count = 0;
}

static bool has_variable(const struct plan *plan, const char *entry)
{
    const size_t len = strcspn(entry, "=");

    for (uint32_t i = 0; i < plan->env_count; i++)
        if (strncmp(plan->env[i], entry, len) == 0 && plan->env[i][len] == '=')
            return true;
    return false;
}

/* Behind those of the plan, all others that the caller has. */
static void pass_all(struct plan *plan, const char *const *envp, struct arena *arena)
{
    uint32_t n = plan->env_count, all = 0;

    while (envp[all])
        all++;
    const char **env = arena_alloc(arena, n + all + 1, sizeof *env);
    if (!env)
        return;
    for (uint32_t i = 0; i < n; i++)
        env[i] = plan->env[i];
    for (uint32_t i = 0; i < all; i++)
        if (!has_variable(plan, envp[i]))
            env[n++] = envp[i];
    env[n] = NULL;
    plan->env = env;
    plan->env_count = n;
}

void test_skip_plan(struct plan *plan, const char *const *envp, struct arena *arena)
{
    plan->test_skip = skipped(CLAIMED);
    plan->layers = test_skip_layers(plan->layers);
    plan->required = test_skip_layers(plan->required);
    if (skips("environment"))
        pass_all(plan, envp, arena);
    if (skips("placeholders"))
        forget_holds(plan, arena);
    if (skips("monitor"))
        plan->watch = 0;
}

#endif
