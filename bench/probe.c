/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-probe FILE: how long getppid, and open and close of FILE, take; the smallest of a few
 * batches, in nanoseconds a call, on one line. Static and without dependencies, so that it is the
 * same program inside the sandbox and outside.
 *
 * bench-probe PROGRAM PROGRAM ARG…: how long each of the two takes with these arguments, in turns;
 * the smallest, likewise.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCHES    5
#define CALLS      10000
#define OPENS      2000
#define PROGRAMS   60
#define BENCH_NSEC 1000000000.0

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * BENCH_NSEC + (double)t.tv_nsec;
}

static int time_calls(const char *path, double *ret_ns)
{
    (void)path;
    double start = now();

    for (int i = 0; i < CALLS; i++)
        (void)syscall(SYS_getppid);
    *ret_ns = (now() - start) / CALLS;
    return 0;
}

static int time_opens(const char *path, double *ret_ns)
{
    double start = now();

    for (int i = 0; i < OPENS; i++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || close(fd) < 0)
            return -1;
    }
    *ret_ns = (now() - start) / OPENS;
    return 0;
}

static int smallest(int (*time_batch)(const char *, double *), const char *path, double *ret_ns)
{
    double best = -1, ns;

    for (int i = 0; i < BATCHES; i++) {
        if (time_batch(path, &ns) < 0)
            return -1;
        if (best < 0 || ns < best)
            best = ns;
    }
    *ret_ns = best;
    return 0;
}

static int time_program(const char *program, char **argv, double *best)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    double start = now();
    int r = posix_spawn(&pid, program, &actions, NULL, argv, environ);
    if (r == 0 && (waitpid(pid, &status, 0) != pid || status != 0))
        r = -1;
    double ns = now() - start;
    (void)posix_spawn_file_actions_destroy(&actions);
    if (*best < 0 || ns < *best)
        *best = ns;
    return r;
}

/* argv[2] becomes argv[0] of both. */
static int compare_programs(char **argv)
{
    double best[2] = { -1, -1 };

    for (int i = 0; i < 2 * PROGRAMS; i++)
        if (time_program(argv[1 + i % 2], argv + 2, &best[i % 2]) != 0) {
            (void)fputs("bench-probe: the program failed\n", stderr);
            return 1;
        }
    (void)printf("%.0f %.0f\n", best[0], best[1]);
    return fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    double call_ns, open_ns;

    if (argc > 3)
        return compare_programs(argv);

    if (argc != 2 || smallest(time_calls, argv[1], &call_ns) < 0 ||
        smallest(time_opens, argv[1], &open_ns) < 0) {
        (void)fputs("bench-probe: the file cannot be opened\n", stderr);
        return 1;
    }
    (void)printf("%.2f %.2f\n", call_ns, open_ns);
    return fflush(stdout) == 0 ? 0 : 1;
}
