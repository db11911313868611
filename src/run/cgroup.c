/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups, version 2.
 *
 * The kernel lets controllers be switched on only in a group without processes, so a group that the
 * caller lives in mostly cannot have limited children; its parent can, if it is delegated to the
 * user (systemd does that for user sessions). Both are looked at, the parent only where the
 * caller's own sets no limit, which would be left behind: the directory must be writable and pass
 * "memory" or "pids" on. The keeper puts pid 1 into the group when it is cloned
 * (CLONE_INTO_CGROUP), never by writing cgroup.procs, which costs milliseconds. What dead runs left
 * is removed on the way.
 */
#include "run/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/io.h"

#define CGROUP_PREFIX     "agentbox-"
#define CGROUP_FILE_MAX   65536
#define CGROUP_PATH_MAX   4096
#define CGROUP_CANDIDATES 2
#define CGROUP2_MAGIC     0x63677270

void cgroup_init(struct cgroup *g)
{
    *g = (struct cgroup){ .parent = -1, .dir = -1 };
}

/* The text behind key on the line of text that starts with it; up to the line's end. */
static bool find_line(const char *text, const char *key, char *ret, size_t size)
{
    size_t len = strlen(key);

    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, len) != 0)
            continue;
        size_t n = strcspn(line + len, "\n");
        if (n >= size)
            return false;
        memcpy(ret, line + len, n);
        ret[n] = '\0';
        return true;
    }
    return false;
}

static bool has_controller(int dir, const char *path)
{
    _buf_ struct buf b = { .limit = CGROUP_PATH_MAX };

#ifdef ABX_TESTING
    if (getenv("ABX_TEST_CGROUP"))
        return true; /* hosts whose controllers are elsewhere: a group's life can still be tested */
#endif
    return io_read_file(dir, path, &b) == 0 && b.data &&
           (strstr(b.data, "memory") || strstr(b.data, "pids"));
}

/* Where the unified hierarchy is mounted, if it has a use for us; a run has no time to search. */
static const char *find_mount(void)
{
    static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
    struct statfs fs;

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        char file[64];
        if (statfs(places[i], &fs) < 0 || fs.f_type != CGROUP2_MAGIC)
            continue;
        (void)snprintf(file, sizeof file, "%s/cgroup.subtree_control", places[i]);
        return has_controller(AT_FDCWD, file) ? places[i] : NULL;
    }
    return NULL;
}

static bool find_own(char *ret, size_t size)
{
    _buf_ struct buf b = { .limit = CGROUP_FILE_MAX };
    char path[CGROUP_PATH_MAX];
    const char *mount = find_mount();

    if (!mount || io_read_file(AT_FDCWD, "/proc/self/cgroup", &b) < 0 || !b.data ||
        !find_line(b.data, "0::", path, sizeof path) || strstr(path, "/.."))
        return false;
    int n = snprintf(ret, size, "%s%s", mount, strcmp(path, "/") == 0 ? "" : path);
    return n > 0 && (size_t)n < size;
}

/* Whether who made it limited what its processes take: that is to hold for a run of theirs, too. */
static bool is_limited(int dir)
{
    static const char *const files[] = { "cpu.max", "memory.high", "memory.max" };

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        _buf_ struct buf b = { .limit = CGROUP_PATH_MAX };

        /* Without the controller there is no file. */
        if (io_read_file(dir, files[i], &b) == 0 && b.data && strncmp(b.data, "max", 3) != 0)
            return true;
    }
    return false;
}

/* The directory in which a group can be made, or -errno. */
static int find_parent(void)
{
    char path[CGROUP_PATH_MAX];

    if (!find_own(path, sizeof path))
        return -ENOENT;
    for (int i = 0; i < CGROUP_CANDIDATES; i++) {
        _fd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir >= 0 && faccessat(dir, ".", W_OK, AT_EACCESS) == 0 &&
            faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) == 0 &&
            has_controller(dir, "cgroup.subtree_control"))
            return TAKE_FD(dir);
        if (dir < 0 || is_limited(dir))
            break; /* beside it nothing of that would hold */
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            break;
        *slash = '\0';
    }
    return -EACCES;
}

/* Groups whose maker is dead and in which nothing lives: rmdir refuses all others. */
static void repair(int parent)
{
    int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;

    if (!list) {
        fd_close(copy);
        return;
    }
    while ((entry = readdir(list)) != NULL) {
        size_t len = strlen(CGROUP_PREFIX);
        if (strncmp(entry->d_name, CGROUP_PREFIX, len) != 0)
            continue;
        long pid = strtol(entry->d_name + len, NULL, 10);
        if (pid > 1 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
            (void)unlinkat(parent, entry->d_name, AT_REMOVEDIR);
    }
    (void)closedir(list);
}

static bool set_limit(int dir, const char *file, uint64_t value)
{
    char text[24];
    _fd_ int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);

    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return fd >= 0 && io_write_all(fd, text, strlen(text)) == 0;
}

static void set_limits(int dir, const struct cgroup_limits *limits)
{
    /* Not memory.oom.group: it would kill pid 1 as well, which tells how the command ended. */
    if (limits->memory && set_limit(dir, "memory.max", limits->memory))
        (void)set_limit(dir, "memory.swap.max", 0);
    if (limits->processes)
        (void)set_limit(dir, "pids.max", limits->processes);
}

int cgroup_make(struct cgroup *g, const struct cgroup_limits *limits)
{
    static unsigned counter;

    if (!limits->memory && !limits->processes)
        return -ENOENT;
    _fd_ int parent = find_parent();
    if (parent < 0)
        return parent;
    repair(parent);
    (void)snprintf(g->name, sizeof g->name, CGROUP_PREFIX "%d-%u", (int)getpid(),
                   __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED));
    _fd_ int dir = -1;
    if (mkdirat(parent, g->name, 0755) == 0) {
        dir = openat(parent, g->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
            (void)unlinkat(parent, g->name, AT_REMOVEDIR);
    }
    if (dir < 0) {
        g->name[0] = '\0'; /* the launcher must not look for it */
        return -EAGAIN;
    }
    set_limits(dir, limits);
    g->parent = TAKE_FD(parent);
    g->dir = TAKE_FD(dir);
    return 0;
}

/* "NAME NUMBER" lines, as the kernel writes them. */
static uint64_t read_event(int group, const char *file, const char *name)
{
    _buf_ struct buf b = { .limit = 4096 };
    const size_t len = strlen(name);

    if (group < 0 || io_read_file(group, file, &b) < 0 || !b.data)
        return 0;
    for (const char *line = b.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) == 0 && line[len] == ' ')
            return strtoull(line + len + 1, NULL, 10);
    }
    return 0;
}

struct cgroup_counts cgroup_count(const struct cgroup *g)
{
    return (struct cgroup_counts){ .killed = read_event(g->dir, "memory.events", "oom_kill"),
                                   .refused = read_event(g->dir, "pids.events", "max") };
}

void cgroup_remove(struct cgroup *g)
{
    if (g->parent >= 0)
        (void)unlinkat(g->parent, g->name, AT_REMOVEDIR);
}

void cgroup_close(struct cgroup *g)
{
    fd_close(g->parent);
    fd_close(g->dir);
    cgroup_init(g);
}

int cgroup_probe(void)
{
    int parent = find_parent();

    fd_close(parent);
    return parent < 0 ? parent : 0;
}
