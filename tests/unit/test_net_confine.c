/* SPDX-License-Identifier: Apache-2.0 */
/* What a process can do once it is confined as the net role is: each case in a child of its own. */
#include "net/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static long try_open(void)
{
    return open("/etc/hosts", O_RDONLY | O_CLOEXEC);
}

static long try_exec(void)
{
    return execl("/bin/true", "true", (char *)NULL);
}

static long try_fork(void)
{
    return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long try_kill(void)
{
    return kill(getppid(), 0);
}

static long try_ptrace(void)
{
    return ptrace(PTRACE_TRACEME, 0, 0, 0);
}

static long try_packet(void)
{
    return socket(AF_PACKET, SOCK_RAW, 0);
}

static long try_netlink(void)
{
    return socket(AF_NETLINK, SOCK_RAW, 0);
}

static long try_bind(void)
{
    return syscall(SYS_bind, 0, NULL, 0);
}

static long try_listen(void)
{
    return listen(0, 1);
}

static long try_executable(void)
{
    return (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static long try_dup(void)
{
    return fcntl(0, F_DUPFD, 50);
}

static long try_tcp(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static long try_unix(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* A bad address where it is let through. */
static long try_filter(void)
{
    const unsigned set_mode_filter = 1;

    return syscall(SYS_seccomp, set_mode_filter, 0, NULL);
}

static long try_pipe(void)
{
    int fds[2];

    return pipe2(fds, O_CLOEXEC) < 0 ? -1 : fcntl(fds[1], F_SETPIPE_SZ, 65536);
}

static long try_epoll(void)
{
    struct epoll_event event;
    int fd = epoll_create1(EPOLL_CLOEXEC);

    return fd < 0 ? fd : epoll_wait(fd, &event, 1, 0);
}

static const struct {
    const char *name;
    long (*attempt)(void);
    bool allowed;
} cases[] = {
    { "open", try_open, false },
    { "exec", try_exec, false },
    { "fork", try_fork, false },
    { "kill", try_kill, false },
    { "ptrace", try_ptrace, false },
    { "packet socket", try_packet, false },
    { "netlink socket", try_netlink, false },
    { "bind", try_bind, false },
    { "listen", try_listen, false },
    { "executable memory", try_executable, false },
    { "duplicate", try_dup, false },
    { "tcp socket", try_tcp, true },
    { "pipe", try_pipe, true },
    { "epoll", try_epoll, true },
};

/* Before foreign bytes may come, then without and with mitmProxy. */
enum stage { FIRST, CLOSED, CLOSED_BUT_UNIX };

/* 0: it worked; 1: EPERM; 2: something else; 3: could not be confined. */
static int outcome(long (*attempt)(void), enum stage stage)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        (void)alarm(20);
        if (confine_self(64).result < 0 ||
            (stage != FIRST && confine_more(stage == CLOSED_BUT_UNIX) < 0))
            _exit(3);
        long r = attempt();
        _exit(r >= 0 ? 0 : errno == EPERM ? 1 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void only_sockets_and_the_loop_are_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (enum stage stage = FIRST; stage <= CLOSED_BUT_UNIX; stage++) {
            int got = outcome(cases[i].attempt, stage);

            if (got != (cases[i].allowed ? 0 : 1))
                fail_msg("%s, stage %d: outcome %d", cases[i].name, (int)stage, got);
        }
    }
}

static void unix_sockets_are_left_to_mitm_proxy_alone(void **state)
{
    (void)state;
    assert_int_equal(outcome(try_unix, FIRST), 0);
    assert_int_equal(outcome(try_unix, CLOSED), 1);
    assert_int_equal(outcome(try_unix, CLOSED_BUT_UNIX), 0);
}

static void the_last_filter_is_the_last(void **state)
{
    (void)state;
    assert_int_equal(outcome(try_filter, FIRST), 2);
    assert_int_equal(outcome(try_filter, CLOSED), 1);
    assert_int_equal(outcome(try_filter, CLOSED_BUT_UNIX), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_sockets_and_the_loop_are_left),
        cmocka_unit_test(unix_sockets_are_left_to_mitm_proxy_alone),
        cmocka_unit_test(the_last_filter_is_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
