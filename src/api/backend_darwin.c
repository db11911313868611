/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command gets on macOS: a Seatbelt profile and limits. What the policy asks for and this
 * back end cannot do is refused under fallbackPolicy "strict" and named under "warn"; it never
 * gives more than was asked for. There is no proxy yet, so no host can be let through: a filtered
 * network is a blocked one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "plan/seatbelt.h"

#define PROFILE_MAX ((size_t)16 << 20)

static int32_t refuse(abx_command *c, const char *what, const char *hint, abx_error **err)
{
    int32_t r = command_cannot(c, "on macOS", what, err);

    if (r != ABX_OK)
        err_hint(err, "%s", hint);
    return r;
}

/* Built-in guards are a courtesy to who mistypes; what somebody asked for is not. */
static int32_t check_commands(abx_command *c, abx_error **err)
{
    char text[256];
    int32_t r = ABX_OK;

    for (size_t i = 0; i < c->policy->command_count && r == ABX_OK; i++) {
        const struct policy_command *rule = &c->policy->commands[i];
        if (rule->origin == ORIGIN_BUILTIN)
            continue;
        (void)snprintf(text, sizeof text, "the rule for the command '%.64s' cannot be kept",
                       rule->name);
        r = refuse(c, text, "leave it out, or use --set fallbackPolicy=warn", err);
    }
    return r;
}

static int32_t check_network(abx_command *c, abx_error **err)
{
    int32_t r = ABX_OK;

    if (c->policy->port_count)
        r = refuse(c, "ports cannot be published", "leave network.publish (-p) out", err);
    if (r != ABX_OK || c->policy->network != NETWORK_FILTERED)
        return r;
    if (c->layers.last[KEY_ALLOWED_DOMAINS])
        r = refuse(c, "hosts cannot be chosen yet: there is no network at all",
                   "use --network blocked, or allowed to have all of it", err);
    if (r != ABX_OK)
        return r;
    struct policy *blocked = arena_alloc(&c->arena, 1, sizeof *blocked);
    if (!blocked)
        return err_nomem(err);
    *blocked = *c->policy;
    blocked->network = NETWORK_BLOCKED;
    blocked->ports = NULL;
    blocked->port_count = 0;
    c->policy = blocked;
    return ABX_OK;
}

int32_t command_choose_landlock(abx_command *c, abx_error **err)
{
    (void)c;
    int32_t r = err_new(err, ABX_E_UNSUPPORTED, "use a back end of Linux: macOS has its own");
    err_hint(err, "leave the key \"backend\" (--backend) out");
    return r;
}

void command_hint_closed(abx_command *c, const struct status_msg *refusal, abx_error **err)
{
    (void)c;
    (void)refusal;
    (void)err;
}

int32_t command_choose_backend(abx_command *c, abx_error **err)
{
    c->backend = BACKEND_NATIVE;
    if (c->policy->backend == CHOICE_LANDLOCK || c->policy->backend == CHOICE_BWRAP)
        return command_choose_landlock(c, err);
    int32_t r = check_commands(c, err);
    return r == ABX_OK ? check_network(c, err) : r;
}

/* With tmp "host" the user's own directory; otherwise the run makes one. */
static int32_t set_tmp(const abx_command *c, struct plan *plan, struct arena *arena,
                       abx_error **err)
{
    const char *tmp = getenv("TMPDIR");

    plan->tmp = NULL;
    if (c->policy->tmp_private)
        return ABX_OK;
    plan->tmp = arena_strdup(arena, tmp && tmp[0] == '/' ? tmp : "/private/tmp");
    return plan->tmp ? ABX_OK : err_nomem(err);
}

int32_t command_finish_plan(abx_command *c, struct plan *plan, struct arena *arena, abx_error **err)
{
    const struct seatbelt_request request = { .tty = plan->tty != 0, .local_binding = true };
    _buf_ struct buf text;

    buf_init(&text, PROFILE_MAX);
    int32_t r = seatbelt_compile(c->policy, c->facts, &request, arena, &text, err);
    if (r == ABX_OK)
        r = set_tmp(c, plan, arena, err);
    if (r != ABX_OK)
        return r;
    plan->profile = text.len ? arena_strndup(arena, text.data, text.len) : NULL;
    if (!plan->profile)
        return err_nomem(err);
    plan->layers = plan->required = LAYER_BIT(LAYER_SEATBELT) | LAYER_BIT(LAYER_LIMITS);
    plan->hold_count = 0; /* absent names are denied by name */
    plan->watch = WATCH_OFF;
    return ABX_OK;
}

void backend_notice(const abx_command *c)
{
    (void)c;
}
