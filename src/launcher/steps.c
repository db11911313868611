/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pid 1's way through its table (plan/steps.def), and the steps that are about the launcher itself.
 * The first failure ends the run.
 */
#include <asm/signal.h>
#include <linux/prctl.h>

#include "launcher/launcher.h"
#include "launcher/steps.h"

/* Away from the caller's terminal and group. */
static long step_session(struct launch *l)
{
    l->object = "session";
    return SYS0(__NR_setsid);
}

static long step_hostname(struct launch *l)
{
    l->object = l->plan.hostname;
    return SYS2(__NR_sethostname, l->plan.hostname, text_len(l->plan.hostname));
}

/*
 * Keys that the caller possesses stay outside. Kernels without keyrings have none to leave, and
 * inside another sandbox a filter keeps them out of reach already.
 */
static long step_keyring(struct launch *l)
{
    const int join_session_keyring = 1, filtered = 2;

    l->object = "session keyring";
    long r = SYS2(__NR_keyctl, join_session_keyring, 0);
    if (r == -EPERM && TRY1(__NR_prctl, PR_GET_SECCOMP) == filtered)
        return 0;
    return r == -ENOSYS ? 0 : r;
}

/* n: how many there are, or -errno. Nobody inside may have them. */
static long pass_out(struct launch *l, uint32_t kind, int *fds, long n)
{
    long r = n;

    if (n >= 0) {
        l->object = "host";
        r = report_sockets(kind, fds, (size_t)n);
    }
    while (n > 0)
        file_close(fds[--n]);
    return r;
}

/* Who has no proxy needs no listener: that there could be none (a service's SocketBindDeny=) is
 * nothing to him. */
static long step_listeners(struct launch *l)
{
    int fds[STATUS_MAX_FDS];
    long r = 0;

    if (l->plan.proxied)
        r = pass_out(l, STATUS_LISTENERS, fds, listen_open(l, fds));
    if (r >= 0 && l->plan.publishes)
        r = pass_out(l, STATUS_SOCKETS, fds, listen_sockets(l, fds));
    return r;
}

static long step_terminal(struct launch *l)
{
    long r = tty_open(l);

    if (r >= 0 && l->tty_master >= 0) {
        report_tty(l->tty_master);
        file_close(l->tty_master);
    }
    return r;
}

/*
 * Pid 1 goes when the keeper goes. Late, because a change of credentials clears the setting. If the
 * keeper is gone already, the host closes the lifeline, which pid 1 watches too.
 */
static long step_guard(struct launch *l)
{
    l->object = "/";
    long r = SYS1(__NR_chdir, "/");
    if (r < 0)
        return r;
    if (!(l->plan.layers & LAYER_BIT(LAYER_PIDNS))) {
        l->object = "subreaper"; /* orphans come to us, as they would to a real pid 1 */
        r = SYS5(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        if (r >= 0)
            r = stray_ready(l);
        if (r < 0)
            return r;
    }
    l->object = "parent death signal";
    /* Without a namespace to die with pid 1, it is told and ends the others first (init.c). */
    r = SYS5(__NR_prctl, PR_SET_PDEATHSIG, l->keeper ? SIGALRM : SIGKILL, 0, 0, 0);
    if (r < 0 || !l->keeper)
        return r;
    l->object = "keeper";
    return TRY0(__NR_getppid) == l->keeper ? 0 : -ESRCH;
}

static const struct step steps[] = {
#define INIT(name, layer, apply, words) { name, layer, apply },
#define BWRAPPED(name, layer, apply)
#define COMMAND(name, layer, apply, words)
#define OTHER(name, words)
#include "plan/steps.def"
#undef INIT
#undef BWRAPPED
};

static const struct step bwrapped_steps[] = {
#define INIT(name, layer, apply, words)
#define BWRAPPED(name, layer, apply) { name, layer, apply },
#include "plan/steps.def"
#undef INIT
#undef BWRAPPED
#undef COMMAND
#undef OTHER
};

long steps_apply(struct launch *l, const char **ret_step)
{
    const struct step *table = l->bwrapped ? bwrapped_steps : steps;
    const size_t count = l->bwrapped ? ARRAY_LEN(bwrapped_steps) : ARRAY_LEN(steps);

    for (size_t i = 0; i < count; i++) {
        *ret_step = table[i].name;
        if (!step_is_due(&l->plan, &table[i]))
            continue;
        long r = table[i].apply(l);
        if (r < 0)
            return r;
    }
    return 0;
}
