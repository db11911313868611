/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thousand denied paths cost at start-up: runs in a directory of a thousand files, without
 * and with an --exclude for each of them. All run in the same directory, so that what it costs to
 * look at it is in all of them. bwrap is there for scale and masks nothing: a bind for each file
 * would take it more than a second a run.
 */
#include "bench.h"

#define MASKS_RUNS_DIVISOR 4u /* these runs are slow, and the difference large */
#define MASKS_RUNS_MIN     10u

static char names[BENCH_MASKS][BENCH_PATH_MAX + 8];

int masks_measure(const struct bench *b)
{
    static struct args floor, bwrap, ours, ours_many;
    const char *dir = b->place->masks;

    ARGS_ADD(&floor, "/bin/true");
    if (b->bwrap)
        args_bwrap(&bwrap, b, dir);
    args_agentbox(&ours, b);
    args_agentbox(&ours_many, b);
    for (unsigned i = 0; i < BENCH_MASKS; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s/%04u", dir, i);
        ARGS_ADD(&ours_many, "--exclude", names[i]);
    }
    ARGS_ADD(&bwrap, "/bin/true");
    ARGS_ADD(&ours, "--", "/bin/true");
    ARGS_ADD(&ours_many, "--", "/bin/true");

    const struct variant variants[] = {
        { .metric = METRIC_MASK_FLOOR, .args = &floor, .cwd = dir },
        { .metric = METRIC_MASK_BWRAP, .args = b->bwrap ? &bwrap : NULL, .cwd = dir },
        { .metric = METRIC_MASK_RUN, .args = &ours, .cwd = dir },
        { .metric = METRIC_MASK_RUN_MANY, .args = &ours_many, .cwd = dir },
    };
    unsigned rounds = MAX_OF(b->runs / MASKS_RUNS_DIVISOR, MASKS_RUNS_MIN);
    return bench_interleave(b, variants, ARRAY_LEN(variants), rounds);
}
