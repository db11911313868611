/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Throughput: runs of /bin/true per second with eight of them at once, all in one directory.
 *
 * As soon as one ends the next one starts. The ways are interleaved in blocks of some tenths of a
 * second, with a pause between them in which the kernel clears away the namespaces of the last
 * block; the blocks' rates are then summarized like any other measurement.
 */
#include "bench.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS   7u
#define PAUSE_MS 200u

struct way {
    enum metric metric;
    const struct args *args; /* NULL: left out */
};

/* Waits for one of them; like bench_wait, but whichever ends first. */
static int wait_any(const struct args *a)
{
    int status;

    while (wait(&status) < 0) {
        if (errno != EINTR)
            return bench_fail("wait for '%s': %s", a->v[0], strerror(errno));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return bench_fail("'%s' ended with wait status 0x%04x", a->v[0], (unsigned)status);
    return 0;
}

static int run_block(const struct args *a, unsigned total, double *ret_rate)
{
    unsigned started = 0, ended = 0;
    int64_t start = bench_now();

    while (ended < total) {
        if (started < total && started - ended < BENCH_AT_ONCE) {
            if (bench_launch(a, -1) < 0)
                return bench_fail("start '%s': %s", a->v[0], strerror(errno));
            started++;
        } else {
            if (wait_any(a) < 0)
                return -1;
            ended++;
        }
    }
    *ret_rate = (double)total * NSEC_PER_SEC / (double)(bench_now() - start);
    return 0;
}

int throughput_measure(const struct bench *b)
{
    static struct args floor, bwrap, ours;
    const char *project = b->place->project;

    ARGS_ADD(&floor, "/bin/true");
    if (b->bwrap)
        args_bwrap(&bwrap, b, project);
    ARGS_ADD(&bwrap, "/bin/true");
    args_agentbox(&ours, b);
    ARGS_ADD(&ours, "--", "/bin/true");
    if (chdir(project) < 0)
        return bench_fail("chdir '%s': %s", project, strerror(errno));

    const struct way ways[] = {
        { METRIC_RATE_FLOOR, &floor },
        { METRIC_RATE_BWRAP, b->bwrap ? &bwrap : NULL },
        { METRIC_RATE_RUN, &ours },
    };
    double rates[ARRAY_LEN(ways)][BLOCKS];
    for (unsigned block = 0; block < BLOCKS; block++) {
        for (unsigned i = 0; i < ARRAY_LEN(ways); i++) {
            unsigned which = (block + i) % ARRAY_LEN(ways);

            if (!ways[which].args)
                continue;
            bench_pause(PAUSE_MS);
            if (run_block(ways[which].args, b->runs, &rates[which][block]) < 0)
                return -1;
        }
    }
    for (unsigned i = 0; i < ARRAY_LEN(ways); i++) {
        if (ways[i].args)
            bench_summarize(rates[i], BLOCKS, &b->cells[ways[i].metric]);
    }
    return 0;
}
