/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pid 1 connects the sockets that the plan names: servers that are gone, busy or of another type,
 * callers that are gone, and no descriptors. Whatever happens, the call has one answer. What is
 * refused for its path is in test_monitor.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "lib/monitor_double.h"

static char base[] = "/var/tmp/abx-sockets-XXXXXX";
static struct sockaddr_un address; /* of the server */
static int server = -1, own = -1;  /* own: the command's, to be replaced */

/* ---- the place ---- */

static int setup_all(void **state)
{
    (void)state;
    return mkdtemp(base) ? 0 : -1;
}

static int teardown_all(void **state)
{
    (void)state;
    return rmdir(base);
}

/* A server, named by the plan behind a mount that is none. Each test has its own. */
static void start_server(int type, int backlog)
{
    struct mount_op mounts[] = {
        { .kind = MOUNT_BIND_RO, .path = "/nowhere" },
        { .kind = MOUNT_BIND_RO, .flags = MOUNT_SOCKET, .path = address.sun_path }
    };
    struct launch l = { .plan = { .named = 1, .mount_count = 2, .mounts = mounts } };
    static unsigned number;
    struct stat st;

    address.sun_family = AF_UNIX;
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/%u", base, number++);
    server = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server, backlog), 0);
    assert_int_equal(stat(address.sun_path, &st), 0);
    mounts[1].dev = st.st_dev;
    mounts[1].ino = st.st_ino;
    assert_int_equal(sockets_open(&l), 0);
}

static int setup(void **state)
{
    (void)state;
    monitor_begin(WATCH_FULL, true);
    own = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return own < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)close(own);
    (void)close(server);
    return unlink(address.sun_path);
}

/* ---- calls ---- */

/* The error that the command gets; 0: it has what it asked for. */
static int answer_to(long number, uint64_t a, uint64_t b, uint64_t c)
{
    monitor.next = (struct notice){ .id = 1, .pid = (uint32_t)getpid(), .number = (int32_t)number };
    monitor.next.args[0] = a;
    monitor.next.args[1] = b;
    monitor.next.args[2] = c;
    monitor.bytes = (const uint8_t *)&address;
    monitor.size = sizeof address;
    monitor.answers = 0;
    watch_serve(0);
    assert_int_equal(monitor.answers, 1);
    return monitor.error;
}

static int connect_own(void)
{
    return answer_to(__NR_connect, (uint64_t)own, MONITOR_MEMORY,
                     offsetof(struct sockaddr_un, sun_path) + strlen(address.sun_path) + 1);
}

static int make_socket(void)
{
    return answer_to(__NR_socket, AF_UNIX, SOCK_STREAM, 0);
}

/* What the command has in its place is connected to the server. */
static void assert_connected(void)
{
    char byte = 0;
    int client = accept4(server, NULL, NULL, SOCK_CLOEXEC);

    assert_true(client >= 0);
    assert_int_equal(monitor.place, own);
    assert_int_equal(write(monitor.given, "x", 1), 1);
    assert_int_equal(read(client, &byte, 1), 1);
    assert_int_equal(byte, 'x');
    (void)close(client);
}

/* ---- servers ---- */

static void sockets_of_packets_are_connected_too(void **state)
{
    (void)state;
    start_server(SOCK_SEQPACKET, 8);
    assert_int_equal(connect_own(), 0);
    assert_connected();
}

static void a_server_that_is_gone_refuses(void **state)
{
    (void)state;
    start_server(SOCK_STREAM, 8);
    (void)close(server); /* its name stays */
    assert_int_equal(connect_own(), ECONNREFUSED);
    assert_int_equal(monitor.given, -1);
}

/* Pid 1 serves everybody: it waits for a busy server for a while, not until it has time. */
static void a_server_without_time_does_not_hold_pid_1(void **state)
{
    int waiting[16], count = 0;

    (void)state;
    start_server(SOCK_STREAM, 0);
    for (bool full = false; !full; count++) {
        assert_true(count < 16);
        waiting[count] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        full = connect(waiting[count], (const struct sockaddr *)&address, sizeof address) < 0;
    }
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(connect_own(), EAGAIN);
    assert_int_equal(monitor.given, -1);
    for (int i = 0; i < count; i++) {
        if (i < count - 1) /* the last never came in */
            (void)close(accept4(server, NULL, NULL, SOCK_CLOEXEC));
        (void)close(waiting[i]);
    }
    assert_int_equal(connect_own(), 0);
    assert_connected();
}

/* ---- callers ---- */

static void a_caller_that_is_gone_costs_nothing(void **state)
{
    (void)state;
    start_server(SOCK_STREAM, 8);
    monitor.refuses = ENOENT; /* as the kernel says of a call that nobody waits for */
    int next = dup(own);
    (void)close(next);
    assert_int_equal(make_socket(), ENOENT);
    assert_int_equal(connect_own(), ENOENT);
    assert_int_equal(fcntl(next, F_GETFD), -1); /* nothing was left open */
    monitor.refuses = 0;
    assert_int_equal(make_socket(), 0);
}

/* So many more descriptors for pid 1, and then none. */
static void leave_descriptors(unsigned count, struct rlimit *ret_had)
{
    struct rlimit few;
    int next = dup(own); /* the lowest that is free */

    assert_true(next >= 0);
    (void)close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_had), 0);
    few = *ret_had;
    few.rlim_cur = (rlim_t)next + count;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static void without_descriptors_the_caller_hears_of_it(void **state)
{
    (void)state;
    start_server(SOCK_STREAM, 8);
    for (unsigned left = 0; left < 2; left++) {
        struct rlimit had;

        leave_descriptors(left, &had);
        const int made = make_socket(), connected = connect_own();
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &had), 0);
        assert_int_equal(made, EMFILE);
        assert_int_equal(connected, EMFILE);
        assert_int_equal(monitor.given, -1);
    }
    assert_int_equal(connect_own(), 0);
}

/* ---- the plan ---- */

static void more_than_the_list_holds_are_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2 * PLAN_MAX_SOCKETS; i++) {
        struct mount_op op = { .flags = MOUNT_SOCKET, .path = address.sun_path };
        struct launch l = { .plan = { .named = 1, .mount_count = 1, .mounts = &op } };
        struct stat st;

        if (i == 0)
            start_server(SOCK_STREAM, 8);
        assert_int_equal(stat(address.sun_path, &st), 0);
        op.dev = st.st_dev;
        op.ino = st.st_ino;
        long r = sockets_open(&l);
        assert_true(r == 0 || r == -E2BIG);
        if (r < 0) {
            assert_string_equal(l.object, address.sun_path);
            return;
        }
    }
    fail_msg("no end");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(sockets_of_packets_are_connected_too),
        TEST(a_server_that_is_gone_refuses),
        TEST(a_server_without_time_does_not_hold_pid_1),
        TEST(a_caller_that_is_gone_costs_nothing),
        TEST(without_descriptors_the_caller_hears_of_it),
        TEST(more_than_the_list_holds_are_refused),
    };

    return cmocka_run_group_tests_name("monitor_sockets", tests, setup_all, teardown_all);
}
