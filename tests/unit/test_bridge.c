/* SPDX-License-Identifier: Apache-2.0 */
/* abx_bridge_*, with an echo of this process behind it. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agentbox/agentbox.h"
#include "base/defs.h"

#define WAIT_MS  20000
#define STOPPERS 4
#define BIG      (4 << 20)

static char dir[] = "/tmp/abx-bridge.XXXXXX";
static char target[32];
static uint16_t echo_port;
static int echo_listener;

static uint16_t listen_on(int *ret, int backlog)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;

    *ret = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(*ret, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(*ret, backlog), 0);
    assert_int_equal(getsockname(*ret, (struct sockaddr *)&at, &len), 0);
    return ntohs(at.sin_port);
}

/* What comes goes back, and after its end "bye". */
static void *echo_one(void *arg)
{
    static char bytes[8][65536];
    static unsigned next;
    char *mine = bytes[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % 8];
    int fd = (int)(intptr_t)arg;

    for (ssize_t n; (n = read(fd, mine, sizeof bytes[0])) > 0;)
        for (ssize_t sent = 0, m; sent < n; sent += m)
            if ((m = send(fd, mine + sent, (size_t)(n - sent), MSG_NOSIGNAL)) <= 0)
                break;
    (void)send(fd, "bye", 3, MSG_NOSIGNAL);
    close(fd);
    return NULL;
}

static void *echo_all(void *arg)
{
    pthread_t thread;

    (void)arg;
    for (int fd; (fd = accept(echo_listener, NULL, NULL)) >= 0;)
        if (pthread_create(&thread, NULL, echo_one, (void *)(intptr_t)fd) == 0)
            (void)pthread_detach(thread);
    return NULL;
}

static int start_echo(void **state)
{
    pthread_t thread;

    (void)state;
    if (!mkdtemp(dir))
        return -1;
    echo_port = listen_on(&echo_listener, 64);
    (void)snprintf(target, sizeof target, "127.0.0.1:%u", echo_port);
    return pthread_create(&thread, NULL, echo_all, NULL);
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir); /* nothing may be left in it */
}

static abx_bridge *make(const char *to, int32_t connections, int32_t dial_ms)
{
    const abx_bridge_options o = { .size = sizeof o,
                                   .socket_dir = dir,
                                   .target = to,
                                   .max_connections = connections,
                                   .dial_timeout_ms = dial_ms };
    abx_bridge *b = NULL;

    assert_int_equal(abx_bridge_new(&o, &b, NULL), ABX_OK);
    return b;
}

static abx_bridge *start(const char *to, int32_t connections, int32_t dial_ms)
{
    abx_bridge *b = make(to, connections, dial_ms);

    assert_int_equal(abx_bridge_start(b, NULL), ABX_OK);
    return b;
}

static int dial(const abx_bridge *b)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", abx_bridge_path(b));
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static bool readable(int fd, int ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, ms) == 1;
}

static void expect(int fd, const char *text)
{
    char bytes[16] = "";

    assert_true(readable(fd, WAIT_MS));
    assert_int_equal(recv(fd, bytes, strlen(text), MSG_WAITALL), strlen(text));
    assert_string_equal(bytes, text);
}

static void expect_end(int fd)
{
    char byte;

    assert_true(readable(fd, WAIT_MS));
    assert_true(read(fd, &byte, 1) <= 0);
    close(fd);
}

static void bytes_go_both_ways_and_an_end_by_itself(void **state)
{
    static char big[BIG], back[BIG];
    abx_bridge *b = start(target, 0, 0);
    time_t begin = time(NULL);
    struct stat st;
    int fd = dial(b);

    (void)state;
    assert_int_equal(stat(abx_bridge_path(b), &st), 0);
    assert_int_equal(st.st_mode, S_IFSOCK | 0600);
    for (size_t i = 0; i < BIG; i++)
        big[i] = (char)(i * 7);
    for (size_t sent = 0; sent < BIG; sent += 32768) {
        assert_int_equal(write(fd, big + sent, 32768), 32768);
        assert_int_equal(recv(fd, back + sent, 32768, MSG_WAITALL), 32768);
    }
    assert_memory_equal(big, back, BIG);
    assert_true(time(NULL) - begin < 12); /* answers are not kept back: that would take 24 s */
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    expect(fd, "bye");
    expect_end(fd);
    assert_int_equal(abx_bridge_shutdown(b, WAIT_MS, NULL), ABX_OK);
    assert_int_equal(access(abx_bridge_path(b), F_OK), -1);
    abx_bridge_free(b);
}

static void a_socket_in_the_way_is_removed_a_file_is_not(void **state)
{
    abx_bridge *b = make(target, 0, 0);
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int stale = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    abx_error *err = NULL;

    (void)state;
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", abx_bridge_path(b));
    FILE *file = fopen(at.sun_path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(abx_bridge_start(b, &err), ABX_E_IO);
    assert_non_null(strstr(abx_error_message(err), "bridge.sock"));
    abx_error_free(err);
    assert_int_equal(unlink(at.sun_path), 0); /* it was still there */
    assert_int_equal(bind(stale, (struct sockaddr *)&at, sizeof at), 0);
    close(stale);
    assert_int_equal(abx_bridge_start(b, NULL), ABX_OK);
    assert_int_equal(abx_bridge_start(b, NULL), ABX_E_STATE);
    int fd = dial(b);
    assert_int_equal(write(fd, "x", 1), 1);
    expect(fd, "x");
    close(fd);
    abx_bridge_free(b);
    assert_int_equal(access(at.sun_path, F_OK), -1);
}

static void what_comes_beyond_the_limit_waits(void **state)
{
    abx_bridge *b = start(target, 2, 0);
    int fds[3];

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        fds[i] = dial(b);
        assert_int_equal(write(fds[i], "x", 1), 1);
    }
    expect(fds[0], "x");
    expect(fds[1], "x");
    assert_false(readable(fds[2], 100));
    close(fds[0]);
    expect(fds[2], "x");
    close(fds[1]);
    close(fds[2]);
    abx_bridge_free(b);
}

static void a_target_that_is_not_there_or_silent_ends_the_client(void **state)
{
    char text[32];
    int listener, filler[4];
    uint16_t port = listen_on(&listener, 0);

    (void)state;
    close(listener);
    (void)snprintf(text, sizeof text, "127.0.0.1:%u", port);
    abx_bridge *b = start(text, 0, 0);
    expect_end(dial(b));
    abx_bridge_free(b);

    /* Its backlog is full: who comes now gets no answer. */
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    to.sin_port = htons(listen_on(&listener, 0));
    for (unsigned i = 0; i < ARRAY_LEN(filler); i++) {
        filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(filler[i], (struct sockaddr *)&to, sizeof to);
    }
    (void)snprintf(text, sizeof text, "localhost:%u", ntohs(to.sin_port));
    b = start(text, 0, 50);
    expect_end(dial(b));
    abx_bridge_free(b);
    for (unsigned i = 0; i < ARRAY_LEN(filler); i++)
        close(filler[i]);
    close(listener);
}

struct stopper {
    pthread_t thread;
    abx_bridge *bridge;
    int32_t code;
};

static void *stop(void *arg)
{
    struct stopper *s = arg;

    s->code = abx_bridge_shutdown(s->bridge, WAIT_MS, NULL);
    return NULL;
}

static void many_may_shut_it_down_and_what_is_open_ends_first(void **state)
{
    struct stopper stoppers[STOPPERS];
    abx_bridge *b = start(target, 0, 0);
    int fd = dial(b);

    (void)state;
    assert_int_equal(write(fd, "x", 1), 1);
    expect(fd, "x");
    for (unsigned i = 0; i < STOPPERS; i++) {
        stoppers[i] = (struct stopper){ .bridge = b };
        assert_int_equal(pthread_create(&stoppers[i].thread, NULL, stop, &stoppers[i]), 0);
    }
    assert_int_equal(write(fd, "y", 1), 1); /* still open */
    expect(fd, "y");
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    expect(fd, "bye");
    for (unsigned i = 0; i < STOPPERS; i++) {
        assert_int_equal(pthread_join(stoppers[i].thread, NULL), 0);
        assert_int_equal(stoppers[i].code, ABX_OK);
    }
    assert_int_equal(access(abx_bridge_path(b), F_OK), -1);
    expect_end(fd);
    abx_bridge_free(b);
}

static void what_does_not_end_in_time_is_cut(void **state)
{
    abx_bridge *b = start(target, 0, 0);
    int fd = dial(b);

    (void)state;
    assert_int_equal(write(fd, "x", 1), 1);
    expect(fd, "x");
    assert_int_equal(abx_bridge_shutdown(b, 50, NULL), ABX_OK);
    expect_end(fd);
    assert_int_equal(abx_bridge_shutdown(b, 0, NULL), ABX_OK); /* once more changes nothing */
    abx_bridge_free(b);

    b = make(target, 0, 0);
    assert_int_equal(abx_bridge_shutdown(b, 0, NULL), ABX_OK); /* before a start: nothing to do */
    assert_int_equal(abx_bridge_start(b, NULL), ABX_E_STATE);
    abx_bridge_free(b);
}

static void another_ones_socket_is_not_removed(void **state)
{
    abx_bridge *first = start(target, 0, 0), *second = start(target, 0, 0);

    (void)state;
    assert_int_equal(abx_bridge_shutdown(first, 0, NULL), ABX_OK);
    assert_int_equal(access(abx_bridge_path(second), F_OK), 0);
    int fd = dial(second);
    assert_int_equal(write(fd, "x", 1), 1);
    expect(fd, "x");
    close(fd);
    abx_bridge_free(first);
    abx_bridge_free(second);
}

static void wrong_options_are_refused(void **state)
{
    static const struct {
        const char *dir, *target, *label;
        int32_t connections, dial_ms;
    } rows[] = {
        { NULL, "127.0.0.1:1", NULL, 0, 0 },
        { "", "127.0.0.1:1", NULL, 0, 0 },
        { "/tmp", NULL, NULL, 0, 0 },
        { "/tmp", "", NULL, 0, 0 },
        { "/tmp", "127.0.0.1", NULL, 0, 0 },
        { "/tmp", "127.0.0.1:0", NULL, 0, 0 },
        { "/tmp", "example.com:80", NULL, 0, 0 },
        { "/tmp", "127.0.0.1:1", "", 0, 0 },
        { "/tmp", "127.0.0.1:1", "a/b", 0, 0 },
        { "/tmp", "127.0.0.1:1", NULL, -1, 0 },
        { "/tmp", "127.0.0.1:1", NULL, 0, -1 },
    };
    abx_bridge *b = NULL;
    char longest[200];

    (void)state;
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const abx_bridge_options o = { .size = sizeof o,
                                       .socket_dir = rows[i].dir,
                                       .target = rows[i].target,
                                       .label = rows[i].label,
                                       .max_connections = rows[i].connections,
                                       .dial_timeout_ms = rows[i].dial_ms };

        assert_int_equal(abx_bridge_new(&o, &b, NULL), ABX_E_INVALID);
    }
    const abx_bridge_options o = {
        .size = sizeof o, .socket_dir = "/tmp", .target = "127.0.0.1:1", .label = longest
    };
    assert_int_equal(abx_bridge_new(&o, &b, NULL), ABX_E_INVALID);
    assert_int_equal(abx_bridge_new(NULL, &b, NULL), ABX_E_INVALID);
    assert_int_equal(abx_bridge_shutdown(NULL, 0, NULL), ABX_E_INVALID);
    assert_null(b);
}

static void a_forked_process_has_no_bridge(void **state)
{
    abx_bridge *b = start(target, 0, 0);
    int status;

    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        bool right = abx_bridge_shutdown(b, 0, NULL) == ABX_E_FORKED;
        abx_bridge_free(b);
        _exit(right ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(access(abx_bridge_path(b), F_OK), 0);
    abx_bridge_free(b);
}

static void a_pair_starts_and_ends_together(void **state)
{
    abx_bridge_pair *pair = NULL;
    char path[64];

    (void)state;
    assert_int_equal(abx_bridge_pair_new(dir, target, "", &pair, NULL), ABX_E_INVALID);
    assert_int_equal(abx_bridge_pair_new(dir, target, target, &pair, NULL), ABX_OK);
    (void)snprintf(path, sizeof path, "%s/http-proxy.sock", dir);
    assert_string_equal(abx_bridge_path(abx_bridge_pair_http(pair)), path);
    (void)snprintf(path, sizeof path, "%s/socks-proxy.sock", dir);
    assert_string_equal(abx_bridge_path(abx_bridge_pair_socks(pair)), path);
    assert_int_equal(abx_bridge_pair_start(pair, NULL), ABX_OK);
    int http = dial(abx_bridge_pair_http(pair)), socks = dial(abx_bridge_pair_socks(pair));
    assert_int_equal(write(http, "h", 1), 1);
    assert_int_equal(write(socks, "s", 1), 1);
    expect(http, "h");
    expect(socks, "s");
    abx_bridge_pair_shutdown(pair, 50);
    expect_end(http);
    expect_end(socks);
    abx_bridge_pair_free(pair);

    /* The second cannot start: the first is not left alone. */
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(abx_bridge_pair_new(dir, target, target, &pair, NULL), ABX_OK);
    assert_int_equal(abx_bridge_pair_start(pair, NULL), ABX_E_IO);
    assert_int_equal(access(abx_bridge_path(abx_bridge_pair_http(pair)), F_OK), -1);
    abx_bridge_pair_free(pair);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways_and_an_end_by_itself),
        cmocka_unit_test(a_socket_in_the_way_is_removed_a_file_is_not),
        cmocka_unit_test(what_comes_beyond_the_limit_waits),
        cmocka_unit_test(a_target_that_is_not_there_or_silent_ends_the_client),
        cmocka_unit_test(many_may_shut_it_down_and_what_is_open_ends_first),
        cmocka_unit_test(what_does_not_end_in_time_is_cut),
        cmocka_unit_test(another_ones_socket_is_not_removed),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(a_forked_process_has_no_bridge),
        cmocka_unit_test(a_pair_starts_and_ends_together),
    };

    return cmocka_run_group_tests(tests, start_echo, remove_dir);
}
