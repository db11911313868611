/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filtering proxy against no proxy and against those that Debian has, all in one run, on
 * loopback: throughput of one stream and of 64, new connections per second, their latency, the
 * proxy's processor time per GiB, its memory for 1,000 tunnels that rest.
 *
 * Each round opens a lane for every way and closes them all at its end, so that no round and no way
 * meets the traces of another; the order moves on by one. Everything shares this machine's
 * processors, so no way with a hop can reach the one without: compare the ratios.
 */
#include "proxy.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"

/* The kinds, in the order of metrics.def; each has a row for each way. */
enum kind { STREAM, STREAMS, NEW, LATENCY, SINGLE, CPU, IDLE };

static struct summary *cell(const struct bench *b, enum kind kind, enum path path)
{
    return &b->cells[METRIC_STREAM_DIRECT + kind * PATH_COUNT + path];
}

static void summarize(const struct bench *b, enum path path, struct lane_samples *s)
{
    for (unsigned i = 0; i < s->latencies; i++)
        s->latency[i] /= 1e3;
    for (unsigned i = 0; i < s->singles; i++)
        s->single[i] /= 1e3;
    bench_summarize(s->stream, LANE_ROUNDS, cell(b, STREAM, path));
    bench_summarize(s->streams, LANE_ROUNDS, cell(b, STREAMS, path));
    bench_summarize(s->rate, LANE_ROUNDS, cell(b, NEW, path));
    bench_summarize(s->latency, (unsigned)s->latencies, cell(b, LATENCY, path));
    bench_summarize(s->single, (unsigned)s->singles, cell(b, SINGLE, path));
    if (path != PATH_DIRECT) {
        bench_summarize(s->cpu, LANE_ROUNDS, cell(b, CPU, path));
        bench_summarize(&s->idle, 1, cell(b, IDLE, path));
    }
}

struct lanes {
    struct lane open[PATH_COUNT];
    bool there[PATH_COUNT];
};

/* A peer that does not stand it is left out from there on; we and no proxy have to. */
static int check(struct lanes *lanes, enum path path, int r)
{
    if (r >= 0)
        return 0;
    lanes->there[path] = false;
    lane_close(&lanes->open[path]);
    return peer_package(path) ? 0 : -1;
}

/* Each way once, beginning with another one each time. */
static int each_does(struct lanes *lanes, unsigned first, enum lane_task task, unsigned round)
{
    for (unsigned i = 0; i < PATH_COUNT; i++) {
        enum path path = (first + i) % PATH_COUNT;

        if (lanes->there[path] && check(lanes, path, lane_do(&lanes->open[path], task, round)) < 0)
            return -1;
    }
    return 0;
}

static int measure_round(const struct bench *b, struct lanes *lanes, struct lane_samples *samples,
                         unsigned round)
{
    for (unsigned i = 0; i < PATH_COUNT; i++) {
        int r = lanes->there[i] ? lane_open(b, i, &samples[i], &lanes->open[i]) : 0;

        lanes->there[i] = r == 1;
        if (check(lanes, i, r) < 0)
            return -1;
    }
    /* One after the other, way by way: what the machine does meanwhile hits all alike. */
    for (unsigned i = 0; i < BENCH_WARM_UP + LANE_SINGLES; i++)
        if (each_does(lanes, i, i < BENCH_WARM_UP ? LANE_WARM_UP : LANE_SINGLE, round) < 0)
            return -1;
    if (each_does(lanes, round, LANE_LOAD, round) < 0)
        return -1;
    return round + 1 < LANE_ROUNDS ? 0 : each_does(lanes, 0, LANE_IDLE, round);
}

static void close_all(struct lanes *lanes)
{
    for (unsigned i = 0; i < PATH_COUNT; i++)
        lane_close(&lanes->open[i]);
}

int proxy_measure(const struct bench *b)
{
    static struct lanes lanes;
    struct lane_samples *samples = mmap(NULL, PATH_COUNT * sizeof *samples, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int r = samples == MAP_FAILED ? bench_fail("mmap: %s", strerror(errno)) : 0;

    for (unsigned i = 0; i < PATH_COUNT; i++) {
        lanes.open[i].control = -1;
        lanes.there[i] = true;
    }
    for (unsigned round = 0; r == 0 && round < LANE_ROUNDS; round++) {
        r = measure_round(b, &lanes, samples, round);
        close_all(&lanes);
    }
    for (unsigned i = 0; r == 0 && i < PATH_COUNT; i++)
        if (lanes.there[i])
            summarize(b, i, &samples[i]);
    return r;
}
