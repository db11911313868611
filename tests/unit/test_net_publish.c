/* SPDX-License-Identifier: Apache-2.0 */
/* Published ports, with sockets of this network namespace: what they do is the same in any. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/defs.h"
#include "net/publish.h"

#define RUN   7
#define TURNS 4000 /* of 5 ms at most */

static struct loop *loop;
static struct publish *publish;

static int make(void **state)
{
    (void)state;
    return loop_new(&loop) < 0 || publish_new(loop, &publish) < 0 ? -1 : 0;
}

static int unmake(void **state)
{
    (void)state;
    publish_free(publish);
    loop_free(loop);
    return 0;
}

/* -1: the port is taken. Nobody else gets it as long as the socket is there. */
static int bind_at(int family, uint16_t *port)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
    struct sockaddr *at = family == AF_INET ? (struct sockaddr *)&in : (struct sockaddr *)&in6;
    socklen_t len = family == AF_INET ? sizeof in : sizeof in6;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    in.sin_port = in6.sin6_port = htons(*port);
    if (fd < 0 || bind(fd, at, len) < 0) {
        close(fd);
        return -1;
    }
    assert_int_equal(getsockname(fd, at, &len), 0);
    *port = ntohs(family == AF_INET ? in.sin_port : in6.sin6_port);
    return fd;
}

static int listen_at(int family, uint16_t *port)
{
    int fd = bind_at(family, port);

    assert_true(fd >= 0);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

/* Echoes, each client in its turn; "!" makes it hang up with bytes unread. */
static void *echo(void *arg)
{
    int listener = *(int *)arg;
    char bytes[64];

    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; close(fd))
        for (ssize_t n; (n = recv(fd, bytes, 1, 0)) > 0 && bytes[0] != '!';)
            (void)send(fd, bytes, (size_t)n, MSG_NOSIGNAL);
    return NULL;
}

static void echo_on(int bound)
{
    static int listeners[8];
    static unsigned count;
    pthread_t thread;

    assert_int_equal(listen(bound, 16), 0);
    listeners[count] = bound;
    assert_int_equal(pthread_create(&thread, NULL, echo, &listeners[count++]), 0);
}

static void start_echo(int family, uint16_t *port)
{
    echo_on(listen_at(family, port));
}

/* So many of each family. */
static void give_sockets(unsigned count)
{
    for (unsigned i = 0; i < 2 * count; i++) {
        int fd = socket(i % 2 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd >= 0 || i % 2 == 0) /* a kernel may lack IPv6 */
            assert_int_equal(publish_give_socket(publish, RUN, fd), 0);
    }
}

/* Publishes the port; where clients go. */
static uint16_t open_port(uint16_t inside)
{
    uint16_t outside = 0;
    int listener = listen_at(AF_INET, &outside);

    assert_int_equal(publish_open(publish, RUN, inside, listener), 0);
    return outside;
}

static int dial(uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Turns until the client has something to read. */
static bool served(int fd, unsigned turns)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    for (unsigned i = 0; i < turns; i++) {
        assert_int_equal(loop_turn(loop, 5 * NSEC_PER_MSEC), 0);
        if (poll(&p, 1, 0) == 1)
            return true;
    }
    return false;
}

static void exchange(int fd)
{
    char byte = 'x';

    assert_int_equal(write(fd, &byte, 1), 1);
    assert_true(served(fd, TURNS));
    assert_int_equal(read(fd, &byte, 1), 1);
}

static void expect_end(int fd)
{
    char byte;

    assert_true(served(fd, TURNS));
    assert_true(read(fd, &byte, 1) <= 0);
    close(fd);
}

static void sockets_are_used_again_and_again(void **state)
{
    uint16_t inside = 0;

    (void)state;
    start_echo(AF_INET, &inside);
    give_sockets(1);
    uint16_t outside = open_port(inside);
    for (unsigned i = 0; i < 200; i++) {
        int fd = dial(outside);

        exchange(fd);
        if (i % 3 == 0) { /* the server is first to go, with bytes unread */
            assert_int_equal(write(fd, "!unread", 7), 7);
            expect_end(fd);
        } else {
            close(fd);
        }
    }
}

static void who_comes_when_all_are_at_work_waits(void **state)
{
    uint16_t inside = 0, other = 0;
    int fds[3];

    (void)state;
    start_echo(AF_INET, &inside);
    start_echo(AF_INET, &other);
    give_sockets(2);
    uint16_t outside = open_port(inside), outside2 = open_port(other);
    fds[0] = dial(outside);
    exchange(fds[0]);
    fds[1] = dial(outside2);
    exchange(fds[1]);
    fds[2] = dial(outside2);
    assert_int_equal(write(fds[2], "x", 1), 1);
    assert_false(served(fds[2], 20));
    close(fds[1]);
    assert_true(served(fds[2], TURNS));
    close(fds[0]);
    close(fds[2]);
}

/* One port on both loopbacks; false: there is no IPv6, and *ret_6 is -1. */
static bool bind_both(uint16_t *port, int *ret_4, int *ret_6)
{
    uint16_t any = 0;
    int try = bind_at(AF_INET6, &any);

    *ret_4 = *ret_6 = -1;
    for (unsigned i = 0; i < 100 && (try >= 0 ? *ret_6 < 0 : *ret_4 < 0); i++) {
        close(*ret_4);
        *port = 0;
        *ret_4 = bind_at(AF_INET, port);
        *ret_6 = try >= 0 ? bind_at(AF_INET6, port) : -1;
    }
    close(try);
    assert_true(*ret_4 >= 0 && (try < 0 || *ret_6 >= 0));
    return try >= 0;
}

/* A server on ::1 alone, with one socket of each family: where clients go. 0: there is no IPv6. */
static uint16_t publish_second(int *ret_other)
{
    uint16_t inside = 0;
    int server;

    if (!bind_both(&inside, ret_other, &server))
        return 0;
    echo_on(server);
    give_sockets(1);
    return open_port(inside);
}

static void both_loopbacks_are_tried(void **state)
{
    int other;
    uint16_t outside = publish_second(&other);

    (void)state;
    if (!outside)
        skip();
    for (unsigned i = 0; i < 3; i++) {
        int fd = dial(outside);

        exchange(fd);
        close(fd);
    }
    close(other);
}

/* … also where it is the second loopback's sockets that are. */
static void who_comes_for_the_second_loopback_waits_too(void **state)
{
    int other;
    uint16_t outside = publish_second(&other);

    (void)state;
    if (!outside)
        skip();
    int first = dial(outside);
    exchange(first);
    int second = dial(outside), third = dial(outside);
    assert_int_equal(write(second, "x", 1), 1);
    assert_false(served(second, 20));
    close(first);
    assert_true(served(second, TURNS));
    char byte;
    assert_int_equal(read(second, &byte, 1), 1);
    close(second);
    exchange(third);
    close(third);
    close(other);
}

static void a_port_without_a_server_hangs_up_until_there_is_one(void **state)
{
    uint16_t inside = 0;
    int server, other;

    (void)state;
    (void)bind_both(&inside, &server, &other);
    give_sockets(1);
    uint16_t outside = open_port(inside);
    expect_end(dial(outside));
    expect_end(dial(outside));
    echo_on(server);
    int fd = dial(outside);
    exchange(fd);
    close(fd);
    close(other);
}

static void a_run_that_ends_takes_all_along(void **state)
{
    uint16_t inside = 0;

    (void)state;
    start_echo(AF_INET, &inside);
    give_sockets(2);
    uint16_t outside = open_port(inside);
    int fd = dial(outside);
    exchange(fd);
    publish_drop(publish, RUN);
    expect_end(fd);
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(outside),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
    publish_drop(publish, RUN); /* nothing to do */
}

static void what_is_no_such_socket_is_refused(void **state)
{
    uint16_t port = 0;

    (void)state;
    assert_int_equal(publish_give_socket(publish, RUN, socket(AF_INET, SOCK_DGRAM, 0)), -EINVAL);
    assert_int_equal(publish_give_socket(publish, RUN, socket(AF_UNIX, SOCK_STREAM, 0)), -EINVAL);
    assert_int_equal(publish_give_socket(publish, RUN, listen_at(AF_INET, &port)), -EINVAL);
    assert_int_equal(publish_give_socket(publish, RUN, -1), -EINVAL);
    port = 0;
    assert_int_equal(publish_open(publish, RUN, 80, listen_at(AF_INET, &port)), -EINVAL);
    give_sockets(PUBLISH_SOCKETS);
    assert_int_equal(publish_give_socket(publish, RUN, socket(AF_INET, SOCK_STREAM, 0)), -ENOBUFS);
    assert_int_equal(publish_open(publish, RUN, 80, socket(AF_INET, SOCK_STREAM, 0)), -EINVAL);
    port = 0;
    assert_int_equal(publish_open(publish, RUN, 0, listen_at(AF_INET, &port)), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sockets_are_used_again_and_again, make, unmake),
        cmocka_unit_test_setup_teardown(who_comes_when_all_are_at_work_waits, make, unmake),
        cmocka_unit_test_setup_teardown(both_loopbacks_are_tried, make, unmake),
        cmocka_unit_test_setup_teardown(who_comes_for_the_second_loopback_waits_too, make, unmake),
        cmocka_unit_test_setup_teardown(a_port_without_a_server_hangs_up_until_there_is_one, make,
                                        unmake),
        cmocka_unit_test_setup_teardown(a_run_that_ends_takes_all_along, make, unmake),
        cmocka_unit_test_setup_teardown(what_is_no_such_socket_is_refused, make, unmake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
