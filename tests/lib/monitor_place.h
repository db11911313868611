/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the monitor's tests are: a user and mount namespace of their own, with a writable, a
 * read-only and a closed directory; without capabilities, as pid 1 is. And the calls that they put
 * before it. Include it once, in the test's only file, behind cmocka.h.
 */
#ifndef ABX_TESTS_MONITOR_PLACE_H
#define ABX_TESTS_MONITOR_PLACE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lib/monitor_double.h"
#include "lib/need.h"

#define MEMORY 8192

/* Covered by a tmpfs that only the test sees: nothing is left behind. */
#define PLACE "/var/tmp"

static const char base[] = PLACE "/abx-monitor";
static char memory[MEMORY];
static size_t memory_used;
static bool ready;

/* ---- the place ---- */

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static bool enter_namespaces(void)
{
    char map[64];
    const uid_t uid = geteuid();
    const gid_t gid = getegid();

    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    write_text("/proc/self/setgroups", "deny");
    (void)snprintf(map, sizeof map, "%u %u 1", uid, uid);
    write_text("/proc/self/uid_map", map);
    (void)snprintf(map, sizeof map, "%u %u 1", gid, gid);
    write_text("/proc/self/gid_map", map);
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void fill_tree(void)
{
    static const char *const dirs[] = { "rw", "ro", "ro/sub", "shut", "shut/in" };

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        assert_int_equal(mkdir(dirs[i], 0755), 0);
    write_text("rw/f", "");
    write_text("ro/f", "");
    write_text("rw/masked", "");
    assert_int_equal(chmod("rw/masked", 0), 0);
    assert_int_equal(mkfifo("ro/fifo", 0644), 0);
    assert_int_equal(symlink("nowhere", "ro/dangling"), 0);
    assert_int_equal(symlink("f", "ro/link"), 0);
    assert_int_equal(mknod("ro/held", S_IFSOCK, 0), 0);
    assert_int_equal(chmod("shut", 0), 0);
    assert_int_equal(mount("ro", "ro", NULL, MS_BIND, NULL), 0);
    assert_int_equal(mount(NULL, "ro", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), 0);
}

static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    const struct __user_cap_data_struct none[2] = { { 0 } };

    assert_int_equal(syscall(SYS_capset, &header, none), 0);
}

static inline int setup_all(void **state)
{
    (void)state;
    ready = enter_namespaces() && mount("tmpfs", PLACE, "tmpfs", 0, "mode=755") == 0 &&
            mkdir(base, 0755) == 0 && chdir(base) == 0;
    if (ready) {
        fill_tree();
        drop_capabilities();
    }
    return 0;
}

static inline int setup(void **state)
{
    static struct mount_op mounts[1];
    static char path[64];
    static struct plan plan;

    (void)state;
    if (!ready)
        return 0;
    (void)snprintf(path, sizeof path, "%s/ro", base);
    mounts[0].path = path;
    plan = (struct plan){ .mount_count = 1, .mounts = mounts, .watch = WATCH_FULL };
    monitor_begin(WATCH_FULL, true);
    judge_begin(&plan);
    monitor.bytes = (const uint8_t *)memory;
    memory_used = 0;
    return 0;
}

static inline void need_namespaces(void)
{
    need(ready, "userns: no user namespace to mount in");
}

/* ---- calls ---- */

static inline uint64_t put(const void *bytes, size_t len)
{
    const uint64_t at = MONITOR_MEMORY + memory_used;

    assert_true(len <= sizeof memory - memory_used);
    memcpy(memory + memory_used, bytes, len);
    memory_used += len;
    monitor.size = memory_used;
    return at;
}

static inline uint64_t text(const char *s)
{
    return put(s, strlen(s) + 1);
}

#define HERE ((uint64_t)AT_FDCWD)

static uint32_t serve_pid; /* whose calls they are; 0: our own */

/* Serves one call; true: the host was told. It always has exactly one answer. */
static inline bool serve(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const unsigned before = monitor.told_count;

    monitor.next = (struct notice){ .id = 1, .number = (int32_t)number };
    monitor.next.pid = serve_pid ? serve_pid : (uint32_t)getpid();
    monitor.next.args[0] = a;
    monitor.next.args[1] = b;
    monitor.next.args[2] = c;
    monitor.next.args[3] = d;
    monitor.answers = 0;
    watch_serve(0);
    assert_int_equal(monitor.answers, 1);
    memory_used = 0;
    return monitor.told_count != before;
}

static inline bool serve_open(const char *path, int flags)
{
    return serve(SYS_openat, HERE, text(path), (uint64_t)flags, 0);
}

/* The last record is about this path below the place, with these flags. */
static inline void assert_told(const char *path, uint32_t flags)
{
    char full[256];

    (void)snprintf(full, sizeof full, "%s/%s", base, path);
    assert_int_equal(monitor.told.path_len, strlen(full));
    assert_memory_equal(monitor.told.path, full, strlen(full));
    assert_int_equal(monitor.told.flags, flags);
    assert_int_equal(monitor.told.pid, getpid());
    assert_string_equal(monitor.told.process, program_invocation_short_name);
}

#endif
