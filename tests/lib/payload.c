/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests run inside the sandbox: one static program whose first argument names an attempt.
 *
 *     payload sys NAME|NUMBER ARG…    the system call itself. An ARG is a number, @text (a pointer
 * to it), %N (a pointer to N zero bytes) or ^path (a descriptor of it, opened O_PATH) payload NAME
 * ARG…               an attempt of several calls (the table below)
 *
 * Prints "ok" or the name of the errno, one line, and ends with 0 either way: that the sandbox
 * refused is what a test compares. 2 means that the test itself is wrong. It trusts its caller and
 * checks nothing: it is the attacker. Attempts that race or flood have a bound, so that a test
 * ends.
 */
#include "payload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(name)                                                                                 \
    {                                                                                              \
#name, __NR_##name                                                                         \
    }

static const struct {
    const char *name;
    long number;
} calls[] = {
    CALL(acct),
    CALL(add_key),
    CALL(adjtimex),
    CALL(bpf),
    CALL(capset),
    CALL(chroot),
    CALL(clock_settime),
    CALL(clone3),
    CALL(copy_file_range),
    CALL(delete_module),
    CALL(fanotify_init),
    CALL(fchmodat),
    CALL(fchownat),
    CALL(finit_module),
    CALL(fsconfig),
    CALL(fsmount),
    CALL(fsopen),
    CALL(fspick),
    CALL(getpid),
    CALL(init_module),
    CALL(io_uring_enter),
    CALL(io_uring_register),
    CALL(io_uring_setup),
    CALL(ioctl),
    CALL(kcmp),
    CALL(kexec_load),
    CALL(keyctl),
    CALL(kill),
    CALL(landlock_create_ruleset),
    CALL(linkat),
    CALL(mkdirat),
    CALL(mknodat),
    CALL(mount),
    CALL(mount_setattr),
    CALL(move_mount),
    CALL(mq_open),
    CALL(mq_unlink),
    CALL(msgget),
    CALL(open_by_handle_at),
    CALL(open_tree),
    CALL(openat),
    CALL(perf_event_open),
    CALL(personality),
    CALL(pidfd_open),
    CALL(pivot_root),
    CALL(prctl),
    CALL(process_vm_readv),
    CALL(process_vm_writev),
    CALL(ptrace),
    CALL(quotactl),
    CALL(reboot),
    CALL(renameat2),
    CALL(request_key),
    CALL(rt_sigqueueinfo),
    CALL(semget),
    CALL(sethostname),
    CALL(setns),
    CALL(setresuid),
    CALL(setsid),
    CALL(settimeofday),
    CALL(shmat),
    CALL(shmget),
    CALL(socket),
    CALL(socketpair),
    CALL(swapon),
    CALL(symlinkat),
    CALL(syslog),
    CALL(tgkill),
    CALL(truncate),
    CALL(umount2),
    CALL(unlinkat),
    CALL(unshare),
    CALL(userfaultfd),
    CALL(utimensat),
#ifdef __x86_64__
    CALL(ioperm),
    CALL(iopl),
    CALL(modify_ldt),
#endif
};

static const struct attempt attempts[] = {
    { "abstract", try_abstract },           /* NAME: connect to an abstract socket, send */
    { "append", try_append },               /* PATH TEXT */
    { "clone", try_clone },                 /* FLAGS */
    { "clone3", try_clone3 },               /* FLAGS */
    { "create", try_create },               /* PATH: a new file */
    { "daemon", try_daemon },               /* SECONDS PATH: double fork, then make PATH */
    { "dir-open", try_dir_open },           /* PATH: list a directory */
    { "fds", try_fds },                     /* print the open descriptors */
    { "files", try_files },                 /* open until refused; print how many */
    { "forks", try_forks },                 /* LIMIT: fork until refused; print how many */
    { "handle", try_handle },               /* PATH MOUNT: open by handle */
    { "identify", try_identify },           /* PATH: device:inode of what is seen there */
    { "inet", try_inet },                   /* tcp|udp|tfo|mptcp|raw ADDRESS PORT */
    { "int80", try_int80 },                 /* NUMBER: a call of the 32-bit ABI */
    { "loopback", try_loopback },           /* TCP to ourselves */
    { "memory", try_memory },               /* MIB: touch that much */
    { "mmap-write", try_mmap_write },       /* PATH: through a shared mapping */
    { "openat2", try_openat2 },             /* PATH FLAGS MODE */
    { "pair", try_pair },                   /* stream|dgram|seqpacket|raw PATH: socketpair, leave */
    { "passing", try_passing },             /* send and receive a descriptor over a pair */
    { "peek", try_peek },                   /* PID: read its memory */
    { "poke", try_poke },                   /* PID: write its memory */
    { "race-rename", try_race_rename },     /* DIR NAME ROUNDS: rename over a protected name */
    { "race-swap", try_race_swap },         /* DIR TARGET ROUNDS: directory <-> symlink, write */
    { "reopen", try_reopen },               /* PATH: open to read, then write by /proc/self/fd */
    { "serve", try_serve },                 /* LOG DIR ABSTRACT: the host's canaries */
    { "state", try_state },                 /* print what the kernel says of us */
    { "storm", try_storm },                 /* SECONDS UP OUTLIVED: grows while killed */
    { "tmpfile", try_tmpfile },             /* DIR */
    { "truncate-open", try_truncate_open }, /* PATH: O_TRUNC, read-only as well */
    { "unix", try_unix },                   /* stream|dgram|seqpacket PATH: connect and send */
    { "write", try_write },                 /* PATH TEXT */
    { "xattr", try_xattr },                 /* PATH: set one */
};

static void usage(const char *what, const char *name)
{
    (void)fprintf(stderr, "payload: %s '%s'\n", what, name);
    exit(2);
}

long payload_number(const char *text)
{
    char *end;

    errno = 0;
    long value = text[0] == '-' ? strtol(text, &end, 0) : (long)strtoul(text, &end, 0);
    if (errno || *end || !*text)
        usage("not a number", text);
    return value;
}

long payload_errno(long r)
{
    return r < 0 ? -errno : r;
}

void payload_say(long r)
{
    const char *name = r < 0 ? strerrorname_np((int)-r) : "ok";

    (void)printf("%s\n", name ? name : "?");
    (void)fflush(stdout);
}

static long call_argument(const char *text)
{
    if (text[0] == '@')
        return (long)(text + 1);
    if (text[0] == '^')
        return open(text + 1, O_PATH | O_CLOEXEC);
    if (text[0] != '%')
        return payload_number(text);

    void *zeros = calloc(1, (size_t)payload_number(text + 1));
    if (!zeros)
        usage("out of memory", text);
    return (long)zeros;
}

static long call_number(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(calls[i].name, name) == 0)
            return calls[i].number;
    return payload_number(name);
}

static long try_sys(int argc, char **argv)
{
    long a[6] = { 0 };
    long number = call_number(argv[0]);

    for (int i = 1; i < argc && i <= 6; i++)
        a[i - 1] = call_argument(argv[i]);
    return payload_errno(syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

int main(int argc, char **argv)
{
    char *args[PAYLOAD_ARGS];

    if (argc < 2)
        usage("what to do", "");
    if (strcmp(argv[1], "sys") == 0 && argc > 2) {
        payload_say(try_sys(argc - 2, argv + 2));
        return 0;
    }
    for (int i = 0; i < PAYLOAD_ARGS; i++)
        args[i] = i + 2 < argc ? argv[i + 2] : "";
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++)
        if (strcmp(attempts[i].name, argv[1]) == 0) {
            payload_say(attempts[i].run(args));
            return 0;
        }
    usage("no attempt", argv[1]);
}
