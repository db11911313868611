/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part `proxy`, as its four files see it: proxy.c leads, proxy_lane.c measures one way,
 * proxy_load.c is both ends of the connections, proxy_peers.c starts the proxies.
 */
#ifndef ABX_BENCH_PROXY_H
#define ABX_BENCH_PROXY_H

#include "bench.h"

#define LOAD_AT_ONCE 64u
#define LOAD_IDLE    1000u

#define LANE_ROUNDS    5u
#define LANE_SINGLES   200u    /* a round */
#define LANE_LATENCIES 262144u /* kept of one round */

/* The order of the rows in metrics.def. */
enum path {
    PATH_DIRECT,
    PATH_OURS,
    PATH_OURS_SOCKS,
    PATH_HAPROXY,
    PATH_SQUID,
    PATH_TINYPROXY,
    PATH_DANTE,
    PATH_MICROSOCKS,
    PATH_COUNT
};

enum speech { SPEECH_NONE, SPEECH_CONNECT, SPEECH_SOCKS5 };
enum target { TARGET_SINK, TARGET_ECHO, TARGET_COUNT };

/* A way to the two servers. */
struct way {
    enum speech speech;
    uint16_t ports[TARGET_COUNT]; /* where a client connects to */
    pid_t pid;                    /* of the proxy; 0: there is none */
};

/* ---- proxy_lane.c ---- */

/* What one way has shown, in shared memory. */
struct lane_samples {
    double stream[LANE_ROUNDS], streams[LANE_ROUNDS]; /* MB/s */
    double rate[LANE_ROUNDS];                         /* connections/s */
    double cpu[LANE_ROUNDS];                          /* s/GiB */
    double idle;                                      /* MiB */
    double latency[LANE_ROUNDS * LANE_LATENCIES], single[LANE_ROUNDS * LANE_SINGLES]; /* ns */
    size_t latencies, singles;
};

struct lane {
    pid_t pid;
    int control; /* -1: it is closed */
};

enum lane_task { LANE_WARM_UP, LANE_SINGLE, LANE_LOAD, LANE_IDLE };

/* 1: it is ready; 0: its proxy is not installed; -1: failed. The last two have been said. */
int lane_open(const struct bench *b, enum path path, struct lane_samples *samples,
              struct lane *ret);
int lane_do(const struct lane *lane, enum lane_task task, unsigned round);
void lane_close(struct lane *lane);

/* ---- proxy_load.c ---- */

/* The servers, in a process that ends with this one. */
int load_serve(uint16_t ret_ports[static TARGET_COUNT]);
void load_set_targets(const uint16_t ports[static TARGET_COUNT]); /* the servers' own */
uint16_t load_free_port(void);                                    /* 0: none */
/* Why the last of the following failed; all return 0 (or a descriptor) or -1. */
const char *load_trouble(void);
/* A connection, through the way's proxy. */
int load_open(const struct way *way, enum target target);
/* Bytes per second of so many streams that share `bytes`. */
int load_streams(const struct way *way, unsigned streams, uint64_t bytes, double *ret);
/*
 * Connections that carry one byte there and back, LOAD_AT_ONCE at a time, for so long: how many a
 * second, and how many nanoseconds each took, in latencies (at most room of them; *ret_count).
 */
int load_connections(const struct way *way, int64_t duration, double *ret_rate, double *latencies,
                     size_t room, size_t *ret_count);
int load_single(const struct way *way, double *ret_ns);

/* ---- proxy_peers.c ---- */

const char *peer_name(enum path path);
const char *peer_package(enum path path); /* NULL: none of the peers */
/* 1: it serves; 0: it is not installed; -1: failed. */
int peer_start(const struct bench *b, enum path path, const uint16_t servers[static TARGET_COUNT],
               struct way *ret);
void peer_stop(struct way *way);
/* Of the proxy and its children. */
double peer_cpu_seconds(const struct way *way);
double peer_rss_mib(const struct way *way);

#endif
