/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to look at a large project: runs in a tree of many files, as they are and with
 * fifteen patterns that deny, against find over the same tree. The tree lies on the disk, since a
 * tmpfs would take the memory of a small machine; after the rounds that do not count it is in the
 * page cache for everybody.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define WALK_FILES_IN_ONE 100u
#define WALK_FAN_OUT      20u /* directories in one */
#define WALK_RUNS_DIVISOR 12u
#define WALK_RUNS_MIN     5u

static const char *const patterns[] = {
    "**/.env",       "**/.env.*",  "**/*.pem",       "**/*.key",    "**/id_rsa",
    "**/id_ed25519", "**/*.p12",   "**/*.kdbx",      "**/secrets*", "**/credentials",
    "**/*.tfstate",  "**/.pgpass", "**/token[0-9]*", "**/vault/**", "config/**/private/*",
};

/* The i-th directory: two above it, so that a project's usual depth is reached. */
static int make_files(const char *tree, unsigned i)
{
    char path[BENCH_PATH_MAX + 64];
    unsigned parts[] = { i % WALK_FAN_OUT, i / WALK_FAN_OUT % WALK_FAN_OUT,
                         i / WALK_FAN_OUT / WALK_FAN_OUT };
    int n = snprintf(path, sizeof path, "%s", tree);

    for (size_t depth = 0; depth < ARRAY_LEN(parts); depth++) {
        n += snprintf(path + n, sizeof path - (size_t)n, "/d%02u", parts[depth]);
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return bench_fail("make '%s': %s", path, strerror(errno));
    }
    for (unsigned file = 0; file < WALK_FILES_IN_ONE; file++) {
        (void)snprintf(path + n, sizeof path - (size_t)n, "/source%02u.c", file);
        _fd_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0)
            return bench_fail("make '%s': %s", path, strerror(errno));
    }
    return 0;
}

int walk_make(struct bench *b, const char *dir)
{
    (void)snprintf(b->tree, sizeof b->tree, "%s/tree", dir);
    if (mkdir(b->tree, 0755) < 0 || chmod(b->tree, 0777) < 0) /* placeholders of either identity */
        return bench_fail("make '%s': %s", b->tree, strerror(errno));
    for (unsigned i = 0; i < b->files / WALK_FILES_IN_ONE; i++)
        if (make_files(b->tree, i) < 0)
            return -1;
    return 0;
}

int walk_measure(const struct bench *b)
{
    static struct args find, ours, ours_patterns;

    ARGS_ADD(&find, "/usr/bin/find", b->tree, "-name", "nothing-of-this-name");
    args_agentbox(&ours, b);
    args_agentbox(&ours_patterns, b);
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
        ARGS_ADD(&ours_patterns, "--exclude", patterns[i]);
    ARGS_ADD(&ours, "--", "/bin/true");
    ARGS_ADD(&ours_patterns, "--", "/bin/true");

    const struct variant variants[] = {
        { .metric = METRIC_WALK_FIND, .args = &find, .cwd = b->tree },
        { .metric = METRIC_WALK_RUN, .args = &ours, .cwd = b->tree },
        { .metric = METRIC_WALK_PATTERNS, .args = &ours_patterns, .cwd = b->tree },
    };
    unsigned rounds = MAX_OF(b->runs / WALK_RUNS_DIVISOR, WALK_RUNS_MIN);
    return bench_interleave(b, variants, ARRAY_LEN(variants), rounds);
}
