/* SPDX-License-Identifier: Apache-2.0 */
/* A program that the caller traces from its first instruction. */
#ifndef ABX_TESTS_TRACED_H
#define ABX_TESTS_TRACED_H

#include <sys/ptrace.h>
#include <unistd.h>

/* Its pid; it exits with `unusable` if it cannot be run. */
static inline pid_t traced_start(char **argv, int unusable)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        _exit(unusable);
    execv(argv[0], argv);
    _exit(unusable);
}

#endif
