/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals as a descriptor. They stay blocked in the keeper and in pid 1, so none is ever lost or
 * handled at a bad moment; the command gets a clean slate before exec. Both use the same
 * descriptor: a signalfd delivers the signals of whoever reads it.
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

#define BIT(n) (UINT64_C(1) << ((n)-1))
#define WATCHED                                                                                    \
    (BIT(SIGCHLD) | BIT(SIGTERM) | BIT(SIGINT) | BIT(SIGHUP) | BIT(SIGQUIT) | BIT(SIGUSR1) |       \
     BIT(SIGUSR2) | BIT(SIGTSTP) | BIT(SIGCONT) | BIT(SIGWINCH) | BIT(SIGALRM))

/* A host may ignore some, and that survives exec; SIGCHLD must not be. */
static void reset_actions(void)
{
    const struct sigaction_kernel def = { 0 };

    for (int n = 1; n <= 64; n++)
        if (n != SIGKILL && n != SIGSTOP)
            (void)TRY4(__NR_rt_sigaction, n, &def, 0, SIGSET_BYTES); /* cannot fail for 1…64 */
}

long signals_open(void)
{
    const uint64_t all = ~UINT64_C(0), mask = WATCHED;
    long r = SYS4(__NR_rt_sigprocmask, SIG_SETMASK, &all, 0, SIGSET_BYTES);

    if (r < 0)
        return r;
    reset_actions();
    long fd = SYS4(__NR_signalfd4, -1, &mask, SIGSET_BYTES, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0 || fd == LAUNCH_FD_SIGNALS)
        return fd;
    r = SYS3(__NR_dup3, fd, LAUNCH_FD_SIGNALS, SYS_O_CLOEXEC);
    file_close((int)fd);
    return r;
}

int signals_next(uint32_t *ret_sender)
{
    struct signalfd_siginfo info;

    if (TRY3(__NR_read, LAUNCH_FD_SIGNALS, &info, sizeof info) != (long)sizeof info)
        return 0;
    /* Only for kill() the kernel fills the sender in; a queued signal or SIGIO may say anything. */
    const int by_kill = 0; /* SI_USER */
    *ret_sender = info.ssi_code == by_kill ? info.ssi_pid : UINT32_MAX;
    return (int)info.ssi_signo;
}

void signals_unblock(void)
{
    const uint64_t none = 0;

    (void)TRY4(__NR_rt_sigprocmask, SIG_SETMASK, &none, 0, SIGSET_BYTES);
}
