/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filtering proxy against no proxy and against those that Debian has, all in one run, on
 * loopback: throughput of one stream and of 64, new connections per second, their latency, the
 * proxy's processor time per GiB, its memory for 1,000 tunnels that rest.
 *
 * All proxies are there from the beginning; each round goes through all of them, in an order that
 * moves on by one. Everything shares this machine's processors, so no way with a hop can reach the
 * one without: compare the ratios.
 */
#include "proxy.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"

#define ROUNDS       5u
#define STREAM_BYTES ((uint64_t)512 << 20)
#define GIB          ((double)(1 << 30))
#define RATE_NS      NSEC_PER_SEC
#define SINGLES      200u
#define LATENCIES    262144u /* kept of one round */
#define FILES        8192u
#define PAUSE_MS     50u

/* The kinds, in the order of metrics.def; each has a row for each way. */
enum kind { STREAM, STREAMS, NEW, LATENCY, SINGLE, CPU, IDLE, KINDS };

static enum metric metric_of(enum kind kind, enum path path)
{
    return METRIC_STREAM_DIRECT + kind * PATH_COUNT + path;
}

struct samples {
    double values[KINDS][ROUNDS];
    double *latency, *single; /* of all rounds */
    size_t latencies, singles;
};

static int measure_round(const struct way *way, struct samples *s, unsigned round)
{
    size_t count;

    bench_pause(PAUSE_MS);
    double cpu = way->pid ? peer_cpu_seconds(way) : 0;
    if (load_streams(way, 1, STREAM_BYTES, &s->values[STREAM][round]) < 0)
        return -1;
    if (way->pid)
        s->values[CPU][round] = (peer_cpu_seconds(way) - cpu) * GIB / (double)STREAM_BYTES;
    if (load_streams(way, LOAD_AT_ONCE, STREAM_BYTES, &s->values[STREAMS][round]) < 0 ||
        load_connections(way, RATE_NS, &s->values[NEW][round], s->latency + s->latencies, LATENCIES,
                         &count) < 0)
        return -1;
    s->latencies += count;
    s->values[STREAM][round] /= 1e6;
    s->values[STREAMS][round] /= 1e6;
    return 0;
}

static int measure_idle(const struct way *way, double *ret_mib)
{
    static int fds[LOAD_IDLE];
    unsigned opened = 0;
    double before = peer_rss_mib(way);

    while (opened < LOAD_IDLE && (fds[opened] = load_open(way, TARGET_ECHO)) >= 0)
        opened++;
    *ret_mib = peer_rss_mib(way) - before;
    for (unsigned i = 0; i < opened; i++)
        fd_close(fds[i]);
    return opened == LOAD_IDLE ? 0 : -1;
}

static void summarize(const struct bench *b, enum path path, struct samples *s, bool is_proxy)
{
    for (unsigned i = 0; i < s->latencies; i++)
        s->latency[i] /= 1e3;
    for (unsigned i = 0; i < s->singles; i++)
        s->single[i] /= 1e3;
    for (enum kind kind = STREAM; kind <= NEW; kind++)
        bench_summarize(s->values[kind], ROUNDS, &b->cells[metric_of(kind, path)]);
    bench_summarize(s->latency, (unsigned)s->latencies, &b->cells[metric_of(LATENCY, path)]);
    bench_summarize(s->single, (unsigned)s->singles, &b->cells[metric_of(SINGLE, path)]);
    if (is_proxy) {
        bench_summarize(s->values[CPU], ROUNDS, &b->cells[metric_of(CPU, path)]);
        bench_summarize(s->values[IDLE], 1, &b->cells[metric_of(IDLE, path)]);
    }
}

/* A peer that does not stand it is left out from there on; we and no proxy have to. */
static int give_up(enum path path, bool *there)
{
    there[path] = false;
    (void)bench_fail("%s could not be measured: %s", peer_name(path), load_trouble());
    return peer_package(path) ? 0 : -1;
}

/* One after the other, way by way: what the machine does meanwhile hits all alike. */
static int measure_singles(const struct way *ways, bool *there, struct samples *samples)
{
    for (unsigned i = 0; i < SINGLES * PATH_COUNT; i++) {
        unsigned which = i % PATH_COUNT;
        struct samples *s = &samples[which];

        if (there[which] && load_single(&ways[which], &s->single[s->singles++]) < 0 &&
            give_up(which, there) < 0)
            return -1;
    }
    return 0;
}

static int measure_ways(const struct way *ways, bool *there, struct samples *samples)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < PATH_COUNT; i++) {
            unsigned which = (round + i) % PATH_COUNT;

            if (there[which] && measure_round(&ways[which], &samples[which], round) < 0 &&
                give_up(which, there) < 0)
                return -1;
        }
        if (measure_singles(ways, there, samples) < 0)
            return -1;
    }
    for (unsigned i = 0; i < PATH_COUNT; i++)
        if (there[i] && ways[i].pid && measure_idle(&ways[i], &samples[i].values[IDLE][0]) < 0 &&
            give_up(i, there) < 0)
            return -1;
    return 0;
}

static int prepare(const struct bench *b, struct way *ways, bool *there, struct samples *samples)
{
    uint16_t servers[TARGET_COUNT];
    struct rlimit files;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = MIN_OF(files.rlim_max, (rlim_t)FILES);
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (load_serve(servers) < 0)
        return -1;
    load_set_targets(servers);
    for (unsigned i = 0; i < PATH_COUNT; i++) {
        int r = peer_start(b, i, servers, &ways[i]);

        samples[i].latency = calloc((size_t)ROUNDS * LATENCIES, sizeof(double));
        samples[i].single = calloc((size_t)ROUNDS * SINGLES, sizeof(double));
        if (r < 0 || !samples[i].latency || !samples[i].single)
            return -1;
        there[i] = r == 1;
        if (r == 0)
            (void)fprintf(stderr, "bench: %s is not there, left out (apt-get install %s)\n",
                          peer_name(i), peer_package(i));
    }
    return 0;
}

int proxy_measure(const struct bench *b)
{
    static struct way ways[PATH_COUNT];
    static struct samples samples[PATH_COUNT];
    static bool there[PATH_COUNT];
    int r = prepare(b, ways, there, samples);

    if (r == 0)
        r = measure_ways(ways, there, samples);
    for (unsigned i = 0; r == 0 && i < PATH_COUNT; i++)
        if (there[i])
            summarize(b, i, &samples[i], ways[i].pid != 0);
    for (unsigned i = 0; i < PATH_COUNT; i++)
        peer_stop(&ways[i]);
    return r;
}
