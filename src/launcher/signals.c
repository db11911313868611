/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals as a descriptor. They stay blocked in the keeper and in pid 1, so none is ever lost or
 * handled at a bad moment; the command gets a clean slate before exec.
 */
#include <asm/signal.h>
#include <linux/signalfd.h>

#include "launcher/launcher.h"

#define SIGSET_BYTES 8

struct sigaction_kernel {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

long signals_open(uint64_t mask)
{
    const uint64_t all = SIGNAL_ALL;
    long r = SYS4(__NR_rt_sigprocmask, SIG_SETMASK, &all, 0, SIGSET_BYTES);

    if (r < 0)
        return r;
    return SYS4(__NR_signalfd4, -1, &mask, SIGSET_BYTES, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_next(int fd, uint32_t *ret_sender)
{
    struct signalfd_siginfo info;

    if (TRY3(__NR_read, fd, &info, sizeof info) != (long)sizeof info)
        return 0;
    *ret_sender = info.ssi_pid;
    return (int)info.ssi_signo;
}

void signals_reset(void)
{
    const struct sigaction_kernel def = { 0 };
    const uint64_t none = 0;

    for (int n = 1; n <= 64; n++)
        if (n != SIGKILL && n != SIGSTOP)
            (void)TRY4(__NR_rt_sigaction, n, &def, 0, SIGSET_BYTES); /* cannot fail for 1…64 */
    (void)TRY4(__NR_rt_sigprocmask, SIG_SETMASK, &none, 0, SIGSET_BYTES);
}
