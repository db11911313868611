/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generated filters in the kernel: each list of attempts runs in a child that has entered the
 * filter, for there is no way out of one again. The attempts do no harm where they are let through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/btrfs.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/seccomp.h"

#define X32_BIT 0x40000000
struct attempt {
    long number, args[3];
    int wanted; /* errno; 0: let through */
};

#define HIGH_JUNK ((long)UINT64_C(0xdead000000000000))

static const struct attempt command_attempts[] = {
    { SYS_getppid, { 0 }, 0 },
    { SYS_mount, { 0 }, EPERM },
    { SYS_unshare, { CLONE_NEWUSER }, EPERM },
    { SYS_unshare, { CLONE_FS }, 0 },
    { SYS_clone, { CLONE_NEWUSER | 17 }, EPERM },
    { SYS_clone3, { 0 }, ENOSYS },
    { SYS_setns, { -1 }, EPERM },
    { SYS_bpf, { 0 }, EPERM },
    { SYS_keyctl, { 0 }, EPERM },
    { SYS_io_uring_setup, { 0 }, EPERM },
    { SYS_ioctl, { 0, TIOCSTI }, EPERM },
    { SYS_ioctl, { 0, TIOCSTI | HIGH_JUNK }, EPERM },
    { SYS_ioctl, { -1, TIOCGWINSZ }, EBADF },
    { SYS_ioctl, { -1, BTRFS_IOC_SNAP_CREATE }, EPERM },
    { SYS_ioctl, { -1, BTRFS_IOC_SNAP_CREATE_V2 }, EPERM },
    { SYS_ioctl, { -1, BTRFS_IOC_SNAP_DESTROY }, EPERM },
    { SYS_ioctl, { -1, BTRFS_IOC_SNAP_DESTROY_V2 }, EPERM },
    { SYS_mknodat, { -1, 0, S_IFBLK | 0600 }, EPERM },
    { SYS_socket, { AF_UNIX, SOCK_STREAM }, EPERM },
    { SYS_socket, { AF_UNIX | HIGH_JUNK, SOCK_STREAM }, EPERM },
    { SYS_socket, { AF_ALG, SOCK_SEQPACKET }, EAFNOSUPPORT },
    { SYS_socket, { AF_VSOCK, SOCK_STREAM }, EAFNOSUPPORT },
    { SYS_socket, { AF_NETLINK, SOCK_RAW, 9 }, EPROTONOSUPPORT },
    { SYS_socket, { AF_NETLINK, SOCK_RAW, 0 }, 0 },
    { SYS_socket, { AF_INET, SOCK_STREAM }, 0 },
    { SYS_socket, { AF_INET, SOCK_STREAM | HIGH_JUNK, 6 | HIGH_JUNK }, 0 },
    { SYS_socket, { AF_INET, SOCK_STREAM, 262 /* MPTCP */ }, EPROTONOSUPPORT },
    { SYS_socket, { AF_INET, SOCK_DGRAM, 136 /* UDP-Lite */ }, EPROTONOSUPPORT },
    { SYS_socketpair, { AF_UNIX, SOCK_DGRAM }, EPERM },
    { SYS_socketpair, { AF_UNIX, SOCK_RAW | SOCK_CLOEXEC }, EPERM },
    { SYS_socketpair, { AF_UNIX, SOCK_STREAM }, EFAULT },
    { SYS_personality, { READ_IMPLIES_EXEC }, EPERM },
    { SYS_personality, { 0xffffffff }, 0 },
    { SYS_prlimit64, { 1, RLIMIT_CPU }, EPERM },
    { SYS_prlimit64, { 0, RLIMIT_CPU }, 0 },
    { SYS_prlimit64, { 0, RLIMIT_CPU, 1 }, EFAULT },
    { SYS_prlimit64, { 0, RLIMIT_CORE, 1 }, 0 },
    { SYS_prlimit64, { 0, RLIMIT_CORE, HIGH_JUNK }, 0 },
    { SYS_setrlimit, { RLIMIT_CORE }, 0 },
    { SYS_setrlimit, { RLIMIT_CPU }, EFAULT },
    { SYS_sched_setparam, { 1 }, EPERM },
    { SYS_sched_setparam, { 0 }, EINVAL },
    { SYS_setpriority, { PRIO_PROCESS, 1 }, EPERM },
    { SYS_setpriority, { PRIO_USER, 0 }, EPERM },
    { SYS_setpriority, { PRIO_PROCESS, 1 << 30 }, ESRCH },
    { 457 + 200, { 0 }, ENOSYS },
#ifdef __x86_64__
    { SYS_getppid | X32_BIT, { 0 }, ENOSYS },
#endif
};

static const struct attempt init_attempts[] = {
    { SYS_getpid, { 0 }, 0 },
    { SYS_kill, { 0 }, 0 },
    { SYS_ioctl, { -1, TIOCGPGRP }, EBADF },
    { SYS_ioctl, { -1, TIOCGWINSZ }, EPERM },
    { SYS_getppid, { 0 }, EPERM },
    { SYS_openat, { -1 }, EPERM },
    { SYS_execve, { 0 }, EPERM },
    { SYS_socket, { AF_INET, SOCK_STREAM }, EPERM },
    { SYS_ptrace, { 0 }, EPERM },
};

/* The sanitizers' _exit() makes calls that the filter of pid 1 refuses. */
static void leave(int status)
{
    for (;;)
        syscall(SYS_exit_group, status);
}

static bool enter(const struct plan_filter *filter)
{
    struct sock_fprog program = { .len = (unsigned short)filter->count };
    struct sock_filter insns[BPF_MAXINSNS];

    memcpy(insns, filter->insns, filter->count * sizeof(insns[0]));
    program.filter = insns;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

/* Runs the attempts in a child under the filter: 0, or 1 + the number of the first surprise. */
static int attempts_under(const struct plan_filter *filter, const struct attempt *list, int count)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (!enter(filter))
            leave(255);
        for (int i = 0; i < count; i++) {
            errno = 0;
            long result = syscall(list[i].number, list[i].args[0], list[i].args[1], list[i].args[2],
                                  0, 0, 0);

            if (list[i].wanted ? result != -1 || errno != list[i].wanted : result == -1)
                leave(i + 1);
        }
        leave(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_kernel_refuses_what_the_command_must_not_do(void **state)
{
    struct seccomp_options options = { 0 };
    struct plan_filter filter;

    (void)state;
    seccomp_program(&options, &filter);
    assert_int_equal(attempts_under(&filter, command_attempts, ARRAY_LEN(command_attempts)), 0);
}

static void the_kernel_leaves_pid_1_its_few_calls(void **state)
{
    struct plan_filter filter;

    (void)state;
    seccomp_init_program(false, false, &filter);
    assert_int_equal(attempts_under(&filter, init_attempts, ARRAY_LEN(init_attempts)), 0);
}

static void the_options_open_what_they_name(void **state)
{
    static const struct attempt unix_attempts[] = {
        { SYS_socket, { AF_UNIX, SOCK_DGRAM }, 0 },
        { SYS_socketpair, { AF_UNIX, SOCK_DGRAM }, EFAULT },
        { SYS_setns, { -1 }, EPERM },
    };
    static const struct attempt nested_attempts[] = {
        { SYS_setns, { -1 }, EBADF },
        { SYS_clone3, { 0 }, EINVAL },
        { SYS_unshare, { CLONE_NEWUSER | CLONE_SETTLS }, EINVAL },
        { SYS_socket, { AF_UNIX, SOCK_STREAM }, EPERM },
        { SYS_bpf, { 0 }, EPERM },
    };
    static const struct attempt deaf_attempts[] = {
        { SYS_listen, { -1 }, EPERM },
        { SYS_bind, { -1 }, EBADF },
    };
    static const struct attempt hearing_attempts[] = { { SYS_listen, { -1 }, EBADF } };
    struct plan_filter filter;

    (void)state;
    seccomp_program(&(struct seccomp_options){ 0 }, &filter);
    assert_int_equal(attempts_under(&filter, hearing_attempts, ARRAY_LEN(hearing_attempts)), 0);
    seccomp_program(&(struct seccomp_options){ .deaf = true }, &filter);
    assert_int_equal(attempts_under(&filter, deaf_attempts, ARRAY_LEN(deaf_attempts)), 0);
    seccomp_program(&(struct seccomp_options){ .unix_sockets = true }, &filter);
    assert_int_equal(attempts_under(&filter, unix_attempts, ARRAY_LEN(unix_attempts)), 0);
    seccomp_program(&(struct seccomp_options){ .nested = true }, &filter);
    assert_int_equal(attempts_under(&filter, nested_attempts, ARRAY_LEN(nested_attempts)), 0);
}

#ifdef __x86_64__
static void the_kernel_kills_what_calls_by_int_0x80(void **state)
{
    struct plan_filter filter;
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    seccomp_program(&(struct seccomp_options){ 0 }, &filter);
    if (pid == 0) {
        long result = 20; /* getpid on i386 */

        if (!enter(&filter))
            leave(255);
        __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
        leave(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    /* SIGSEGV: a kernel without i386 emulation. */
    assert_true(WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_refuses_what_the_command_must_not_do),
        cmocka_unit_test(the_kernel_leaves_pid_1_its_few_calls),
        cmocka_unit_test(the_options_open_what_they_name),
#ifdef __x86_64__
        cmocka_unit_test(the_kernel_kills_what_calls_by_int_0x80),
#endif
    };

    return cmocka_run_group_tests_name("seccomp_kernel", tests, NULL, NULL);
}
