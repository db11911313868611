/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of things. Each step applies one layer of the plan or prepares the next; its name is
 * what errors, `agentbox plan` and the fault tests call it. The first failure ends the run.
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

/* clang-format off */
static const struct step steps[] = {
    /* name         layer           apply            */
    { "identity",   LAYER_USERNS,   userns_map_self  }, /* first: grants what the rest needs */
    { "session",    LAYER_COUNT,    step_session     },
    { "netns",      LAYER_NETNS,    netns_begin      }, /* takes its time elsewhere */
    { "keyring",    LAYER_COUNT,    step_keyring     },
    { "bounds",     LAYER_COUNT,    caps_bound       },
    { "prepare",    LAYER_MOUNTS,   view_prepare     },
    { "streams",    LAYER_MOUNTS,   streams_confine  },
    { "plan",       LAYER_COUNT,    plan_receive     }, /* what follows needs to know it */
    { "hostname",   LAYER_UTSNS,    step_hostname    },
    { "mounts",     LAYER_MOUNTS,   mount_view       },
    { "devices",    LAYER_MOUNTS,   streams_renew    },
    { "loopback",   LAYER_NETNS,    netns_join       },
    { "listeners",  LAYER_NETNS,    step_listeners   }, /* where the proxy accepts */
    { "close",      LAYER_MOUNTS,   mount_close      },
    { "sockets",    LAYER_MOUNTS,   sockets_open     }, /* of the host, as the view shows them */
    { "relay",      LAYER_COUNT,    relay_open       }, /* to the proxy, without a namespace */
    { "terminal",   LAYER_COUNT,    step_terminal    },
    { "limits",     LAYER_LIMITS,   limits_apply     },
    { "privileges", LAYER_COUNT,    caps_drop        }, /* after all that needs capabilities */
    { "guard",      LAYER_COUNT,    step_guard       },
    { "enclose",    LAYER_LANDLOCK, stray_enclose    },
    { "masks",      LAYER_MOUNTS,   masks_serve      }, /* a thread: shut in as pid 1 is */
};

/* In namespaces and a view that bwrap has made, and without capabilities. */
static const struct step bwrapped_steps[] = {
    { "session",    LAYER_COUNT,    step_session     },
    { "keyring",    LAYER_COUNT,    step_keyring     },
    { "bounds",     LAYER_COUNT,    caps_bound       },
    { "plan",       LAYER_COUNT,    plan_receive     },
    { "mounts",     LAYER_MOUNTS,   bwrapped_view    }, /* is it what was planned? */
    { "streams",    LAYER_MOUNTS,   streams_confine  },
    { "devices",    LAYER_MOUNTS,   streams_renew    },
    { "listeners",  LAYER_NETNS,    step_listeners   },
    { "close",      LAYER_MOUNTS,   mount_close      },
    { "sockets",    LAYER_MOUNTS,   sockets_open     },
    { "terminal",   LAYER_COUNT,    step_terminal    },
    { "limits",     LAYER_LIMITS,   limits_apply     },
    { "privileges", LAYER_COUNT,    caps_drop        },
    { "guard",      LAYER_COUNT,    step_guard       },
    { "enclose",    LAYER_LANDLOCK, stray_enclose    },
};
/* clang-format on */

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
