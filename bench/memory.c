/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of an idle sandbox: what the whole machine has less while so many of them sleep, divided
 * by their number. Counted is all of it: processes, page tables, namespaces, mounts.
 *
 * Used is the sum of the kernel's own counters of what is not cache: slab, page tables and kernel
 * stacks, anonymous and tmpfs pages, per-processor memory. What MemAvailable went down by is
 * printed beside it and not judged: it counts the dentries and inodes of living mounts as
 * available, and it moves with everybody's page cache. /proc/meminfo is the machine's, so somebody
 * else's compiler is in both; hence several rounds and the median.
 *
 * Each command writes one byte when it runs, and all hold the write end of that pipe: the bytes say
 * that all are there, the pipe's end says that nothing of them is left, whoever had to be killed.
 */
#include "library.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define ROUNDS       3u
#define WAYS         4u
#define WAIT_MS      120000
#define SETTLE_MS    250u
#define SETTLE_MAX   120u  /* times SETTLE_MS */
#define SETTLE_KIB   1024L /* two looks that differ by less: nothing goes on */
#define SETTLE_LOOKS 8u    /* as many in a row: the machine is quiet */
#define MEMINFO_MAX  8192

#define IDLE_COMMAND "/bin/sh", "-c", "printf .; exec sleep 1000"

enum { USED, SLAB, TABLES, ANON, PERCPU, AVAILABLE, COLUMNS };

struct meminfo {
    double kib[COLUMNS]; /* AVAILABLE: negated, so that all grow with what is used */
};

static double field(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtod(at + strlen(name), NULL) : 0;
}

static int meminfo_read(struct meminfo *ret)
{
    char text[MEMINFO_MAX];
    _fd_ int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (n < 0)
        return bench_fail("read /proc/meminfo: %s", strerror(errno));
    text[n] = '\0';
    ret->kib[SLAB] = field(text, "\nSlab:");
    ret->kib[TABLES] = field(text, "\nPageTables:") + field(text, "\nKernelStack:");
    ret->kib[ANON] = field(text, "\nAnonPages:") + field(text, "\nShmem:");
    ret->kib[PERCPU] = field(text, "\nPercpu:");
    ret->kib[AVAILABLE] = -field(text, "\nMemAvailable:");
    ret->kib[USED] = ret->kib[SLAB] + ret->kib[TABLES] + ret->kib[ANON] + ret->kib[PERCPU];
    return 0;
}

struct way {
    enum metric first;
    const struct args *args; /* NULL: left out */
    bool library;            /* one process starts all of them */
};

static double values[WAYS][ROUNDS][COLUMNS];

/*
 * The machine's memory once it has come to rest, or after SETTLE_MAX looks. One quiet moment is not
 * rest: five hundred network namespaces are taken down by one worker, in batches, and what it has
 * not yet freed of those before would be found free by those that are measured.
 */
static int meminfo_settled(struct meminfo *ret)
{
    double last;

    if (meminfo_read(ret) < 0)
        return -1;
    for (unsigned i = 0, quiet = 0; i < SETTLE_MAX && quiet < SETTLE_LOOKS; i++) {
        last = ret->kib[USED];
        bench_pause(SETTLE_MS);
        if (meminfo_read(ret) < 0)
            return -1;
        double change = ret->kib[USED] - last;
        quiet = change < SETTLE_KIB && change > -SETTLE_KIB ? quiet + 1 : 0;
    }
    return 0;
}

/* Reads count bytes, or until the end if count is 0. */
static int await(int fd, size_t count)
{
    int64_t deadline = bench_now() + WAIT_MS * NSEC_PER_MSEC;
    size_t seen = 0;
    char bytes[256];

    for (;;) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        int64_t left = (deadline - bench_now()) / NSEC_PER_MSEC;

        if (left <= 0 || poll(&p, 1, (int)left) <= 0)
            return bench_fail("only %zu of the idle commands were heard of", seen);
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n <= 0)
            return n == 0 && count == 0 ? 0 : bench_fail("the idle commands ended");
        seen += (size_t)n;
        if (count > 0 && seen >= count)
            return 0;
    }
}

/* In a process of its own: all of them are its sandboxes, until it is killed. */
static ATTR_NORETURN void be_library_host(unsigned count, int out)
{
    static const char *const argv[] = { IDLE_COMMAND, NULL };
    struct rlimit files;
    abx_manager *manager;
    abx_process *process;
    abx_command *command;
    abx_error *err = NULL;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    if (library_manager(&manager) < 0)
        _exit(1);
    for (unsigned i = 0; i < count; i++) {
        if (abx_command_new(argv, &command, &err) != ABX_OK ||
            abx_command_set_stdio(command, STDIN_FILENO, ABX_STDIO_NULL, -1, &err) != ABX_OK ||
            abx_command_set_stdio(command, STDOUT_FILENO, ABX_STDIO_FD, out, &err) != ABX_OK ||
            abx_manager_spawn(manager, command, &process, &err) != ABX_OK)
            _exit(library_failed("spawn", err) < 0);
        abx_command_free(command);
    }
    (void)close(out);
    for (;;)
        (void)pause();
}

static pid_t launch(const struct way *way, unsigned count, int out)
{
    if (!way->library)
        return bench_launch(way->args, out);
    const pid_t pid = fork();

    if (pid == 0)
        be_library_host(count, out);
    return pid;
}

/* All of them: started, there, measured; pids are those that the caller has to end. */
static int hold(const struct way *way, unsigned count, const int pipe_fds[2], pid_t *pids,
                unsigned *ret_started, struct meminfo *ret)
{
    const char *name = way->args->v[0];
    const unsigned launches = way->library ? 1 : count;

    for (; *ret_started < launches; ++*ret_started) {
        pids[*ret_started] = launch(way, count, pipe_fds[1]);
        if (pids[*ret_started] < 0)
            return bench_fail("start '%s': %s", name, strerror(errno));
    }
    if (await(pipe_fds[0], count) < 0 || meminfo_settled(ret) < 0)
        return -1;
    for (unsigned i = 0; i < launches; i++) {
        if (waitpid(pids[i], NULL, WNOHANG) != 0)
            return bench_fail("'%s' ended while it should be idle", name);
    }
    return 0;
}

static int measure_one(const struct way *way, unsigned count, pid_t *pids, double ret[COLUMNS])
{
    struct meminfo before, during;
    unsigned started = 0;
    int ends[2];

    if (meminfo_settled(&before) < 0)
        return -1;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return bench_fail("pipe: %s", strerror(errno));
    _fd_ int in = ends[0];
    _fd_ int out = ends[1];
    int r = hold(way, count, ends, pids, &started, &during);
    for (unsigned i = 0; i < started; i++)
        (void)kill(pids[i], SIGKILL);
    for (unsigned i = 0; i < started; i++)
        (void)waitpid(pids[i], NULL, 0);
    fd_close(TAKE_FD(out));
    if (r < 0 || await(in, 0) < 0)
        return -1;
    for (unsigned i = 0; i < COLUMNS; i++)
        ret[i] = (during.kib[i] - before.kib[i]) / count;
    return 0;
}

/* The columns are metrics in a row. */
static void summarize_way(const struct bench *b, enum metric first, double rounds[ROUNDS][COLUMNS])
{
    for (unsigned column = 0; column < COLUMNS; column++) {
        double values_of[ROUNDS];

        for (unsigned round = 0; round < ROUNDS; round++)
            values_of[round] = rounds[round][column];
        bench_summarize(values_of, ROUNDS, &b->cells[first + column]);
    }
}

int memory_measure(const struct bench *b)
{
    static struct args plain, bwrap, ours;
    static pid_t pids[BENCH_IDLE_MAX];
    const char *project = b->place->project;
    const struct way ways[WAYS] = {
        { .first = METRIC_MEM_PLAIN, .args = &plain },
        { .first = METRIC_MEM_BWRAP, .args = b->bwrap ? &bwrap : NULL },
        { .first = METRIC_MEM_RUN, .args = &ours },
        { .first = METRIC_MEM_LIB, .args = &ours, .library = true },
    };

    if (b->bwrap)
        args_bwrap(&bwrap, b, project);
    args_agentbox(&ours, b);
    ARGS_ADD(&ours, "--");
    ARGS_ADD(&plain, IDLE_COMMAND);
    ARGS_ADD(&bwrap, IDLE_COMMAND);
    ARGS_ADD(&ours, IDLE_COMMAND);
    if (chdir(project) < 0)
        return bench_fail("chdir '%s': %s", project, strerror(errno));

    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < WAYS; i++) {
            unsigned which = (round + i) % WAYS;

            if (ways[which].args &&
                measure_one(&ways[which], b->idle, pids, values[which][round]) < 0)
                return -1;
        }
    }
    for (unsigned i = 0; i < WAYS; i++) {
        if (ways[i].args)
            summarize_way(b, ways[i].first, values[i]);
    }
    return 0;
}
