/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdat COMMAND…: runs it on a machine that is busy elsewhere at the worst moment. What it starts
 * first waits until the command itself enters its second sched_setaffinity (or does something else
 * than that after the first); then the command waits until what it started makes a process of its
 * own, or asks again and again who its parent is, or ends. Exit status: the command's; 98 if
 * nothing could be run.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

enum { UNUSABLE = 98, ENTRY = 1, ASKED_OFTEN = 3 };

/* <linux/ptrace.h> does not go with <sys/ptrace.h>. */
#define GET_SYSCALL_INFO 0x420e
struct call_info {
    uint8_t op, pad[3];
    uint32_t arch;
    uint64_t instruction, stack, number, args[6];
};

static pid_t first, waiting; /* waiting: for the command, before its own first call; 0: nobody */
static bool held, decided;
static int moves, asked;

static void go_on(pid_t pid, int signal_sent)
{
    (void)ptrace(PTRACE_SYSCALL, pid, NULL, signal_sent);
}

static void release(void)
{
    if (held)
        go_on(first, 0);
    held = false;
}

static void decide(void)
{
    decided = true;
    if (waiting)
        go_on(waiting, 0);
    waiting = 0;
}

/* True: it goes on. */
static bool on_call(pid_t pid)
{
    struct call_info call = { 0 };

    if (ptrace(GET_SYSCALL_INFO, pid, sizeof call, &call) <= 0 || call.op != ENTRY)
        return true;
    if (pid != first) {
        if (held && call.number == SYS_getppid && ++asked == ASKED_OFTEN)
            release();
        return true;
    }
    if (decided)
        return true;
    if (call.number == SYS_sched_setaffinity)
        held = ++moves == 2;
    if (held || (moves && call.number != SYS_sched_setaffinity))
        decide();
    return !held;
}

static void on_event(pid_t pid, int event)
{
    if (pid == first && event == PTRACE_EVENT_VFORK)
        decide(); /* it waits itself */
    else if (pid != first && event != PTRACE_EVENT_EXEC)
        release(); /* what it started has made a process */
    go_on(pid, 0);
}

static void on_stop(pid_t pid, int status)
{
    const int signal_sent = WSTOPSIG(status);

    if (signal_sent == (SIGTRAP | 0x80)) {
        if (on_call(pid))
            go_on(pid, 0);
    } else if (status >> 16 != 0) {
        on_event(pid, status >> 16);
    } else if (signal_sent == SIGSTOP && pid != first && !decided && !waiting) {
        waiting = pid; /* it is new */
    } else {
        go_on(pid, signal_sent == SIGSTOP ? 0 : signal_sent);
    }
}

static int follow(void)
{
    int status, result = UNUSABLE;
    pid_t pid;

    while ((pid = waitpid(-1, &status, __WALL)) > 0) {
        if (WIFSTOPPED(status)) {
            on_stop(pid, status);
            continue;
        }
        if (pid == first)
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        release();
    }
    return result;
}

int main(int argc, char **argv)
{
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
    int status;

    if (argc < 2)
        return UNUSABLE;
    first = traced_start(argv + 1, UNUSABLE);
    if (first < 0 || waitpid(first, &status, 0) != first || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, first, NULL, options) < 0)
        return UNUSABLE;
    go_on(first, 0);
    return follow();
}
