/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock, the starting of programs and the interleaving that all parts share.
 *
 * Start-up is timed from before vfork to after waitpid, so a sandbox's teardown counts as far as
 * its caller has to wait for it. Between two measurements there is a pause, the same for all, so
 * that what the kernel still clears away behind one (network namespaces above all) does not slow
 * the next. Each round runs every variant once, in an order of its own: a neighbour's burst then
 * hits all of them alike, and none always comes after the one that leaves the most behind.
 *
 * A run that does not end with status 0 makes the whole part fail: a refusal is quick, and must not
 * be taken for speed.
 */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_MS           2u
#define BENCH_MAX_VARIANTS 32

int bench_fail(const char *fmt, ...)
{
    va_list args;

    (void)fputs("bench: ", stderr);
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return -1;
}

int64_t bench_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

void bench_pause(unsigned msec)
{
    struct timespec left = { .tv_sec = msec / 1000, .tv_nsec = msec % 1000 * NSEC_PER_MSEC };

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        continue;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void bench_summarize(double *values, unsigned n, struct summary *ret)
{
    if (n == 0)
        return;
    qsort(values, n, sizeof *values, compare);
    *ret = (struct summary){
        .n = n,
        .min = values[0],
        .median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2,
        .p99 = values[(n * 99 + 99) / 100 - 1],
    };
}

void args_add(struct args *a, const char *const *words)
{
    for (; *words; words++) {
        if (a->n + 1 >= BENCH_ARGS_MAX)
            abort();
        a->v[a->n++] = *words;
    }
    a->v[a->n] = NULL;
}

void args_bwrap(struct args *a, const struct bench *b, const char *cwd)
{
    ARGS_ADD(a, b->bwrap, "--ro-bind", "/", "/", "--bind", cwd, cwd, "--tmpfs", "/tmp");
    ARGS_ADD(a, "--proc", "/proc", "--dev", "/dev", "--unshare-all", "--die-with-parent");
    ARGS_ADD(a, "--chdir", cwd);
}

void args_agentbox(struct args *a, const struct bench *b)
{
    ARGS_ADD(a, b->agentbox, "run", "--network", "blocked");
}

/* Of its own, so that nothing of a caller lives in registers across the vfork. */
__attribute__((noinline)) pid_t bench_launch(const struct args *a, int out)
{
    pid_t pid = vfork();

    if (pid != 0)
        return pid;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || (out >= 0 && dup2(out, STDOUT_FILENO) < 0))
        _exit(127);
    (void)execv(a->v[0], (char *const *)(uintptr_t)a->v);
    _exit(127);
}

int bench_wait(const struct args *a, pid_t pid)
{
    int status;

    if (pid < 0)
        return bench_fail("start '%s': %s", a->v[0], strerror(errno));
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return bench_fail("wait for '%s': %s", a->v[0], strerror(errno));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return bench_fail("'%s' ended with wait status 0x%04x", a->v[0], (unsigned)status);
    return 0;
}

static int run_once(const struct variant *v, double *ret_ms)
{
    if (chdir(v->cwd) < 0)
        return bench_fail("chdir '%s': %s", v->cwd, strerror(errno));
    bench_pause(PAUSE_MS);

    int64_t start = bench_now();
    int r = v->args ? bench_wait(v->args, bench_launch(v->args, -1)) : v->call(v->user);
    *ret_ms = (double)(bench_now() - start) / NSEC_PER_MSEC;
    return r;
}

int bench_once(const struct variant *v)
{
    double ms;

    return run_once(v, &ms);
}

/* Another order of the same numbers; the same ones in every run of the program. */
static void shuffle(unsigned *order, unsigned count, uint64_t *state)
{
    for (unsigned i = count; i > 1; i--) {
        *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
        unsigned other = (unsigned)((*state >> 33) % i), moved = order[other];
        order[other] = order[i - 1];
        order[i - 1] = moved;
    }
}

static int rounds_run(const struct variant *variants, unsigned count, unsigned rounds,
                      double *samples)
{
    unsigned order[BENCH_MAX_VARIANTS];
    uint64_t state = 1;

    if (count > ARRAY_LEN(order))
        return bench_fail("too many variants");
    for (unsigned i = 0; i < count; i++)
        order[i] = i;
    for (unsigned round = 0; round < rounds + BENCH_WARM_UP; round++) {
        shuffle(order, count, &state);
        for (unsigned i = 0; i < count; i++) {
            unsigned which = order[i];
            double ms = 0;

            if (!variants[which].args && !variants[which].call)
                continue;
            if (run_once(&variants[which], &ms) < 0)
                return -1;
            if (round >= BENCH_WARM_UP)
                samples[(size_t)which * rounds + round - BENCH_WARM_UP] = ms;
        }
    }
    return 0;
}

int bench_interleave(const struct bench *b, const struct variant *variants, unsigned count,
                     unsigned rounds)
{
    double *samples = calloc((size_t)count * rounds, sizeof *samples);

    if (!samples)
        return bench_fail("out of memory");
    int r = rounds_run(variants, count, rounds, samples);
    for (unsigned i = 0; r == 0 && i < count; i++) {
        if (variants[i].args || variants[i].call)
            bench_summarize(samples + (size_t)i * rounds, rounds, &b->cells[variants[i].metric]);
    }
    free(samples);
    return r;
}
