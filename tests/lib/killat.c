/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killat N COMMAND…: runs it and kills it right after its N-th system call, which has had its
 * effect by then. Only its first thread is followed, none of its children. Exit status: 0 killed
 * there, 3 it made fewer calls, 2 it could not be run.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

enum { KILLED = 0, UNUSABLE = 2, TOO_FEW = 3 };

/* Lets it go on until it next enters or leaves a call; false if it ended. */
static int next_stop(pid_t pid)
{
    int status, signal_sent = 0;

    for (;;) {
        if (ptrace(PTRACE_SYSCALL, pid, NULL, signal_sent) < 0 || waitpid(pid, &status, 0) != pid ||
            !WIFSTOPPED(status))
            return 0;
        if (WSTOPSIG(status) == (SIGTRAP | 0x80))
            return 1;
        signal_sent = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    }
}

int main(int argc, char **argv)
{
    int status;

    if (argc < 3)
        return UNUSABLE;
    long calls = strtol(argv[1], NULL, 10);
    pid_t pid = traced_start(argv + 2, UNUSABLE);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return UNUSABLE;
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) < 0)
        return UNUSABLE;
    for (long stops = 0; stops < 2 * calls; stops++)
        if (!next_stop(pid))
            return TOO_FEW;
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return KILLED;
}
