/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which back end a command gets. Inside another sandbox no namespace can be made (unless that one
 * allows it), so the inner run has Landlock, seccomp and limits, on top of all that the outer one
 * enforces: it can only narrow. What it is asked for and cannot do is refused under fallbackPolicy
 * "strict", and named under "warn". What the outer sandbox holds anyway is named once.
 */
#include <stdio.h>
#include <string.h>

#include "api/internal.h"
#include "probe/enumerate.h"
#include "probe/inside.h"

static int32_t refuse(abx_command *c, const char *what, const char *hint, abx_error **err)
{
    char text[512];

    if (!c->policy->strict) {
        (void)snprintf(text, sizeof text, "inside another sandbox %s", what);
        manager_notice(c->manager, ABX_NOTICE_WARNING, text);
        return ABX_OK;
    }
    int32_t r = err_new(err, ABX_E_UNSUPPORTED, "run inside another sandbox: %s", what);
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
        r = refuse(c, text, "the outer sandbox's rules for commands hold; leave it out", err);
    }
    return r;
}

/* Without a list nothing may be reached, and that can be kept. */
static int32_t check_network(abx_command *c, abx_error **err)
{
    if (c->policy->network != NETWORK_FILTERED || !c->layers.last[KEY_ALLOWED_DOMAINS])
        return ABX_OK;
    return refuse(c, "hosts cannot be chosen anew: there is no network at all",
                  "use --network allowed to have what the outer one allows, or blocked", err);
}

/* Without a view and a monitor of its own there is nobody who could choose. */
static int32_t check_sockets(abx_command *c, abx_error **err)
{
    if (!c->policy->named_count || c->policy->unix_sockets)
        return ABX_OK;
    return refuse(c, "single sockets cannot be let in", "leave --unix-socket and --docker out",
                  err);
}

int32_t command_choose_backend(abx_command *c, abx_error **err)
{
    c->backend = inside_is_closed() ? BACKEND_LANDLOCK : BACKEND_NATIVE;
    if (c->backend == BACKEND_NATIVE)
        return ABX_OK;
    int32_t r = check_commands(c, err);
    if (r == ABX_OK)
        r = check_network(c, err);
    return r == ABX_OK ? check_sockets(c, err) : r;
}

int32_t command_finish_plan(const abx_command *c, struct plan *plan, struct arena *arena,
                            abx_error **err)
{
    if (plan->backend == BACKEND_NATIVE)
        return ABX_OK;
    return enumerate_rules(c->facts, arena, plan, err);
}

void backend_notice(const abx_command *c)
{
    if (c->backend == BACKEND_LANDLOCK)
        manager_notice(c->manager, ABX_NOTICE_INFO,
                       "inside another sandbox: /tmp, processes and what is protected by default "
                       "are the outer one's; Landlock and seccomp narrow the rest");
}
