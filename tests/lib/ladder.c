/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program as if the kernel were older, or a container's engine had its filter around it:
 *
 *     ladder RUNG… -- PROGRAM ARG…
 *
 *     NAME=ERRNO       that system call fails: clone3=ENOSYS, open_tree=EPERM, …; "nothing": it
 *                      does nothing, and says that it worked
 *     userns=ERRNO     clone and unshare of a user namespace do; clone3 does not exist
 *     netns=ERRNO      the same of a network namespace
 *     notify=ERRNO     a filter with a listener cannot be had
 *     landlock=N       Landlock has ABI N (0: it is switched off), and takes no longer arguments
 *
 * A number that is not an error cannot come from a filter, so landlock=N is answered by this
 * process, which waits for the program's end.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_INSNS 256
#define MISUSED   99

static const struct {
    const char *name;
    long number;
} calls[] = {
    { "bind", SYS_bind },
    { "clone3", SYS_clone3 },
    { "close_range", SYS_close_range },
    { "fsopen", SYS_fsopen },
    { "keyctl", SYS_keyctl },
    { "kill", SYS_kill },
    { "landlock_create_ruleset", SYS_landlock_create_ruleset },
    { "landlock_restrict_self", SYS_landlock_restrict_self },
    { "listmount", 458 }, /* of a newer libc's headers */
    { "memfd_create", SYS_memfd_create },
    { "mount", SYS_mount },
    { "mount_setattr", SYS_mount_setattr },
    { "move_mount", SYS_move_mount },
    { "open_tree", SYS_open_tree },
    { "openat2", SYS_openat2 },
    { "pidfd_open", SYS_pidfd_open },
    { "seccomp", SYS_seccomp },
    { "setns", SYS_setns },
    { "statx", SYS_statx },
};

static const struct {
    const char *name;
    int number;
} errors[] = {
    { "EACCES", EACCES }, { "EINVAL", EINVAL }, { "ENOSPC", ENOSPC },
    { "ENOSYS", ENOSYS }, { "EPERM", EPERM },   { "nothing", 0 },
};

static struct sock_filter program[MAX_INSNS];
static unsigned short length;
static long abi = -1;

static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "ladder: %s: %s\n", what, strerror(errno));
    exit(MISUSED);
}

static void put(uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
    if (length == MAX_INSNS)
        give_up("too many rungs");
    program[length++] = (struct sock_filter){ code, yes, no, k };
}

static void answer(uint32_t value)
{
    put(BPF_RET | BPF_K, 0, 0, value);
}

static void fail_call(long number, int error)
{
    put(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
    put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)number);
    answer(SECCOMP_RET_ERRNO | (uint32_t)error);
}

/* If one of the bits is in the argument's lower half. */
static void fail_flags(long number, size_t argument, uint32_t bits, int error)
{
    put(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
    put(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, (uint32_t)number);
    put(BPF_LD | BPF_W | BPF_ABS, 0, 0,
        (uint32_t)(offsetof(struct seccomp_data, args) + 8 * argument));
    put(BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
    answer(SECCOMP_RET_ERRNO | (uint32_t)error);
}

static int error_of(const char *name)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].number;
    errno = EINVAL;
    give_up(name);
}

static void add_rung(char *rung)
{
    char *value = strchr(rung, '=');

    errno = EINVAL;
    if (!value)
        give_up(rung);
    *value++ = '\0';
    if (strcmp(rung, "landlock") == 0) {
        abi = strtol(value, NULL, 10);
        put(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
        put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)SYS_landlock_create_ruleset);
        answer(SECCOMP_RET_USER_NOTIF);
        return;
    }
    int error = error_of(value);
    if (strcmp(rung, "userns") == 0 || strcmp(rung, "netns") == 0) {
        const uint32_t flag = rung[0] == 'u' ? CLONE_NEWUSER : CLONE_NEWNET;
        fail_call(SYS_clone3, ENOSYS);
        fail_flags(SYS_clone, 0, flag, error);
        fail_flags(SYS_unshare, 0, flag, error);
        return;
    }
    if (strcmp(rung, "notify") == 0) {
        fail_flags(SYS_seccomp, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, error);
        return;
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, rung) == 0) {
            fail_call(calls[i].number, error);
            return;
        }
    give_up(rung);
}

static int load(unsigned flags)
{
    const struct sock_fprog filter = { length, program };

    /* Root needs it not, and a setuid program may be what is tried. */
    if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        give_up("no_new_privs");
    int r = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
    if (r < 0)
        give_up("seccomp");
    return r;
}

/* ---- the answers to landlock=N ---- */

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static void pass_listener(int socket, int listener)
{
    union control control = { .bytes = { 0 } };
    char byte = 'l';
    struct iovec data = { &byte, 1 };
    struct msghdr msg = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof listener);
    memcpy(CMSG_DATA(c), &listener, sizeof listener);
    if (sendmsg(socket, &msg, 0) != 1)
        give_up("pass the listener");
}

static int take_listener(int socket)
{
    union control control = { .bytes = { 0 } };
    char byte;
    struct iovec data = { &byte, 1 };
    struct msghdr msg = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    int listener = -1;

    if (recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&msg))
        give_up("take the listener");
    memcpy(&listener, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof listener);
    return listener;
}

/* What a kernel of that ABI says. */
static void decide(const struct seccomp_data *call, struct seccomp_notif_resp *reply)
{
    const uint64_t longest = abi < 4 ? 8 : abi < 6 ? 16 : 24;

    if (abi == 0)
        reply->error = -EOPNOTSUPP;
    else if (call->args[2] == 1)
        reply->val = abi;
    else if (call->args[1] > longest)
        reply->error = -E2BIG;
    else
        reply->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
}

static void supervise(int listener)
{
    struct pollfd fd = { .fd = listener, .events = POLLIN };

    while (poll(&fd, 1, -1) > 0 && (fd.revents & POLLIN)) {
        struct seccomp_notif call = { 0 };
        struct seccomp_notif_resp reply = { 0 };

        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
            continue; /* whoever asked is gone */
        reply.id = call.id;
        decide(&call.data, &reply);
        (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
    }
}

static int run_supervised(char **argv)
{
    int ends[2], status = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        give_up("socketpair");
    pid_t pid = fork();
    if (pid < 0)
        give_up("fork");
    if (pid == 0) {
        pass_listener(ends[1], load(SECCOMP_FILTER_FLAG_NEW_LISTENER));
        close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
        (void)execvp(argv[0], argv);
        give_up(argv[0]);
    }
    (void)close(ends[1]);
    supervise(take_listener(ends[0]));
    if (waitpid(pid, &status, 0) != pid)
        give_up("wait");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    int i = 1;

    for (; i < argc && strcmp(argv[i], "--") != 0; i++)
        add_rung(argv[i]);
    if (i + 1 >= argc) {
        (void)fprintf(stderr, "usage: ladder RUNG... -- PROGRAM ARG...\n");
        return MISUSED;
    }
    answer(SECCOMP_RET_ALLOW);
    if (abi >= 0)
        return run_supervised(argv + i + 1);
    (void)load(0);
    (void)execvp(argv[i + 1], argv + i + 1);
    give_up(argv[i + 1]);
}
