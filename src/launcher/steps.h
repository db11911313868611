/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ABX_LAUNCHER_STEPS_H
#define ABX_LAUNCHER_STEPS_H

#include "launcher/launcher.h"

struct step {
    const char *name;
    uint32_t layer; /* enum plan_layer: skipped when the plan does not have it */
    long (*apply)(struct launch *l);
};

/* 0, or -errno with the name of the step that failed. */
long steps_apply(struct launch *l, const char **ret_step);

/*
 * Test builds can leave a layer out, to prove that the others hold without it and that its own tests
 * notice. The shipped launcher does not contain the switch.
 */
static inline bool step_is_left_out(const struct plan *p, uint32_t layer_bit)
{
#ifdef ABX_TESTING
    return (p->test_skip & layer_bit) != 0;
#else
    (void)p, (void)layer_bit;
    return false;
#endif
}

#endif
