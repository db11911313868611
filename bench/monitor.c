/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the monitor costs a command: ordinary work in one sandbox that is watched and in one that is
 * not, in turns, and the worst case of nothing but small files. Under the normal scheduler: the
 * realtime one ignores the hint that who waits and who answers belong on one processor.
 */
#include "bench.h"

#include <string.h>

/* As many as it takes to tell 5 % from nothing; a round of all takes some seconds. */
#define MONITOR_RUNS_DIVISOR 4u
#define MONITOR_RUNS_MIN     11u

/* 20,000 files in a repository, a few sources, a package of 300 files, a thousand small files. */
static const char make_work[] =
    "set -e; mkdir repo c small; cd repo; git init -q .; "
    "for d in $(seq 200); do mkdir $d; (cd $d && seq 100 | split -l 1 -a 3 - f); done; "
    "git add -A; git -c user.name=b -c user.email=b@b commit -q -m all; cd ../c; "
    "for i in $(seq 16); do printf '#include <stdio.h>\\n#include <stdlib.h>\\nint f%d(int x)"
    " { return x * %d; }\\n' $i $i >f$i.c; done; "
    "printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\\n' >Makefile; "
    "mkdir ../npm ../npm/lib; cd ../npm/lib; "
    "echo '{\"name\":\"lib\",\"version\":\"1.0.0\"}' >package.json; "
    "for i in $(seq 300); do echo \"exports.x = $i\" >$i.js; done; "
    "cd ..; tar -czf lib.tgz --transform s,^lib,package, lib; rm -r lib; "
    "echo '{\"dependencies\":{\"lib\":\"file:lib.tgz\"}}' >package.json; "
    "cd ../small; seq 1000 | split -l 1 -a 3 - f";

/* Nothing is fetched: the package lies there, and what npm keeps it keeps there. */
#define NPM_INSTALL                                                                                \
    "cd npm && rm -rf node_modules && npm install --silent --offline --no-audit --no-fund "        \
    "--no-update-notifier --userconfig /dev/null --cache cache"

static const struct {
    enum metric off, on;
    const char *text;
} work[] = {
    { METRIC_WORK_GIT, METRIC_WATCHED_GIT, "cd repo && git status --porcelain" },
    { METRIC_WORK_GCC, METRIC_WATCHED_GCC, "cd c && gcc -c -o x.o f1.c" },
    { METRIC_WORK_MAKE, METRIC_WATCHED_MAKE, "cd c && make -s -B -j4" },
    { METRIC_WORK_NPM, METRIC_WATCHED_NPM, NPM_INSTALL },
    { METRIC_WORK_FIND, METRIC_WATCHED_FIND, "find / -xdev >/dev/null 2>&1; true" },
    { METRIC_WORK_FILES, METRIC_WATCHED_FILES, "cp -r small copy && rm -r copy" },
};

int monitor_measure(const struct bench *b)
{
    static struct args make, args[2 * ARRAY_LEN(work)];
    struct variant variants[2 * ARRAY_LEN(work)];
    unsigned rounds = MAX_OF(b->runs / MONITOR_RUNS_DIVISOR, MONITOR_RUNS_MIN);

    ARGS_ADD(&make, "/bin/sh", "-c", make_work);
    const struct variant once = { .args = &make, .cwd = b->place->project };
    if (bench_once(&once) < 0)
        return -1;
    for (unsigned i = 0; i < ARRAY_LEN(work); i++) {
        for (unsigned on = 0; on < 2; on++) {
            struct args *a = &args[2 * i + on];

            args_agentbox(a, b);
            ARGS_ADD(a, "-q", "--approve", "yes", "--monitor", on ? "full" : "off", "-c",
                     work[i].text);
            variants[2 * i + on] = (struct variant){ .metric = on ? work[i].on : work[i].off,
                                                     .args = a,
                                                     .cwd = b->place->project };
        }
    }
    return bench_interleave(b, variants, ARRAY_LEN(variants), rounds);
}
