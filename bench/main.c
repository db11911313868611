/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench [OPTION…] [PART…]: measures, prints tables and how they stand against the targets.
 *
 * Every part runs in a process of its own that has become who it measures as (as root: root, then
 * the user BENCH_USER; otherwise the caller), with an environment of three variables, a fresh HOME
 * and its streams on /dev/null. Results come back in a shared mapping. Progress and errors go to
 * the standard error, results to the standard output. It ends with 0 when everything could be
 * measured, whether or not the targets were met: on a busy machine that is for a person to judge.
 *
 * This is the one program of ours that forks without exec, before it has threads or library
 * objects.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/opt.h"

#define BWRAP_PATH "/usr/bin/bwrap"

#define RT_PRIORITY 5

enum { OPT_RUNS, OPT_IDLE, OPT_FILES, OPT_AS, OPT_NORMAL, OPT_DISK, OPT_JSON, OPT_HELP };

static const struct opt_spec specs[] = {
    { OPT_RUNS, 'n', "runs", "N", "Runs of each kind (120)." },
    { OPT_IDLE, 0, "idle", "N", "Idle sandboxes at once (500)." },
    { OPT_FILES, 0, "files", "N", "Files in the tree of the walk (30,000)." },
    { OPT_AS, 0, "as", "root|user", "Measure as one of the two only." },
    { OPT_NORMAL, 0, "normal", NULL, "Start-up under the normal scheduler, also as root." },
    { OPT_DISK, 0, "disk", NULL, "All directories on the disk (/var/tmp), also as root." },
    { OPT_JSON, 0, "json", NULL, "Results as JSON." },
    { OPT_HELP, 'h', "help", NULL, "This text." },
};

static int (*const measure[PART_COUNT])(const struct bench *) = {
    [PART_STARTUP] = startup_measure, [PART_THROUGHPUT] = throughput_measure,
    [PART_MEMORY] = memory_measure,   [PART_MASKS] = masks_measure,
    [PART_WALK] = walk_measure,       [PART_CALLS] = calls_measure,
    [PART_MONITOR] = monitor_measure, [PART_CLASSIFY] = classify_measure,
    [PART_PROXY] = proxy_measure,
};

struct choice {
    bool parts[PART_COUNT], who[WHO_COUNT];
    bool json, help;
};

static int parse_number(const char *text, unsigned max, unsigned *ret)
{
    char *end;

    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (errno || *end || end == text || n < 1 || n > max)
        return bench_fail("'%s' is no number from 1 to %u", text, max);
    *ret = (unsigned)n;
    return 0;
}

static int parse_who(const char *text, struct choice *choice)
{
    bool found = false;

    for (unsigned who = 0; who < WHO_COUNT; who++) {
        choice->who[who] = choice->who[who] && strcmp(text, report_who_name(who)) == 0;
        found = found || choice->who[who];
    }
    return found ? 0 : bench_fail("cannot measure as '%s' here", text);
}

static int parse_parts(const struct opt *o, struct choice *choice)
{
    for (unsigned part = 0; part < PART_COUNT; part++)
        choice->parts[part] = o->next == o->argc;
    for (int i = o->next; i < o->argc; i++) {
        bool found = false;

        for (unsigned part = 0; part < PART_COUNT; part++) {
            if (strcmp(o->argv[i], report_part_name(part)) == 0)
                choice->parts[part] = found = true;
        }
        if (!found)
            return bench_fail("no part '%s'", o->argv[i]);
    }
    return 0;
}

static int parse(int argc, char **argv, struct bench *b, struct choice *choice)
{
    struct opt o;
    int id, r = 0;

    opt_init(&o, specs, ARRAY_LEN(specs), argc - 1, argv + 1, OPT_STOP_AT_OPERAND);
    while (r == 0 && (id = opt_next(&o)) != OPT_END) {
        switch (id) {
        case OPT_RUNS:
            r = parse_number(o.value, BENCH_RUNS_MAX, &b->runs);
            break;
        case OPT_IDLE:
            r = parse_number(o.value, BENCH_IDLE_MAX, &b->idle);
            break;
        case OPT_FILES:
            r = parse_number(o.value, BENCH_FILES_MAX, &b->files);
            break;
        case OPT_AS:
            r = parse_who(o.value, choice);
            break;
        case OPT_NORMAL:
            b->realtime = false;
            break;
        case OPT_DISK:
            b->tmpfs = false;
            break;
        case OPT_JSON:
            choice->json = true;
            break;
        case OPT_HELP:
            choice->help = true;
            break;
        default:
            r = bench_fail("wrong use of '%s%.*s'", o.dashes, (int)o.name_len, o.name);
        }
    }
    return r < 0 ? r : parse_parts(&o, choice);
}

static int print_help(void)
{
    _buf_ struct buf text;

    buf_init(&text, 1 << 16);
    if (opt_help(&text, specs, ARRAY_LEN(specs), 80) < 0)
        return bench_fail("out of memory");
    (void)puts("usage: bench [OPTION…] [PART…]");
    (void)printf("parts, without any all of them:");
    for (unsigned part = 0; part < PART_COUNT; part++)
        (void)printf(" %s", report_part_name(part));
    (void)printf("\n\n%s", text.data);
    return 0;
}

/* Start-up goes through a dozen wake-ups; neighbours that get in between are not what we measure.
 */
static bool set_realtime(void)
{
    const struct sched_param param = { .sched_priority = RT_PRIORITY };

    return sched_setscheduler(0, SCHED_RR, &param) == 0;
}

/* Root of a container may not have the right. Asked in a process that is thrown away. */
static bool can_realtime(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(set_realtime() ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int become(enum who who)
{
    if (who == WHO_ROOT || geteuid() != 0)
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(BENCH_USER, BENCH_USER, BENCH_USER) < 0 ||
        setresuid(BENCH_USER, BENCH_USER, BENCH_USER) < 0)
        return bench_fail("become user %u: %s", BENCH_USER, strerror(errno));
    /* As after the exec that a login has: else our own /proc files would be root's. */
    return prctl(PR_SET_DUMPABLE, 1) < 0 ? bench_fail("prctl: %s", strerror(errno)) : 0;
}

/* Errors of ours and of what we start still go to the real standard error. */
static int clean_process(const struct place *place)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        return bench_fail("/dev/null: %s", strerror(errno));
    (void)close(null);
    (void)umask(022);
    (void)signal(SIGINT, SIG_DFL);
    if (clearenv() != 0 || setenv("PATH", "/usr/bin:/bin", 1) < 0 ||
        setenv("HOME", place->home, 1) < 0 || setenv("LANG", "C", 1) < 0)
        return bench_fail("out of memory");
    return 0;
}

static int measure_part(struct bench *b, enum part part, enum who who, struct table *table)
{
    int status;

    (void)fprintf(stderr, "bench: %s as %s …\n", report_part_name(part), report_who_name(who));
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return bench_fail("fork: %s", strerror(errno));
    if (pid == 0) {
        b->place = &b->places[who];
        b->cells = table->cells[who];
        if (b->realtime && (part == PART_STARTUP || part == PART_MASKS || part == PART_PROXY))
            (void)set_realtime();
        int r = become(who) < 0 || clean_process(b->place) < 0 ? -1 : measure[part](b);
        _exit(r == 0 ? 0 : 1);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        return bench_fail("%s as %s could not be measured", report_part_name(part),
                          report_who_name(who));
    return 0;
}

/* Once, as the user: memory, the classifier and the network are the same whoever looks. */
static bool wanted(const struct choice *choice, enum part part, enum who who)
{
    if (!choice->parts[part] || !choice->who[who])
        return false;
    bool once = part == PART_MEMORY || part == PART_CLASSIFY || part == PART_PROXY;

    return !once || who == WHO_USER || !choice->who[WHO_USER];
}

/* Stops at what cannot be measured, Ctrl-C included; what was measured until then is still shown.
 */
static int measure_all(struct bench *b, const struct choice *choice, struct table *table)
{
    for (unsigned part = 0; part < PART_COUNT; part++) {
        for (unsigned who = 0; who < WHO_COUNT; who++) {
            if (wanted(choice, part, who) && measure_part(b, part, who, table) < 0)
                return -1;
        }
    }
    return 0;
}

/* This program is BUILD/bench/bench; agentbox and bench-probe are found from there. */
static int copy_programs(struct bench *b, const char *dir)
{
    char self[PATH_MAX], from[PATH_MAX + 16];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n < 0)
        return bench_fail("/proc/self/exe: %s", strerror(errno));
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    (void)snprintf(b->probe, sizeof b->probe, "%s/bench-probe", dir);
    (void)snprintf(b->agentbox, sizeof b->agentbox, "%s/agentbox", dir);
    (void)snprintf(from, sizeof from, "%s/bench-probe", self);
    if (place_copy(from, b->probe) < 0)
        return -1;
    (void)snprintf(from, sizeof from, "%s/../agentbox", self);
    return place_copy(from, b->agentbox);
}

int main(int argc, char **argv)
{
    static struct bench b = {
        .runs = 120, .idle = 500, .files = 30000, .realtime = true, .tmpfs = true
    };
    char dir[] = "/var/tmp/abx-bench.XXXXXX";
    bool root = geteuid() == 0;
    struct choice choice = { .who = { root, true } };

    if (parse(argc, argv, &b, &choice) < 0)
        return 2;
    if (choice.help)
        return print_help() < 0 ? 1 : 0;
    struct table *table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED || !mkdtemp(dir) || chmod(dir, 0755) < 0) {
        (void)bench_fail("make '%s': %s", dir, strerror(errno));
        return 1;
    }
    (void)signal(SIGINT, SIG_IGN); /* Ctrl-C ends the measuring process; we then clean up */
    b.realtime = b.realtime && can_realtime();
    b.bwrap = access(BWRAP_PATH, X_OK) == 0 ? BWRAP_PATH : NULL;
    int r = copy_programs(&b, dir) < 0 || place_make(&b, dir, root) < 0 ||
                    (choice.parts[PART_WALK] && walk_make(&b, dir) < 0)
                ? -1
                : measure_all(&b, &choice, table);
    if (choice.json)
        report_json(table);
    else
        report_text(&b, table);
    place_remove(dir);
    return r < 0 || fflush(stdout) != 0 ? 1 : 0;
}
