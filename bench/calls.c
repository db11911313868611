/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sandbox costs once it stands: bench-probe times a call that the filter allows and an
 * open at depth ten, outside and inside, in turns. Its output is one line of two numbers. The
 * smallest of all rounds is what is compared: noise only ever adds. Then git, wrapped by its guard,
 * beside a copy of it that is not, in one run.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define ROUNDS    15u
#define LINE_SIZE 128

static void read_line(int fd, char line[static LINE_SIZE])
{
    size_t len = 0;

    for (;;) {
        ssize_t n = read(fd, line + len, LINE_SIZE - 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    line[len] = '\0';
}

static int probe(const struct args *a, double *ret_call, double *ret_open)
{
    char line[LINE_SIZE];
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return bench_fail("pipe: %s", strerror(errno));
    _fd_ int in = ends[0];
    _fd_ int out = ends[1];
    pid_t pid = bench_launch(a, out);
    fd_close(TAKE_FD(out));
    read_line(in, line);
    if (bench_wait(a, pid) < 0)
        return -1;
    if (sscanf(line, "%lf %lf", ret_call, ret_open) != 2)
        return bench_fail("the probe said '%s'", line);
    return 0;
}

#define GIT_ROUNDS 5u
#define GIT        "/usr/bin/git"

static int git_measure(const struct bench *b)
{
    static struct args git;
    static double values[2][GIT_ROUNDS];
    static char raw[2 * BENCH_PATH_MAX];
    static const enum metric metrics[] = { METRIC_GIT_RAW, METRIC_GIT_WRAPPED };

    (void)snprintf(raw, sizeof raw, "%s/raw-git", b->place->home);
    if (place_copy(GIT, raw) < 0)
        return -1;
    args_agentbox(&git, b);
    ARGS_ADD(&git, "--cmd", "git=@git", "--", b->probe, raw, GIT, "-C", b->place->repo, "status");
    for (unsigned i = 0; i < GIT_ROUNDS; i++)
        if (probe(&git, &values[0][i], &values[1][i]) < 0)
            return -1;
    for (unsigned i = 0; i < ARRAY_LEN(metrics); i++)
        bench_summarize(values[i], GIT_ROUNDS, &b->cells[metrics[i]]);
    return 0;
}

int calls_measure(const struct bench *b)
{
    static struct args outside, inside;
    static double values[4][ROUNDS];
    static const enum metric metrics[] = { METRIC_CALL_OUTSIDE, METRIC_OPEN_OUTSIDE,
                                           METRIC_CALL_INSIDE, METRIC_OPEN_INSIDE };

    ARGS_ADD(&outside, b->probe, b->place->deep);
    args_agentbox(&inside, b);
    ARGS_ADD(&inside, "--", b->probe, b->place->deep);
    if (chdir(b->place->calls) < 0)
        return bench_fail("chdir '%s': %s", b->place->calls, strerror(errno));

    for (unsigned i = 0; i < ROUNDS; i++) {
        if (probe(&outside, &values[0][i], &values[1][i]) < 0 ||
            probe(&inside, &values[2][i], &values[3][i]) < 0)
            return -1;
    }
    for (unsigned i = 0; i < ARRAY_LEN(metrics); i++)
        bench_summarize(values[i], ROUNDS, &b->cells[metrics[i]]);
    return git_measure(b);
}
