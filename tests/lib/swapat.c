/* SPDX-License-Identifier: Apache-2.0 */
/*
 * swapat mount|readlink NAME A B [C D] -- COMMAND…: runs it, and plays somebody who writes the same
 * directory and always comes at the right moment. While the command, or a process below it,
 * bind-mounts onto a file of that name, or for the first time asks whether it is a link, A and B
 * are exchanged; after that, C and D whenever somebody looks at the name (statx). Exit status: the
 * command's; 99 if A and B were never exchanged, 98 if nothing could be run.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

/* <linux/ptrace.h> does not go with <sys/ptrace.h>. */
#define GET_SYSCALL_INFO 0x420e
struct call_info {
    uint8_t op, pad[3];
    uint32_t arch;
    uint64_t instruction, stack;
    struct {
        uint64_t nr, args[6];
    } entry;
};

enum { UNUSABLE = 98, NEVER = 99, ENTRY = 1, TASKS = 32 };

static const char *name, *pairs[2][2];
static bool at_mounts;
static unsigned long swaps;
static struct {
    pid_t pid;
    int pair; /* that is exchanged for the time of its call */
} busy[TASKS];

/* Not by RENAME_EXCHANGE, which does nothing to two links to one file. */
static bool swap(int pair)
{
    const char *a = pairs[pair][0], *b = pairs[pair][1];
    char away[4096];

    if (!a)
        return false;
    (void)snprintf(away, sizeof away, "%s~", a);
    if (rename(a, away) < 0)
        return false;
    if (rename(b, a) < 0) {
        (void)rename(away, a);
        return false;
    }
    return rename(away, b) == 0;
}

static bool leads_to_name(pid_t pid, uint64_t address)
{
    char path[4096] = "";
    struct iovec here = { path, sizeof path - 1 }, there = { (void *)(uintptr_t)address, 0 };

    /* Up to the end of its page: what lies behind it may be nothing. */
    there.iov_len = 4096 - (size_t)(address & 4095);
    here.iov_len = there.iov_len < here.iov_len ? there.iov_len : here.iov_len;
    there.iov_len = here.iov_len;
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) <= 0)
        return false;
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, name) == 0;
}

static bool is_first_read(void)
{
    return !at_mounts && swaps == 0;
}

/* Which pair the call is about; -1: none. */
static int pair_of(pid_t pid, const struct call_info *call)
{
    const uint64_t *args = call->entry.args;

    switch (call->entry.nr) {
    case SYS_mount:
        return at_mounts && (args[3] & MS_BIND) && leads_to_name(pid, args[1]) ? 0 : -1;
#ifdef SYS_readlink
    case SYS_readlink:
        return is_first_read() && leads_to_name(pid, args[0]) ? 0 : -1;
#endif
    case SYS_readlinkat:
        return is_first_read() && leads_to_name(pid, args[1]) ? 0 : -1;
    case SYS_statx:
        return swaps && leads_to_name(pid, args[1]) ? 1 : -1;
    default:
        return -1;
    }
}

static void on_call(pid_t pid)
{
    struct call_info call = { 0 };

    for (int i = 0; i < TASKS; i++) {
        if (busy[i].pid == pid) { /* it leaves its call */
            (void)swap(busy[i].pair);
            busy[i].pid = 0;
            return;
        }
    }
    if (ptrace(GET_SYSCALL_INFO, pid, sizeof call, &call) <= 0 || call.op != ENTRY)
        return;
    const int pair = pair_of(pid, &call);
    if (pair < 0 || !swap(pair))
        return;
    swaps += pair == 0;
    for (int i = 0; i < TASKS; i++) {
        if (busy[i].pid == 0) {
            busy[i].pid = pid;
            busy[i].pair = pair;
            return;
        }
    }
}

static int follow(pid_t first)
{
    int status, result = UNUSABLE;
    pid_t pid;

    while ((pid = waitpid(-1, &status, __WALL)) > 0) {
        int pass = 0;

        if (!WIFSTOPPED(status)) {
            if (pid == first)
                result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        if (WSTOPSIG(status) == (SIGTRAP | 0x80))
            on_call(pid);
        else if (status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP)
            pass = WSTOPSIG(status);
        (void)ptrace(PTRACE_SYSCALL, pid, NULL, pass);
    }
    return result;
}

int main(int argc, char **argv)
{
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
    int at = 5, status;

    if (argc < 7)
        return UNUSABLE;
    at_mounts = strcmp(argv[1], "mount") == 0;
    name = argv[2];
    pairs[0][0] = argv[3];
    pairs[0][1] = argv[4];
    if (strcmp(argv[at], "--") != 0) {
        pairs[1][0] = argv[5];
        pairs[1][1] = argv[6];
        at = 7;
    }
    if (at + 1 >= argc || strcmp(argv[at], "--") != 0)
        return UNUSABLE;
    pid_t pid = traced_start(argv + at + 1, UNUSABLE);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, pid, NULL, options) < 0 ||
        ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0)
        return UNUSABLE;
    status = follow(pid);
    return swaps || status == UNUSABLE ? status : NEVER;
}
