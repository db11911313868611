/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark's own words. main.c makes the places, forks one measuring process for each part and
 * identity, and report.c prints what they left in the shared table. A function that can fail
 * returns 0, or -1 after it has said why on the standard error (bench_fail).
 */
#ifndef ABX_BENCH_BENCH_H
#define ABX_BENCH_BENCH_H

#include <stdio.h>
#include <sys/types.h>

#include "base/defs.h"

#define BENCH_PATH_MAX  256
#define BENCH_ARGS_MAX  4096
#define BENCH_RUNS_MAX  100000u
#define BENCH_IDLE_MAX  5000u
#define BENCH_FILES_MAX 2000000u
#define BENCH_WARM_UP   3u /* rounds that are run and not counted */
#define BENCH_AT_ONCE   8u
#define BENCH_MASKS     1000u
#define BENCH_DEPTH     10u
#define BENCH_USER      1001u /* the ordinary user that root measures as */

enum part {
    PART_STARTUP,
    PART_THROUGHPUT,
    PART_MEMORY,
    PART_MASKS,
    PART_WALK,
    PART_CALLS,
    PART_CLASSIFY,
    PART_PROXY,
    PART_MONITOR,
    PART_COUNT
};
enum unit { UNIT_MS, UNIT_PER_S, UNIT_KIB, UNIT_NS, UNIT_US, UNIT_S, UNIT_MB_S, UNIT_MIB };
enum who { WHO_ROOT, WHO_USER, WHO_COUNT };

enum metric {
#define METRIC(id, part, unit, floor, bwrap, name) METRIC_##id,
#include "metrics.def"
#undef METRIC
    METRIC_COUNT,
    METRIC_NONE = METRIC_COUNT,
};

/* In the metric's unit. n == 0: not measured. */
struct summary {
    unsigned n;
    double min, median, p99;
};

/* Shared with the measuring processes. */
struct table {
    struct summary cells[WHO_COUNT][METRIC_COUNT];
};

/* One identity's directories. */
struct place {
    char home[BENCH_PATH_MAX];    /* fresh and empty */
    char project[BENCH_PATH_MAX]; /* empty */
    char repo[BENCH_PATH_MAX];    /* after `git init` */
    char masks[BENCH_PATH_MAX];   /* BENCH_MASKS files: 0000, 0001, … */
    char calls[BENCH_PATH_MAX];   /* only what leads to deep */
    char deep[BENCH_PATH_MAX];    /* a file whose path has BENCH_DEPTH components */
};

struct bench {
    char agentbox[BENCH_PATH_MAX], probe[BENCH_PATH_MAX]; /* copies that every user can execute */
    const char *bwrap;                                    /* NULL: not there */
    unsigned runs, idle, files;
    char tree[BENCH_PATH_MAX]; /* of so many files, the same for all */
    bool realtime;             /* start-up is measured under SCHED_RR */
    bool tmpfs;                /* the places are on one of our own */
    struct place places[WHO_COUNT];
    const struct place *place; /* of the measuring process */
    struct summary *cells;     /* likewise */
};

/* ---- measure.c ---- */

int bench_fail(const char *fmt, ...) ATTR_PRINTF(1, 2);
int64_t bench_now(void);         /* monotonic nanoseconds */
void bench_pause(unsigned msec); /* lets the last one's teardown end */
/* Sorts the values. */
void bench_summarize(double *values, unsigned n, struct summary *ret);

/* An argument vector; what is added must outlive it. */
struct args {
    const char *v[BENCH_ARGS_MAX]; /* NULL-terminated */
    size_t n;
};
void args_add(struct args *a, const char *const *words); /* until NULL; aborts when full */
#define ARGS_ADD(a, ...) args_add((a), (const char *const[]){ __VA_ARGS__, NULL })
/*
 * The beginning of a sandboxed run; the command is still to be added. bwrap gets the profile that
 * is closest to our default policy: all read-only but cwd, /tmp, /dev and /proc of its own, no
 * network.
 */
void args_bwrap(struct args *a, const struct bench *b, const char *cwd);
void args_agentbox(struct args *a, const struct bench *b);

/* vfork and exec, output to out (-1: as ours). The child does not outlive the calling thread. */
pid_t bench_launch(const struct args *a, int out);
int bench_wait(const struct args *a, pid_t pid); /* -1 unless it ends with 0 */

/* One way to run something once. */
struct variant {
    enum metric metric;
    const struct args *args; /* NULL: call */
    int (*call)(void *user);
    void *user;
    const char *cwd;
};
int bench_once(const struct variant *variant); /* not counted */
/* All of them interleaved, the order rotated each round; NULL args and call: left out. */
int bench_interleave(const struct bench *b, const struct variant *variants, unsigned count,
                     unsigned rounds);

/* ---- place.c ---- */

/* Makes all places below dir; owners are set where the caller is root. Clears b->tmpfs if it must.
 */
int place_make(struct bench *b, const char *dir, bool root);
int place_copy(const char *from, const char *to);
void place_remove(const char *dir);

/* ---- the parts ---- */

int startup_measure(const struct bench *b);
int throughput_measure(const struct bench *b);
int memory_measure(const struct bench *b);
int masks_measure(const struct bench *b);
int walk_make(struct bench *b, const char *dir);
int walk_measure(const struct bench *b);
int calls_measure(const struct bench *b);
int classify_measure(const struct bench *b);
int monitor_measure(const struct bench *b); /* last: it leaves files in the project */
int proxy_measure(const struct bench *b);

/* ---- report.c ---- */

const char *report_part_name(enum part part);
const char *report_who_name(enum who who);
void report_text(const struct bench *b, const struct table *t);
void report_json(const struct table *t);

#endif
