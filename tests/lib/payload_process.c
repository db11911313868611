/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts on processes and on the kernel itself, what the kernel says of us, and the floods
 * (forks, memory, descriptors), each with a bound of its own so that a missing limit fails a test
 * and not the machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "payload.h"

#define MAX_FD     65536
#define MAX_FORKS  100000
#define MAX_OPENED 1000000
#define STORM_LINE 48

static long child_made(long pid)
{
    if (pid < 0)
        return -errno;
    if (pid == 0)
        _exit(0);
    return payload_errno(waitpid((pid_t)pid, NULL, __WALL));
}

long try_clone(char **args)
{
    return child_made(syscall(SYS_clone, payload_number(args[0]) | SIGCHLD, 0, 0, 0, 0));
}

long try_clone3(char **args)
{
    struct clone_args clone = { .flags = (uint64_t)payload_number(args[0]),
                                .exit_signal = SIGCHLD };

    return child_made(syscall(SYS_clone3, &clone, sizeof clone));
}

/* EFAULT would mean that the process let us in, and only the address was wrong. */
long try_peek(char **args)
{
    long word;
    struct iovec here = { &word, sizeof word }, there = { (void *)0x10000, sizeof word };

    return payload_errno(process_vm_readv((pid_t)payload_number(args[0]), &here, 1, &there, 1, 0));
}

long try_poke(char **args)
{
    long word = 0;
    struct iovec here = { &word, sizeof word }, there = { (void *)0x10000, sizeof word };

    return payload_errno(process_vm_writev((pid_t)payload_number(args[0]), &here, 1, &there, 1, 0));
}

/* In a child: a filter may well kill for it. */
long try_int80(char **args)
{
#ifdef __x86_64__
    pid_t pid = fork();
    int status;

    if (pid < 0)
        return -errno;
    if (pid == 0) {
        long r;
        __asm__ volatile("int $0x80" : "=a"(r) : "a"(payload_number(args[0])) : "memory");
        _exit(r < 0 ? 1 : 0);
    }
    if (waitpid(pid, &status, 0) < 0)
        return -errno;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
        (void)printf("SIGSYS ");
        return -EPERM;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ENOSYS;
#else
    (void)args;
    (void)printf("SIGSYS ");
    return -EPERM;
#endif
}

/* By asking for each number, so that it does not rest on /proc. */
long try_fds(char **args)
{
    (void)args;
    for (int fd = 0; fd < MAX_FD; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            (void)printf("%d ", fd);
    return 0;
}

long try_state(char **args)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[2] = { { 0 } };
    int ambient = 0, bounding = 0;

    (void)args;
    if (syscall(SYS_capget, &head, caps) < 0)
        return -errno;
    for (int cap = 0; cap < 64; cap++) {
        ambient += prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1;
        bounding += prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1;
    }
    (void)printf("effective=%x%08x permitted=%x%08x inheritable=%x%08x ambient=%d bounding=%d ",
                 caps[1].effective, caps[0].effective, caps[1].permitted, caps[0].permitted,
                 caps[1].inheritable, caps[0].inheritable, ambient, bounding);
    (void)printf("no_new_privs=%d seccomp=%d ", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
                 prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
    return 0;
}

/* The children wait for our end of a pipe, so they all live at once. */
long try_forks(char **args)
{
    long limit = payload_number(args[0]), made = 0;
    int gate[2];
    long r = 0;

    if (pipe2(gate, O_CLOEXEC) < 0)
        return -errno;
    while (made < limit && made < MAX_FORKS) {
        pid_t pid = fork();
        if (pid < 0) {
            r = -errno;
            break;
        }
        if (pid == 0) {
            (void)close(gate[1]);
            (void)!read(gate[0], &(char){ 0 }, 1);
            _exit(0);
        }
        made++;
    }
    (void)close(gate[1]);
    while (wait(NULL) > 0)
        continue;
    (void)printf("%ld ", made);
    return r;
}

static void make_file(const char *path)
{
    (void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
}

/*
 * A line of processes, each the child of the one before, in a session of its own, none of which
 * ends before its time. The last one forks whenever one of the line is gone, so who kills them one
 * after the other hunts for long; and it makes the file OUTLIVED. It never does if all are killed
 * at one stroke: then its own signal waits for it before the first of the others can be reaped, and
 * it does not come back from kill().
 */
long try_storm(char **args)
{
    const time_t end = time(NULL) + payload_number(args[0]);
    pid_t line[STORM_LINE];

    for (long made = 0; made < MAX_FORKS && time(NULL) < end;) {
        const pid_t *oldest = &line[(made + 1) % STORM_LINE];

        line[made % STORM_LINE] = getpid();
        if (made + 1 == STORM_LINE)
            make_file(args[1]);
        while (made + 1 >= STORM_LINE && time(NULL) < end && kill(*oldest, 0) == 0)
            (void)sched_yield();
        if (made + 1 >= STORM_LINE && time(NULL) < end)
            make_file(args[2]);
        pid_t pid = fork();
        while (pid > 0 && time(NULL) < end)
            (void)sleep(1);
        if (pid > 0)
            _exit(0);
        if (pid == 0) {
            made++;
            (void)setsid();
        }
    }
    _exit(0);
}

long try_memory(char **args)
{
    size_t size = (size_t)payload_number(args[0]) << 20;
    char *memory = malloc(size);

    if (!memory)
        return -ENOMEM;
    (void)memset(memory, 1, size);
    return memory[size - 1] == 1 ? 0 : -EIO;
}

long try_files(char **args)
{
    long opened = 0;

    (void)args;
    while (opened < MAX_OPENED && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
        opened++;
    (void)printf("%ld ", opened);
    return opened < MAX_OPENED ? -errno : 0;
}

/* args: seconds, path. Leaves its group, its session and its parents, and ignores what it can. */
long try_daemon(char **args)
{
    pid_t pid = fork();

    if (pid != 0)
        return payload_errno(pid);
    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_IGN);
    (void)setsid();
    if (fork() != 0)
        _exit(0);
    (void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    (void)sleep((unsigned)payload_number(args[0]));
    make_file(args[1]);
    _exit(0);
}
