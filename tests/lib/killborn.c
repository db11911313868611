/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killborn COMMAND…: runs it on a machine that is so busy that what it starts first does not get to
 * run, and kills its process group after half a second of that. Exit status: 0 killed, 3 it ended
 * before, or started nothing; 2 it could not be run.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "traced.h"

enum { KILLED = 0, UNUSABLE = 2, ENDED = 3, ROUNDS = 50 };

/* Lets `first` go on and keeps its child, once there is one, where it was born; false: it ended. */
static bool look(pid_t first, pid_t *child)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
        if (!WIFSTOPPED(status))
            return false;
        if (pid != first)
            *child = pid;
        else
            (void)ptrace(PTRACE_CONT, pid, NULL,
                         WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
    }
    return true;
}

static int follow(pid_t first)
{
    const struct timespec pause = { .tv_nsec = 10000000 };
    pid_t child = 0;

    for (int i = 0; i < ROUNDS; i++) {
        if (!look(first, &child))
            return ENDED;
        (void)nanosleep(&pause, NULL);
    }
    if (child && getpgid(child) == getpgid(first))
        (void)kill(child, SIGKILL);
    (void)kill(first, SIGKILL);
    return child ? KILLED : ENDED;
}

int main(int argc, char **argv)
{
    const long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
    int status;

    if (argc < 2)
        return UNUSABLE;
    pid_t first = traced_start(argv + 1, UNUSABLE);
    if (first < 0 || waitpid(first, &status, 0) != first || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, first, NULL, options) < 0 ||
        ptrace(PTRACE_CONT, first, NULL, 0) < 0)
        return UNUSABLE;
    return follow(first);
}
