/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which back end a command gets: native, unless the configuration says otherwise.
 *
 *   inside another sandbox   that lets no namespace be made: Landlock, seccomp and limits, on top
 *                            of all that the outer one enforces; it can only narrow. What it is
 *                            asked for and cannot do is refused under fallbackPolicy "strict", and
 *                            named under "warn". What the outer sandbox holds is named once
 *   bwrap                    see bwrap.c
 *   landlock                 the same with nothing around it, because it was asked for, or because
 *                            a start found that this host has no namespaces for us. What it cannot
 *                            keep (plan/shortfalls.def) is refused, or named under "warn"
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/cause.h"
#include "api/internal.h"
#include "base/buf.h"
#include "plan/shortfalls.h"
#include "probe/enumerate.h"
#include "probe/inside.h"
#include "run/cgroup.h"
#include "run/probe.h"

static int32_t refuse(abx_command *c, uint32_t shortfall, const char *what, const char *hint,
                      abx_error **err)
{
    int32_t r = command_cannot(c, "inside another sandbox", what, err);

    c->shortfalls |= UINT32_C(1) << shortfall;
    if (r != ABX_OK)
        err_hint(err, "%s; or start the outer one with --set allowNestedNamespaces=true", hint);
    return r;
}

static int32_t check_commands(abx_command *c, abx_error **err)
{
    char text[256];
    int32_t r = ABX_OK;

    for (size_t i = 0; i < c->policy->command_count && r == ABX_OK; i++) {
        const struct policy_command *rule = &c->policy->commands[i];
        if (rule->kind == COMMAND_BLOCK || rule->origin == ORIGIN_BUILTIN)
            continue;
        (void)snprintf(text, sizeof text, "'%.64s' cannot be covered by '%.128s'", rule->name,
                       rule->text);
        r = refuse(c, SHORTFALL_COMMANDS, text,
                   "the outer sandbox's rules for commands hold; leave it out", err);
    }
    return r;
}

/* Without a list nothing may be reached, and that can be kept. */
static int32_t check_network(abx_command *c, abx_error **err)
{
    if (c->policy->network != NETWORK_FILTERED || !c->layers.last[KEY_ALLOWED_DOMAINS])
        return ABX_OK;
    return refuse(c, SHORTFALL_HOSTS, "hosts cannot be chosen anew: there is no network at all",
                  "use --network allowed to have what the outer one allows, or blocked", err);
}

/* Without a view and a monitor of its own there is nobody who could choose. */
static int32_t check_sockets(abx_command *c, abx_error **err)
{
    if (!c->policy->named_count || c->policy->unix_sockets)
        return ABX_OK;
    return refuse(c, SHORTFALL_NAMED, "single sockets cannot be let in",
                  "leave --unix-socket and --docker out", err);
}

static int32_t check_ports(abx_command *c, abx_error **err)
{
    if (!c->policy->port_count)
        return ABX_OK;
    return refuse(c, SHORTFALL_PORTS, "no port can be published", "leave -p out", err);
}

/* What Landlock alone would not keep of this command's policy, in words. */
static uint32_t find_shortfalls(const abx_command *c, struct buf *text)
{
    const struct shortfall_facts facts = {
        .abi = probe_landlock_abi(),
        .hosts = c->layers.last[KEY_ALLOWED_DOMAINS] != NULL,
        .endless = geteuid() == 0 && cgroup_probe() < 0,
    };
    const uint32_t bits = shortfalls_find(c->policy, &facts);

    shortfalls_print(bits, text);
    return bits;
}

int32_t command_choose_landlock(abx_command *c, abx_error **err)
{
    _buf_ struct buf text = { .limit = 4096 };
    long abi = probe_landlock_abi();

    if (abi < 1) {
        int32_t r = err_sys(err, ABX_E_UNSUPPORTED, abi < 0 ? (int)abi : -EOPNOTSUPP,
                            "run with Landlock alone");
        err_hint(err, "`agentbox doctor` says what this host has");
        return r;
    }
    if (c->policy->strict) {
        (void)find_shortfalls(c, &text);
        int32_t r = err_new(err, ABX_E_UNSUPPORTED,
                            "run with Landlock alone: it cannot promise everything: %s",
                            text.data ? text.data : "");
        err_hint(err, "--set fallbackPolicy=warn accepts that; `agentbox doctor` says what is "
                      "missing for the back end native");
        return r;
    }
    (void)buf_puts(&text, "the sandbox is incomplete: Landlock alone, without namespaces: ");
    c->backend = BACKEND_LANDLOCK;
    c->shortfalls = find_shortfalls(c, &text);
    c->plan = NULL;
    if (text.failed)
        return err_nomem(err);
    manager_notice(c->manager, ABX_NOTICE_WARNING, text.data);
    return ABX_OK;
}

/* The step's own hint has all the usual causes; here is time to find the one. */
static void hint_cause(const struct status_msg *refusal, abx_error **err)
{
    struct cause_signs signs;

    if (strcmp(refusal->step, "namespaces") != 0 ||
        (refusal->err != EPERM && refusal->err != EACCES))
        return;
    cause_look(&signs);
    err_hint(err, "%s; `agentbox doctor` says more",
             cause_hint(PROBE_USERNS, refusal->err, &signs));
}

void command_hint_closed(abx_command *c, const struct status_msg *refusal, abx_error **err)
{
    _buf_ struct buf text = { .limit = 4096 }, lost = { .limit = 4096 };

    hint_cause(refusal, err);
    if (!c->policy->strict || c->policy->backend != CHOICE_AUTO || probe_landlock_abi() < 1)
        return;
    const char *how = "with bubblewrap";
    if (command_would_lack(c, &lost)) {
        how = lost.len ? "with bubblewrap, and then: " : how;
    } else {
        const bool cut = command_would_cut(c, &lost);
        how = cut ? "without:" : "with Landlock alone, and then: ";
        if (!cut)
            (void)find_shortfalls(c, &lost);
    }
    (void)buf_printf(&text, "%s%s--set fallbackPolicy=warn runs %s%s", abx_error_hint(*err),
                     abx_error_hint(*err)[0] ? "; " : "", how, lost.data ? lost.data : "");
    if (!text.failed && !lost.failed)
        err_hint(err, "%s", text.data);
}

/* What was asked for by name is had or refused. */
static int32_t refuse_native(abx_error **err)
{
    int32_t r = err_new(err, ABX_E_UNSUPPORTED,
                        "run inside another sandbox: it lets no namespace be made for the back "
                        "end native");
    err_hint(err, "leave --backend out to narrow the sandbox around; or start that one with --set "
                  "allowNestedNamespaces=true");
    return r;
}

int32_t command_choose_backend(abx_command *c, abx_error **err)
{
    c->backend = BACKEND_NATIVE;
    c->shortfalls = 0;
    if (c->policy->backend == CHOICE_NATIVE)
        return inside_is_closed() ? refuse_native(err) : ABX_OK;
    if (c->policy->backend == CHOICE_BWRAP)
        return command_choose_bwrap(c, err);
    if (!inside_is_closed())
        return c->policy->backend == CHOICE_LANDLOCK ? command_choose_landlock(c, err) : ABX_OK;
    c->backend = BACKEND_INNER;
    int32_t r = check_commands(c, err);
    if (r == ABX_OK)
        r = check_network(c, err);
    if (r == ABX_OK)
        r = check_sockets(c, err);
    return r == ABX_OK ? check_ports(c, err) : r;
}

int32_t command_finish_plan(abx_command *c, struct plan *plan, struct arena *arena, abx_error **err)
{
    if (plan->backend == BACKEND_NATIVE)
        return ABX_OK;
    if (plan->backend == BACKEND_BWRAP)
        return command_finish_bwrap(c, plan, err);
    return enumerate_rules(c->facts, arena, plan, err);
}

void backend_notice(const abx_command *c)
{
    if (c->backend == BACKEND_INNER)
        manager_notice(c->manager, ABX_NOTICE_INFO,
                       "inside another sandbox: /tmp, processes and what is protected by default "
                       "are the outer one's; Landlock and seccomp narrow the rest");
}
