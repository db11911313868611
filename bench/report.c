/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables, the targets, and the same as JSON, from metrics.def and targets.def.
 *
 * Everything printed is a number or a string of ours, but for bwrap's path, which is a fixed one
 * too; so nothing needs escaping. A value that was not measured is left out, and a target
 * without its numbers is "not measured", never "met".
 */
#include "bench.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

enum op { OP_RATIO, OP_EXTRA, OP_FLOORS, OP_VALUE };
enum stat { STAT_MIN, STAT_MEDIAN, STAT_P99 };
enum bound { BOUND_AT_MOST, BOUND_AT_LEAST };

static const struct {
    enum part part;
    enum unit unit;
    enum metric floor, bwrap;
    const char *id, *name;
} metrics[] = {
#define METRIC(id, part, unit, floor, bwrap, name)                                                 \
    { PART_##part, UNIT_##unit, METRIC_##floor, METRIC_##bwrap, #id, name },
#include "metrics.def"
#undef METRIC
};

struct target {
    enum metric metric, base;
    enum op op;
    enum stat stat;
    enum bound bound;
    double limit;
    const char *unit, *name;
};

static const struct target targets[] = {
#define TARGET(metric, op, base, stat, bound, limit, unit, name)                                   \
    { METRIC_##metric, METRIC_##base, OP_##op, STAT_##stat, BOUND_##bound, limit, unit, name },
#include "targets.def"
#undef TARGET
};

static const struct {
    const char *name, *title;
} parts[PART_COUNT] = {
    [PART_STARTUP] = { "startup", "start-up of /bin/true" },
    [PART_THROUGHPUT] = { "throughput", "8 at once" },
    [PART_MEMORY] = { "memory", "memory of one idle sandbox among many" },
    [PART_MASKS] = { "masks", "1,000 denied paths" },
    [PART_WALK] = { "walk", "a tree of many files" },
    [PART_CALLS] = { "calls", "calls inside a sandbox" },
    [PART_MONITOR] = { "monitor", "work that is watched" },
    [PART_CLASSIFY] = { "classify", "judging commands" },
    [PART_PROXY] = { "proxy", "the proxy, on loopback" },
};

static const char *const units[] = {
    [UNIT_MS] = "ms", [UNIT_PER_S] = "/s", [UNIT_KIB] = "KiB",   [UNIT_NS] = "ns",
    [UNIT_US] = "us", [UNIT_S] = "s",      [UNIT_MB_S] = "MB/s", [UNIT_MIB] = "MiB"
};
static const int decimals[] = { [UNIT_MS] = 3, [UNIT_PER_S] = 0, [UNIT_KIB] = 0,  [UNIT_NS] = 1,
                                [UNIT_US] = 1, [UNIT_S] = 3,     [UNIT_MB_S] = 0, [UNIT_MIB] = 1 };

const char *report_part_name(enum part part)
{
    return parts[part].name;
}

const char *report_who_name(enum who who)
{
    return who == WHO_ROOT ? "root" : "user";
}

static double stat_of(const struct summary *s, enum stat stat)
{
    return stat == STAT_MIN ? s->min : stat == STAT_P99 ? s->p99 : s->median;
}

/* 1 met, 0 missed, -1 not measured. */
static int judge(const struct target *t, const struct summary *cells, double *ret_value)
{
    const struct summary *of = &cells[t->metric];
    const struct summary *base = t->op == OP_VALUE ? of : &cells[t->base];

    if (of->n == 0 || base->n == 0 || stat_of(base, t->stat) <= 0)
        return -1;
    double a = stat_of(of, t->stat), b = stat_of(base, t->stat);
    switch (t->op) {
    case OP_RATIO:
        *ret_value = a / b;
        break;
    case OP_EXTRA:
        *ret_value = a - b;
        break;
    case OP_FLOORS:
        *ret_value = (a - b) / stat_of(&cells[METRIC_FLOOR], t->stat);
        break;
    case OP_VALUE:
        *ret_value = a;
    }
    return t->bound == BOUND_AT_MOST ? *ret_value <= t->limit : *ret_value >= t->limit;
}

static bool part_measured(const struct summary *cells, enum part part)
{
    for (unsigned i = 0; i < METRIC_COUNT; i++) {
        if (metrics[i].part == part && cells[i].n > 0)
            return true;
    }
    return false;
}

/* Rates and memory are compared by their medians as well, calls by their smallest values. */
static void print_ratio(const struct summary *cells, enum metric of, enum metric base)
{
    enum stat stat = metrics[of].part == PART_CALLS ? STAT_MIN : STAT_MEDIAN;

    if (base == METRIC_NONE || cells[base].n == 0 || stat_of(&cells[base], stat) <= 0)
        (void)printf(" %8s", "");
    else
        (void)printf(" %8.2f", stat_of(&cells[of], stat) / stat_of(&cells[base], stat));
}

static void print_part(const struct summary *cells, enum part part, enum who who)
{
    (void)printf("\n%s, as %s\n%-44s %5s %10s %10s %10s     %8s %8s\n", parts[part].title,
                 report_who_name(who), "", "n", "min", "median", "p99", "x floor", "x bwrap");
    for (unsigned i = 0; i < METRIC_COUNT; i++) {
        const struct summary *s = &cells[i];
        int d = decimals[metrics[i].unit];

        if (metrics[i].part != part || s->n == 0)
            continue;
        (void)printf("%-44s %5u %10.*f %10.*f %10.*f %-3s", metrics[i].name, s->n, d, s->min, d,
                     s->median, d, s->p99, units[metrics[i].unit]);
        print_ratio(cells, i, metrics[i].floor);
        print_ratio(cells, i, metrics[i].bwrap);
        (void)putchar('\n');
    }
}

static void print_target(const struct target *t, const struct summary *cells, enum who who)
{
    double value;
    int met = judge(t, cells, &value);

    (void)printf("target %s (%s) %s %.2f %s: ", t->name, report_who_name(who),
                 t->bound == BOUND_AT_MOST ? "<=" : ">=", t->limit, t->unit);
    if (met < 0)
        (void)puts("not measured");
    else
        (void)printf("%s (%.3f)\n", met ? "met" : "missed", value);
}

/* Who measured what decides which targets are asked for. */
static bool target_asked(const struct target *t, const struct table *table, enum who who)
{
    return part_measured(table->cells[who], metrics[t->metric].part);
}

static void print_load(void)
{
    double load[3];

    if (getloadavg(load, ARRAY_LEN(load)) == (int)ARRAY_LEN(load))
        (void)printf("load at the end: %.2f %.2f %.2f\n", load[0], load[1], load[2]);
}

void report_text(const struct bench *b, const struct table *t)
{
    struct utsname host;

    if (uname(&host) == 0)
        (void)printf("Linux %s %s, %ld processors\n", host.release, host.machine,
                     sysconf(_SC_NPROCESSORS_ONLN));
    (void)printf("bwrap: %s\n", b->bwrap ? b->bwrap : "not installed, so no ratios to it");
    (void)printf("directories: %s\n", b->tmpfs ? "a tmpfs" : "/var/tmp");
    (void)printf("start-up, masks and proxy: %s\n",
                 b->realtime ? "SCHED_RR" : "the normal scheduler");
    print_load();
    for (unsigned part = 0; part < PART_COUNT; part++) {
        for (unsigned who = 0; who < WHO_COUNT; who++) {
            if (part_measured(t->cells[who], part))
                print_part(t->cells[who], part, who);
        }
    }
    (void)putchar('\n');
    for (unsigned i = 0; i < ARRAY_LEN(targets); i++) {
        for (unsigned who = 0; who < WHO_COUNT; who++) {
            if (target_asked(&targets[i], t, who))
                print_target(&targets[i], t->cells[who], who);
        }
    }
}

static void json_metrics(const struct table *t)
{
    const char *comma = "";

    for (unsigned who = 0; who < WHO_COUNT; who++) {
        for (unsigned i = 0; i < METRIC_COUNT; i++) {
            const struct summary *s = &t->cells[who][i];

            if (s->n == 0)
                continue;
            (void)printf("%s{\"part\":\"%s\",\"title\":\"%s\",\"metric\":\"%s\",\"name\":\"%s\","
                         "\"as\":\"%s\",\"unit\":\"%s\",\"n\":%u,\"min\":%.4f,\"median\":%.4f,"
                         "\"p99\":%.4f}",
                         comma, parts[metrics[i].part].name, parts[metrics[i].part].title,
                         metrics[i].id, metrics[i].name, report_who_name(who),
                         units[metrics[i].unit], s->n, s->min, s->median, s->p99);
            comma = ",\n";
        }
    }
}

static void json_targets(const struct table *t)
{
    static const char *const words[] = { "null", "false", "true" };
    const char *comma = "";

    for (unsigned i = 0; i < ARRAY_LEN(targets); i++) {
        for (unsigned who = 0; who < WHO_COUNT; who++) {
            double value = 0;

            if (!target_asked(&targets[i], t, who))
                continue;
            int met = judge(&targets[i], t->cells[who], &value);
            (void)printf("%s{\"target\":\"%s\",\"as\":\"%s\",\"bound\":\"%s\",\"limit\":%.2f,"
                         "\"unit\":\"%s\",\"value\":",
                         comma, targets[i].name, report_who_name(who),
                         targets[i].bound == BOUND_AT_MOST ? "atMost" : "atLeast", targets[i].limit,
                         targets[i].unit);
            if (met < 0)
                (void)printf("null");
            else
                (void)printf("%.4f", value);
            (void)printf(",\"met\":%s}", words[met + 1]);
            comma = ",\n";
        }
    }
}

void report_json(const struct table *t)
{
    (void)printf("{\"metrics\":[");
    json_metrics(t);
    (void)printf("],\n\"targets\":[");
    json_targets(t);
    (void)puts("]}");
}
