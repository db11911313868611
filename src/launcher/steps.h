/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ABX_LAUNCHER_STEPS_H
#define ABX_LAUNCHER_STEPS_H

#include "launcher/launcher.h"

struct step {
    const char *name;
    uint32_t layer; /* enum plan_layer: skipped when the plan lacks it; LAYER_COUNT: always due */
    long (*apply)(struct launch *l);
};

/* 0, or -errno with the name of the step that failed. */
long steps_apply(struct launch *l, const char **ret_step);

/*
 * Test builds can leave a layer out, to prove that the others hold without it and that its own
 * tests notice. The shipped launcher does not contain the switch.
 */
static inline bool layer_is_due(const struct plan *p, uint32_t layer)
{
#ifdef ABX_TESTING
    if (p->test_skip & LAYER_BIT(layer))
        return false;
#endif
    return (p->layers & LAYER_BIT(layer)) != 0;
}

static inline bool step_is_due(const struct plan *p, const struct step *step)
{
    return !sys_skips(step->name) && (step->layer == LAYER_COUNT || layer_is_due(p, step->layer));
}

#endif
