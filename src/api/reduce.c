/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of a plan on a host that has not every layer, by probing it now: what was learnt
 * earlier does not explain a failure of this moment. Where there is no view of files for us, the
 * plan is made anew for Landlock alone (backend.c), otherwise cut down to what there is; only under
 * fallbackPolicy "warn", and each time it is said.
 */
#include "api/internal.h"
#include "api/next.h"
#include "plan/dump.h"
#include "probe/state.h"
#include "run/probe.h"

uint32_t layers_available(const struct probe_facts *facts)
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

/* The host as it is now; false: it could not be asked. */
static bool probe_now(abx_command *c, struct probe_facts *ret)
{
    _arena_ struct arena arena = { 0 };

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *const *dirs = state_directories(&arena, c->facts->home);
    return dirs && probe_host(&c->manager->image, dirs, true, ret, NULL) == ABX_OK;
}

bool command_reduce(abx_command *c, bool refused, const struct probe_facts *known)
{
    struct probe_facts facts;

    if (!c->plan || (!known && !probe_now(c, &facts)))
        return false;
    const bool by_bwrap = c->backend == BACKEND_BWRAP && !refused;
    const uint32_t have = layers_available(known ? known : &facts) |
                          (by_bwrap ? LAYERS_OF_VIEW : 0);
    switch (next_less(c->plan->layers, have)) {
    case LESS_LAYERS:
        return cut_down(c, c->plan->layers & have);
    case LESS_LANDLOCK:
        return c->policy->backend == CHOICE_AUTO && command_choose_landlock(c, NULL) == ABX_OK;
    case LESS_NONE:
        break;
    }
    return false;
}

bool command_would_cut(abx_command *c, struct buf *text)
{
    struct probe_facts facts;

    if (!c->plan || !probe_now(c, &facts))
        return false;
    const uint32_t have = layers_available(&facts);
    if (next_less(c->plan->layers, have) != LESS_LAYERS)
        return false;
    put_missing(c->plan, c->plan->layers & have, text);
    return true;
}
