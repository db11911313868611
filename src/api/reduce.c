/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of a plan on a host that has not every layer, by probing it now: what was learnt
 * earlier does not explain a failure of this moment. Where there is no view of files for us, the
 * plan is made anew for Landlock alone (backend.c), otherwise cut down to what there is; only under
 * fallbackPolicy "warn", and each time it is said.
 *
 * command_reduce does so after a start that failed; command_foresee goes the way that start.c would
 * go, for whoever only wants to know.
 */
#include <unistd.h>

#include "api/internal.h"
#include "plan/dump.h"
#include "probe/state.h"
#include "run/probe.h"

#define LAYERS_OF_VIEW (LAYER_BIT(LAYER_LANDLOCK) - 1) /* which bubblewrap has, too */

/* What a layer's absence takes along. */
static uint32_t available_layers(const struct probe_facts *facts)
{
    uint32_t bits = probe_layers(facts);
    const uint32_t in_userns = LAYER_BIT(LAYER_MOUNTS) | LAYER_BIT(LAYER_PIDNS) |
                               LAYER_BIT(LAYER_NETNS) | LAYER_BIT(LAYER_IPCNS) |
                               LAYER_BIT(LAYER_UTSNS) | LAYER_BIT(LAYER_CGROUPNS);

    if (!(bits & LAYER_BIT(LAYER_USERNS)))
        bits &= ~in_userns;
    if (!(bits & LAYER_BIT(LAYER_MOUNTS)) || !(bits & LAYER_BIT(LAYER_PIDNS)))
        bits &= ~(LAYER_BIT(LAYER_MOUNTS) | LAYER_BIT(LAYER_PIDNS));
    return bits;
}

static void put_missing(const struct plan *plan, uint32_t layers, struct buf *text)
{
    for (uint32_t i = 0; i < LAYER_COUNT; i++)
        if ((plan->required & ~layers) & LAYER_BIT(i))
            (void)buf_printf(text, " %s", plan_layer_name(i));
}

/* The plan without the layers that are not available; false: nothing is gained. */
static bool cut_down(abx_command *c, uint32_t layers)
{
    _buf_ struct buf text = { .limit = 4096 };

    struct plan *less = arena_alloc(&c->arena, 1, sizeof *less);
    if (!less)
        return false;
    *less = *c->plan;
    less->layers = layers;
    if ((less->required & ~layers) & LAYER_BIT(LAYER_NETNS))
        plan_go_offline(c->policy, less);
    (void)buf_puts(&text, "the sandbox is incomplete on this host; missing:");
    put_missing(less, layers, &text);
    if (text.failed)
        return false;
    manager_notice(c->manager, ABX_NOTICE_WARNING, text.data);
    c->plan = less;
    return true;
}

/* The plan with the layers that there are, or none yet, for another back end; false: there is no
 * less. */
static bool reduce_to(abx_command *c, uint32_t layers)
{
    layers &= c->plan->layers;
    if (c->policy->strict || layers == c->plan->layers)
        return false;
    if (layers & LAYER_BIT(LAYER_MOUNTS))
        return cut_down(c, layers);
    /* Something must stand around the files. */
    return c->policy->backend == CHOICE_AUTO && (layers & LAYER_BIT(LAYER_LANDLOCK)) &&
           command_choose_landlock(c, NULL) == ABX_OK;
}

bool command_reduce(abx_command *c, bool closed, struct arena *arena)
{
    const char *const *dirs = c->plan ? state_directories(arena, c->facts->home) : NULL;
    struct probe_facts facts;

    if (c->policy->strict || !dirs ||
        probe_host(&c->manager->image, dirs, true, &facts, NULL) != ABX_OK)
        return false;
    const bool by_bwrap = c->backend == BACKEND_BWRAP && !closed;
    return reduce_to(c, available_layers(&facts) | (by_bwrap ? LAYERS_OF_VIEW : 0));
}

/* ---- without a start ---- */

bool command_would_cut(abx_command *c, struct buf *text)
{
    _arena_ struct arena arena = { 0 };
    struct probe_facts facts;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *const *dirs = c->plan ? state_directories(&arena, c->facts->home) : NULL;
    if (!dirs || probe_host(&c->manager->image, dirs, true, &facts, NULL) != ABX_OK)
        return false;
    const uint32_t layers = available_layers(&facts) & c->plan->layers;
    if (layers == c->plan->layers || !(layers & LAYER_BIT(LAYER_MOUNTS)))
        return false;
    put_missing(c->plan, layers, text);
    return true;
}

/* Nothing changes unless bubblewrap works, and can have the plan. */
static void turn_to_bwrap(abx_command *c)
{
    const struct plan *native = c->plan;

    if (command_choose_bwrap(c, NULL) == ABX_OK && command_bwrap_works(c) &&
        command_compile(c, NULL) == ABX_OK)
        return;
    c->backend = BACKEND_NATIVE;
    c->shortfalls = 0;
    c->plan = native;
}

/* Back end and plan as start.c would end up with them; false: it would refuse. */
static bool settle(abx_command *c, const struct probe_facts *facts)
{
    uint32_t have = available_layers(facts);

    if (facts->items[PROBE_CLOSE_RANGE].error || facts->items[PROBE_PIDFD].error)
        return false;
    const bool works = c->backend != BACKEND_BWRAP || command_bwrap_works(c);
    if (c->backend == BACKEND_NATIVE && c->policy->backend == CHOICE_AUTO &&
        (c->plan->layers & LAYERS_OF_VIEW & ~have))
        turn_to_bwrap(c);
    if (c->backend == BACKEND_BWRAP && works)
        have |= LAYERS_OF_VIEW;
    if (works && !(c->plan->layers & ~have))
        return true;
    return reduce_to(c, have) && (c->plan || command_compile(c, NULL) == ABX_OK) &&
           !(c->plan->layers & ~have);
}

int32_t command_foresee(const abx_command *c, struct arena *arena, const struct plan **ret,
                        abx_error **err)
{
    struct probe_facts facts;

    *ret = c->plan;
    if (c->plan->profile)
        return ABX_OK; /* macOS has its one layer always */
    const char *const *dirs = state_directories(arena, c->facts->home);
    if (!dirs)
        return err_nomem(err);
    abx_command other = *c; /* what was wrapped stays as it is */
    other.arena = *arena;
    const bool runs = probe_host(&c->manager->image, dirs, true, &facts, NULL) == ABX_OK &&
                      settle(&other, &facts);
    struct plan *seen = arena_alloc(&other.arena, 1, sizeof *seen);
    *arena = other.arena;
    if (!seen)
        return err_nomem(err);
    if (runs)
        command_tell_bwrap(&other);
    *seen = runs ? *other.plan : *c->plan;
    seen->refused = !runs;
    *ret = seen;
    return ABX_OK;
}
