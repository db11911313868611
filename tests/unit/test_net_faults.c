/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call of the net role fails once: it never dies by a signal, never lets through what is not
 * allowed, never leaves a client without an end, and goes on or exits with a status of its own.
 * What runs out for a while (descriptors, memory) is waited for.
 *
 * The role runs in a child of the test, with calls that can be told to fail (net_fault.h); the two
 * servers, one allowed and one that must hear nothing, run in another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "lib/echo_server.h"
#include "lib/net_fault.h"
#include "net/client.h"
#include "net/role.h"

#define WAIT_S     20
#define BULK       ((size_t)320 << 10) /* enough for a tunnel to splice */
#define PIECE      ((size_t)64 << 10)
#define CALLS_MAX  2000
#define HOSTS_TEXT "127.0.0.1 a.test denied.test\n"

static struct shared {
    struct net_fault fault;
    struct echo_server allowed, canary;
} * shared;

static char hosts_path[] = "/tmp/abx-hosts.XXXXXX";

/* ---- servers ---- */

static int start(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd = mkstemp(hosts_path);
    if (shared == MAP_FAILED || fd < 0 ||
        write(fd, HOSTS_TEXT, strlen(HOSTS_TEXT)) != (ssize_t)strlen(HOSTS_TEXT))
        return -1;
    fd_close(fd);
    (void)signal(SIGPIPE, SIG_IGN);
    shared->allowed.listener = echo_listen(64, &shared->allowed.port);
    shared->canary.listener = echo_listen(64, &shared->canary.port);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        pthread_t thread;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || pthread_create(&thread, NULL, echo_serve, &shared->canary) != 0)
            _exit(1);
        (void)echo_serve(&shared->allowed);
        _exit(1);
    }
    fd_close(shared->allowed.listener);
    fd_close(shared->canary.listener);
    return pid < 0;
}

static int stop(void **state)
{
    (void)state;
    return unlink(hosts_path);
}

/* ---- the role ---- */

struct role {
    struct client client;
    pid_t pid;
    uint16_t port;
    bool serves; /* all of its calls were answered with yes */
};

static void on_record(void *user, const struct server_record *record)
{
    (void)user;
    (void)record;
}

static pid_t fork_role(int control, int other)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    fd_close(other);
    if (dup2(control, ROLE_CONTROL_FD) < 0)
        _exit(1);
    net_fault_arm(&shared->fault);
    _exit(role_main());
}

/* One that allows a.test at the first server, and nothing else. */
static void role_begin(struct role *r)
{
    const struct client_hooks hooks = { .record = on_record };
    const struct server_limits limits = { .head_ns = 2 * NSEC_PER_SEC,
                                          .dial_ns = 2 * NSEC_PER_SEC,
                                          .idle_ns = 3 * NSEC_PER_SEC };
    char allowed[2][64];
    int pair[2], listener = echo_listen(64, &r->port);

    (void)snprintf(allowed[0], sizeof allowed[0], "a.test:%u", shared->allowed.port);
    (void)snprintf(allowed[1], sizeof allowed[1], "127.0.0.1:%u", shared->allowed.port);
    const struct filter_pattern list[] = { { allowed[0], "test" }, { allowed[1], "test" } };
    const struct server_rules rules = { .lists.allowed = { list, 2 } };
    assert_true(listener >= 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    r->pid = fork_role(pair[1], pair[0]);
    fd_close(pair[1]);
    client_init(&r->client, pair[0], &hooks);
    r->serves = client_setup(&r->client, &limits, 53, NULL) == ABX_OK &&
                client_names(&r->client, hosts_path, hosts_path, NULL) == ABX_OK;
    if (r->serves) {
        r->serves = client_rules(&r->client, 1, &rules, "", NULL) == ABX_OK;
        /* Rules that did not arrive: then there is no listener either. */
        bool listens = client_listen(&r->client, 1, 1, listener, NULL) == ABX_OK;
        assert_true(r->serves || !listens);
        r->serves = listens;
    }
    fd_close(listener);
}

/* Its exit status; it must have one. */
static int role_finish(struct role *r)
{
    int status = 0;

    client_done(&r->client);
    for (int i = 0; waitpid(r->pid, &status, WNOHANG) == 0; i++) {
        const struct timespec pause = { .tv_nsec = 1000000 };

        if (i == WAIT_S * 1000) {
            (void)kill(r->pid, SIGKILL);
            (void)waitpid(r->pid, &status, 0);
            fail_msg("call %u (%s): the role does not end", shared->fault.at, shared->fault.last);
        }
        (void)nanosleep(&pause, NULL);
    }
    if (!WIFEXITED(status))
        fail_msg("call %u (%s): the role died by signal %d", shared->fault.at, shared->fault.last,
                 WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* ---- clients ---- */

/* What a peer says until its end, or until `enough` is in it; false: it says nothing for long. */
static bool listen_to(int fd, char *text, size_t size, const char *enough)
{
    size_t len = 0;

    while (len < size - 1) {
        ssize_t n = recv(fd, text + len, size - 1 - len, 0);

        if (n <= 0) {
            text[len] = '\0';
            return n == 0 || (errno != EAGAIN && errno != EINTR);
        }
        len += (size_t)n;
        text[len] = '\0';
        if (enough && strstr(text, enough))
            return true;
    }
    return true;
}

/* A request; what came back is in text. -1: nobody listens. */
static int request(const struct role *r, const void *bytes, size_t len, const char *enough,
                   char *text, size_t size)
{
    const struct timeval limit = { .tv_sec = WAIT_S };
    int fd = echo_connect(r->port);

    text[0] = '\0';
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    (void)send(fd, bytes, len, MSG_NOSIGNAL);
    if (!listen_to(fd, text, size, enough))
        fail_msg("call %u (%s): a client was left waiting", shared->fault.at, shared->fault.last);
    return fd;
}

static int connect_to(const struct role *r, const char *host, uint16_t port, char *text,
                      size_t size)
{
    char line[128];
    int n = snprintf(line, sizeof line, "CONNECT %s:%u HTTP/1.1\r\n\r\n", host, port);

    return request(r, line, (size_t)n, "hello", text, size);
}

/* Bytes there and back, so many that all ways of passing them on are used. */
static bool echo_bulk(int fd)
{
    static char piece[PIECE], back[PIECE];

    for (size_t sent = 0; sent < BULK; sent += PIECE)
        if (send(fd, piece, PIECE, MSG_NOSIGNAL) != (ssize_t)PIECE ||
            recv(fd, back, PIECE, MSG_WAITALL) != (ssize_t)PIECE)
            return false;
    return true;
}

static bool use_allowed(const struct role *r)
{
    char text[1024], line[128];
    int fd = connect_to(r, "a.test", shared->allowed.port, text, sizeof text);
    bool worked = strstr(text, " 200 ") && strstr(text, "hello") && echo_bulk(fd);

    fd_close(fd);
    int n = snprintf(line, sizeof line, "GET http://a.test:%u/ HTTP/1.1\r\nHost: a.test:%u\r\n\r\n",
                     shared->allowed.port, shared->allowed.port);
    fd = request(r, line, (size_t)n, "HTTP/1.1 502", text, sizeof text); /* "hello" is no HTTP */
    worked = worked && strstr(text, "HTTP/1.1 502");
    fd_close(fd);
    return worked;
}

/* The client of an allowed tunnel names another server to TLS: nothing of it must come back. */
static void use_other_name(const struct role *r)
{
    static const char hello[] = "\x16\x03\x01\x00\x46\x01\x00\x00\x42\x03\x03"
                                "01234567890123456789012345678901\x00\x00\x02\x13\x01\x01\x00"
                                "\x00\x17\x00\x00\x00\x13\x00\x11\x00\x00\x0e"
                                "denied.example";
    char text[1024];
    int fd = connect_to(r, "a.test", shared->allowed.port, text, sizeof text);

    if (fd >= 0 && strstr(text, "hello")) {
        (void)send(fd, hello, sizeof hello - 1, MSG_NOSIGNAL);
        (void)shutdown(fd, SHUT_WR);
        size_t len = 0;
        for (ssize_t n; len < sizeof text && (n = recv(fd, text + len, sizeof text - len, 0)) > 0;)
            len += (size_t)n;
        if (memmem(text, len, "denied.example", 14))
            fail_msg("call %u (%s): another server's name went through", shared->fault.at,
                     shared->fault.last);
    }
    fd_close(fd);
}

static void use_denied(const struct role *r)
{
    const uint16_t port = shared->canary.port;
    char text[2048], line[256];
    uint8_t socks[] = { 5,   1,   0,   5,   1,   0,   3,   11,  'd', 'e', 'n',
                        'i', 'e', 'd', '.', 't', 'e', 's', 't', 0,   0 };
    int n;

    fd_close(connect_to(r, "denied.test", port, text, sizeof text));
    fd_close(connect_to(r, "a.test", port, text, sizeof text));
    fd_close(connect_to(r, "127.0.0.1", port, text, sizeof text));
    n = snprintf(line, sizeof line,
                 "GET http://denied.test:%u/ HTTP/1.1\r\nHost: denied.test:%u\r\n"
                 "Connection: close\r\n\r\n",
                 port, port);
    fd_close(request(r, line, (size_t)n, NULL, text, sizeof text));
    socks[19] = (uint8_t)(port >> 8);
    socks[20] = (uint8_t)port;
    fd_close(request(r, socks, sizeof socks, NULL, text, sizeof text));
}

/* What the host does first shows that the canary counts. */
static void expect_nobody_called(void)
{
    char text[8];
    unsigned before = shared->canary.calls;
    int fd = echo_connect(shared->canary.port);

    assert_int_equal(before, 0);
    assert_int_equal(recv(fd, text, 5, MSG_WAITALL), 5);
    fd_close(fd);
    if (shared->canary.calls != 1)
        fail_msg("call %u (%s): the canary was called", shared->fault.at, shared->fault.last);
    shared->canary.calls = 0;
}

static void set_fault(const char *name, uint32_t at, uint32_t times, int error)
{
    shared->fault = (struct net_fault){ .at = at, .times = times, .error = error };
    (void)snprintf(shared->fault.name, sizeof shared->fault.name, "%s", name);
}

/* One life of a role. True: what is allowed worked. */
static bool live(int *ret_status)
{
    struct role r = { 0 };

    role_begin(&r);
    bool worked = use_allowed(&r);
    use_other_name(&r);
    use_denied(&r);
    *ret_status = role_finish(&r);
    expect_nobody_called();
    return worked && r.serves;
}

/* ---- tests ---- */

static void sweep(const char *name, int error)
{
    uint32_t total, hit = 0, worked = 0;
    int status;

    set_fault(name, 0, 0, 0);
    assert_true(live(&status));
    assert_int_equal(status, 0);
    total = shared->fault.calls;
    assert_in_range(total, 1, CALLS_MAX);
    for (uint32_t at = 1; at <= total; at++) {
        set_fault(name, at, 1, error);
        worked += live(&status);
        hit += shared->fault.failed;
        if (status != 0 && status != ROLE_EXIT_CONFINE && status != ROLE_EXIT_PROTOCOL &&
            status != ROLE_EXIT_MISUSED)
            fail_msg("call %u (%s): status %d", at, shared->fault.last, status);
    }
    print_message("# %s: %u calls, %u failed, after %u of them what is allowed still worked\n",
                  name[0] ? name : "all", total, hit, worked);
    assert_in_range(hit, total / 2, total);
}

static void no_call_that_fails_lets_something_through(void **state)
{
    (void)state;
    sweep("", ENOMEM);
}

static void descriptors_may_run_out_at_any_time(void **state)
{
    static const char *const names[] = { "accept4", "socket", "pipe2", "epoll_ctl" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        sweep(names[i], EMFILE);
}

/* Nobody else is connected whose end could wake the listener. */
static void a_listener_that_could_not_accept_goes_on(void **state)
{
    static const int errors[] = { EMFILE, ENFILE, ENOMEM, ENOBUFS };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        int status;

        set_fault("accept4", 1, 3, errors[i]);
        assert_true(live(&status));
        assert_int_equal(status, 0);
        assert_int_equal(shared->fault.failed, 3);
        assert_true(shared->fault.calls < 1000); /* and it did not spin meanwhile */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_that_fails_lets_something_through),
        cmocka_unit_test(descriptors_may_run_out_at_any_time),
        cmocka_unit_test(a_listener_that_could_not_accept_goes_on),
    };

    return cmocka_run_group_tests_name("net_faults", tests, start, stop);
}
