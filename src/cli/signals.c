/* SPDX-License-Identifier: Apache-2.0 */
/* Signals on Linux: a signalfd, from which reading one takes it away from the process. */
#include "cli/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

int signals_open(const int *numbers, size_t count)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < count; i++)
        if (!signals_is_nohup(numbers[i]))
            (void)sigaddset(&set, numbers[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_next(int fd)
{
    struct signalfd_siginfo info;

    return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}
