/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pid 1 as the monitor, on what a command puts before it: what is told to the host, what is not,
 * and the answer that the command gets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "lib/monitor_place.h"

static void writing_is_told_where_the_view_refuses_it(void **state)
{
    static const struct {
        const char *path;
        int flags;
        bool told;
    } rows[] = {
        { "rw/f", O_WRONLY, false },
        { "rw/new", O_WRONLY | O_CREAT, false },
        { "rw/new", O_WRONLY | O_CREAT | O_EXCL, false },
        { "ro/f", O_RDONLY, false },
        { "ro/f", O_WRONLY, true },
        { "ro/f", O_RDONLY | O_TRUNC, false }, /* the same record */
        { "ro/new", O_WRONLY, false },         /* there is none */
        { "ro/new", O_WRONLY | O_CREAT, true },
        { "ro/sub/new", O_RDONLY | O_CREAT, true },
        { "ro/f", O_WRONLY | O_CREAT | O_EXCL, false }, /* it exists */
        { "ro/held", O_WRONLY | O_CREAT | O_EXCL, true },
        { "ro/fifo", O_WRONLY, false },
        { "ro/sub", O_WRONLY, false }, /* a directory */
        { "ro/sub", O_WRONLY | O_TMPFILE, true },
        { "ro/dangling", O_WRONLY | O_CREAT, false },
        { "shut/in/x", O_WRONLY, true },
        { "/dev/null", O_WRONLY, false },
        { "", O_WRONLY, false },
    };

    (void)state;
    need_namespaces();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool told = serve_open(rows[i].path, rows[i].flags);

        if (told != rows[i].told)
            fail_msg("%s, %o: %s", rows[i].path, rows[i].flags, told ? "told" : "not told");
        if (told)
            assert_told(rows[i].path, rows[i].flags & O_EXCL ? WATCH_NAME : 0);
        assert_int_equal(monitor.error, 0); /* it goes on, whatever was seen */
    }
}

static void reading_is_told_to_who_learns(void **state)
{
    (void)state;
    need_namespaces();
    assert_false(serve_open("shut/in/x", O_RDONLY));
    monitor_begin(WATCH_LEARN, true);
    monitor.bytes = (const uint8_t *)memory;
    assert_true(serve_open("shut/in/x", O_RDONLY));
    assert_true(monitor.told.flags & WATCH_READ);
    assert_true(serve_open("rw/masked", O_RDONLY));
    assert_told("rw/masked", WATCH_READ);
    assert_false(serve_open("rw/f", O_RDONLY));
    assert_false(serve_open("rw/none", O_RDONLY));
}

static void names_are_told_as_names(void **state)
{
    (void)state;
    need_namespaces();
    assert_true(serve(SYS_mkdirat, HERE, text("ro/d//"), 0, 0));
    assert_told("ro/d", WATCH_NAME);
    assert_false(serve(SYS_mkdirat, HERE, text("rw/d"), 0, 0));
    assert_false(serve(SYS_mkdirat, HERE, text("ro/f"), 0, 0)); /* it exists */
    assert_true(serve(SYS_unlinkat, HERE, text("ro/f"), 0, 0));
    assert_told("ro/f", WATCH_NAME);
    assert_false(serve(SYS_unlinkat, HERE, text("ro/none"), 0, 0));
    assert_false(serve(SYS_unlinkat, HERE, text("ro"), AT_REMOVEDIR, 0)); /* sub is in it */
    assert_true(serve(SYS_unlinkat, HERE, text("ro/sub"), AT_REMOVEDIR, 0));
    assert_told("ro/sub", WATCH_NAME);
    assert_true(serve(SYS_renameat2, HERE, text("ro"), HERE, text("rw/x")));
    assert_told("ro", WATCH_NAME | WATCH_ROOT);
    assert_true(serve(SYS_renameat2, HERE, text("rw/f"), HERE, text("ro/moved")));
    assert_told("ro/moved", WATCH_NAME);
    assert_true(serve(SYS_renameat2, HERE, text("ro/link"), HERE, text("rw/x")));
    assert_told("ro/link", WATCH_NAME);
    assert_false(serve(SYS_renameat2, HERE, text("rw/f"), HERE, text("rw/g")));
    assert_true(serve(SYS_linkat, HERE, text("rw/f"), HERE, text("ro/sub/l")));
    assert_told("ro/sub/l", WATCH_NAME);
}

static void changes_are_told_with_and_without_following(void **state)
{
    (void)state;
    need_namespaces();
    assert_true(serve(SYS_fchmodat, HERE, text("ro/link"), 0600, 0));
    assert_told("ro/f", 0);
    assert_true(serve(452 /* fchmodat2 */, HERE, text("ro/fifo"), 0, AT_SYMLINK_NOFOLLOW));
    assert_told("ro/fifo", 0);
    assert_false(serve(SYS_fchmodat, HERE, text("rw/f"), 0600, 0));
    assert_false(serve(SYS_fchmodat, HERE, text("ro/none"), 0600, 0));
    assert_true(serve(SYS_fchmodat, HERE, text("shut/in"), 0700, 0));
    assert_false(serve(SYS_fchmodat, HERE, 0, 0600, 0));
    assert_false(serve(SYS_fchmodat, HERE, 12, 0600, 0)); /* no memory there */
}

/* Those that 64-bit ARM never had. */
static void old_calls_are_told_likewise(void **state)
{
    (void)state;
    need_namespaces();
#ifdef SYS_creat
    assert_true(serve(SYS_creat, text("ro/made"), 0, 0, 0));
    assert_told("ro/made", 0);
    assert_true(serve(SYS_mkdir, text("ro/d//"), 0, 0, 0));
    assert_told("ro/d", WATCH_NAME);
    assert_true(serve(SYS_unlink, text("ro/f"), 0, 0, 0));
    assert_told("ro/f", WATCH_NAME);
    assert_false(serve(SYS_rmdir, text("ro"), 0, 0, 0)); /* sub is in it */
    assert_true(serve(SYS_rmdir, text("ro/sub"), 0, 0, 0));
    assert_told("ro/sub", WATCH_NAME);
    assert_true(serve(SYS_rename, text("ro"), text("rw/x"), 0, 0));
    assert_told("ro", WATCH_NAME | WATCH_ROOT);
    assert_true(serve(SYS_rename, text("rw/f"), text("ro/moved"), 0, 0));
    assert_told("ro/moved", WATCH_NAME);
    assert_true(serve(SYS_chmod, text("ro/fifo"), 0600, 0, 0));
    assert_told("ro/fifo", 0);
    assert_true(serve(SYS_lchown, text("ro/link"), 0, 0, 0));
    assert_told("ro/link", 0);
#endif
}

static void paths_are_found_from_where_the_caller_is(void **state)
{
    (void)state;
    need_namespaces();
    int fd = open("ro/sub", O_PATH | O_CLOEXEC);
    assert_true(serve(SYS_openat, (uint64_t)fd, text("../f"), O_WRONLY, 0));
    assert_told("ro/f", 0);
    assert_true(serve(SYS_openat, 0, text("/proc/self/cwd/ro/held"), O_WRONLY, 0));
    assert_told("ro/held", 0);
    assert_false(serve(SYS_openat, 77, text("x"), O_WRONLY, 0)); /* no such descriptor */
    char deep[5000];
    memset(deep, 'a', sizeof deep - 1);
    memcpy(deep, "ro/", 3);
    deep[sizeof deep - 1] = '\0';
    assert_false(serve_open(deep, O_WRONLY | O_CREAT)); /* the kernel refuses it */
    assert_true(serve_open("shut/in/y", O_WRONLY | O_CREAT));
    (void)close(fd);
}

static void repetitions_are_counted_and_the_end_tells(void **state)
{
    (void)state;
    need_namespaces();
    assert_true(serve_open("ro/f", O_WRONLY));
    assert_false(serve_open("ro/f", O_WRONLY));
    assert_false(serve_open("ro/f", O_RDWR));
    assert_true(serve_open("ro/g", O_WRONLY | O_CREAT));
    watch_end();
    assert_int_equal(monitor.counts_count, 1);
    assert_int_equal(monitor.counts.count, 1);
    assert_int_equal(monitor.counts.list[0].count, 3);
    assert_int_equal(monitor.counts.dropped, 0);
}

static void records_are_bounded(void **state)
{
    char name[64];
    unsigned told = 0;

    (void)state;
    need_namespaces();
    for (unsigned i = 0; i < 2 * WATCH_MAX_RECORDS; i++) {
        record_calls.looks = 0; /* however slow or fast this machine is */
        (void)snprintf(name, sizeof name, "ro/n%u", i);
        told += serve_open(name, O_WRONLY | O_CREAT);
    }
    assert_int_equal(told, WATCH_MAX_RECORDS);
    assert_int_equal(record_calls.dropped, WATCH_MAX_RECORDS);
    for (int i = 0; i < 300; i++) {
        record_calls.looks = 0;
        (void)snprintf(name, sizeof name, "ro/n%d", i);
        assert_false(serve_open(name, O_WRONLY | O_CREAT));
    }
    watch_end(); /* more than one message takes */
    assert_int_equal(monitor.counts_count, 2);
    assert_int_equal(monitor.counts.count, 300 - WATCH_COUNTS_MAX);
}

static void a_flood_and_a_deaf_host_cost_records_only(void **state)
{
    (void)state;
    need_namespaces();
    for (int i = 0; i < 100 && !record_calls.dropped; i++) { /* a new second may begin in between */
        assert_true(i == 0 || !serve_open("rw/f", O_RDONLY));
        (void)record_may_look(&record_calls);
        record_calls.looks = UINT32_MAX / 2;
        (void)serve_open("ro/f", O_WRONLY);
    }
    assert_true(record_calls.dropped > 0);
    monitor_begin(WATCH_FULL, true);
    monitor.bytes = (const uint8_t *)memory;
    monitor.deaf = true;
    assert_false(serve_open("ro/f", O_WRONLY));
    assert_int_equal(record_calls.dropped, 1);
}

static void calls_that_nothing_allows_are_refused_and_told(void **state)
{
    (void)state;
    need_namespaces();
    assert_true(serve(SYS_mount, 1, 2, 3, 4));
    assert_int_equal(monitor.error, EPERM);
    assert_int_equal(monitor.told.path_len, 0);
    assert_int_equal(monitor.told.number, SYS_mount);
    assert_false(serve(SYS_getpid, 0, 0, 0, 0)); /* nobody asked to see it */
    assert_int_equal(monitor.error, EPERM);
    assert_false(serve(-1, 0, 0, 0, 0));
    assert_int_equal(monitor.error, EPERM);
    uint64_t word = 0;
    memcpy(&word, "git push", 8);
    assert_true(serve(180 /* nfsservctl */, word, 0, 0, 0));
    assert_int_equal(monitor.told.flags, WATCH_WORD);
    assert_memory_equal(monitor.told.path, "git push", monitor.told.path_len);
    assert_int_equal(monitor.told.path_len, 8);
    assert_false(serve(180, 0, 0, 0, 0));
    monitor.next.id = 0; /* whoever it was is gone */
    monitor.answers = 0;
    watch_serve(0);
    assert_int_equal(monitor.answers, 0);
}

/* ---- addresses ---- */

static bool serve_connect(const void *address, size_t len)
{
    return serve(SYS_connect, 5, put(address, len), len, 0);
}

static void addresses_are_told_but_loopback(void **state)
{
    static const struct {
        uint8_t bytes[28];
        size_t len;
        bool told;
    } rows[] = {
        { { 2, 0, 1, 187, 192, 0, 2, 1 }, 16, true },
        { { 2, 0, 1, 187, 127, 0, 0, 9 }, 16, false },
        { { 2, 0, 1, 187, 0, 0, 0, 0 }, 16, false },
        { { 2, 0, 1 }, 3, false },
        { { 10, 0, 0, 53, [8] = 0x20, 1, [23] = 1 }, 28, true },
        { { 10, 0, 0, 53, [23] = 1 }, 28, false },
        { { 10, 0, 0, 53, [18] = 0xff, 0xff, 127, 0, 0, 1 }, 28, false },
        { { 10, 0, 0, 53, [18] = 0xff, 0xff, 192, 0, 2, 1 }, 28, true },
        { { 10, 0, 0, 53, [8] = 0x20 }, 20, false },
        { { 16, 0 }, 12, false },
    };

    (void)state;
    need_namespaces();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(serve_connect(rows[i].bytes, rows[i].len), rows[i].told);
        assert_int_equal(monitor.error, 0);
    }
    monitor_begin(WATCH_FULL, false); /* the host's network: nothing to tell */
    monitor.bytes = (const uint8_t *)memory;
    assert_false(serve_connect(rows[0].bytes, rows[0].len));
}

/* ---- sockets that the plan names ---- */

static int listener = -1;

static void name_socket(const char *path)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    char full[128];
    struct mount_op op = { .kind = MOUNT_BIND_RO, .flags = MOUNT_SOCKET, .path = full };
    struct launch l = { .plan = { .named = 1, .mount_count = 1, .mounts = &op } };
    struct stat st;

    memcpy(to.sun_path, path, strlen(path) + 1);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(stat(path, &st), 0);
    (void)snprintf(full, sizeof full, "%s/%s", base, path);
    op.dev = st.st_dev;
    op.ino = st.st_ino + 1;
    assert_int_equal(sockets_open(&l), -ESTALE);
    op.ino = st.st_ino;
    assert_int_equal(sockets_open(&l), 0);
    (void)snprintf(full, sizeof full, "%s/rw/f", base);
    assert_int_equal(stat("rw/f", &st), 0);
    op.ino = st.st_ino;
    assert_int_equal(sockets_open(&l), -ENOTSOCK);
    (void)snprintf(full, sizeof full, "%s/none", base);
    assert_int_equal(sockets_open(&l), -ENOENT);
}

static void connect_unix(const char *path, size_t len, int fd, int error)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };

    memcpy(to.sun_path, path, MIN_OF(len, sizeof to.sun_path));
    (void)serve(SYS_connect, (uint64_t)fd, put(&to, sizeof to.sun_family + len),
                sizeof to.sun_family + len, 0);
    assert_int_equal(monitor.error, error);
}

static void only_named_sockets_are_connected(void **state)
{
    (void)state;
    need_namespaces();
    name_socket("rw/s");
    int own = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), client;

    connect_unix("rw/s", 5, own, 0);
    client = accept(listener, NULL, NULL); /* it was pid 1's hand */
    assert_true(client >= 0);
    assert_true(monitor.given >= 0);
    assert_int_equal(monitor.place, own);
    assert_int_equal(write(monitor.given, "x", 1), 1);
    (void)close(client);

    connect_unix("rw/s", 5, 77, EBADF);
    int file = open("rw/f", O_RDONLY | O_CLOEXEC);
    connect_unix("rw/s", 5, file, ENOTSOCK);
    connect_unix("rw/f", 5, own, ECONNREFUSED);
    connect_unix("rw/none", 8, own, ENOENT);
    connect_unix("ro/held", 8, own, EACCES);
    assert_told("ro/held", WATCH_UNIX);
    connect_unix("\0abstract", 9, own, ECONNREFUSED);
    assert_memory_equal(monitor.told.path, "@abstract", 9);
    connect_unix("", 0, own, EINVAL);
    (void)close(file);
    (void)close(own);
}

static void sockets_are_made_by_pid_1(void **state)
{
    static const struct {
        uint64_t type, protocol;
        int error;
    } rows[] = {
        { SOCK_STREAM, 0, 0 },
        { SOCK_SEQPACKET | SOCK_NONBLOCK, AF_UNIX, 0 },
        { SOCK_DGRAM, 0, EPERM },
        { SOCK_RAW | SOCK_CLOEXEC, 0, EPERM },
        { SOCK_STREAM | 0x100, 0, EINVAL },
        { SOCK_STREAM, 6, EPROTONOSUPPORT },
    };
    const struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = "rw/s" };

    (void)state;
    need_namespaces();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_false(serve(SYS_socket, AF_UNIX, rows[i].type, rows[i].protocol, 0));
        assert_int_equal(monitor.error, rows[i].error);
        if (rows[i].error)
            continue;
        /* It can never be connected by the kernel. */
        assert_int_equal(connect(monitor.given, (const struct sockaddr *)&to, sizeof to), -1);
        assert_int_equal(errno, i == 0 ? EISCONN : EPROTOTYPE);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        TEST(writing_is_told_where_the_view_refuses_it),
        TEST(reading_is_told_to_who_learns),
        TEST(names_are_told_as_names),
        TEST(changes_are_told_with_and_without_following),
        TEST(old_calls_are_told_likewise),
        TEST(paths_are_found_from_where_the_caller_is),
        TEST(repetitions_are_counted_and_the_end_tells),
        TEST(records_are_bounded),
        TEST(a_flood_and_a_deaf_host_cost_records_only),
        TEST(calls_that_nothing_allows_are_refused_and_told),
        TEST(addresses_are_told_but_loopback),
        TEST(only_named_sockets_are_connected),
        TEST(sockets_are_made_by_pid_1),
    };

    return cmocka_run_group_tests_name("monitor", tests, setup_all, NULL);
}
