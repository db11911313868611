/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan that a run would have on this host, for whoever only wants to know: the attempts of a
 * start, each held against what the probe found instead of being made.
 */
#include <errno.h>
#include <string.h>

#include "api/fallback.h"
#include "probe/state.h"
#include "run/probe.h"

struct forecast {
    abx_command *command;
    struct probe_facts facts;
};

static int32_t fail_step(const char *step, struct setback *ret)
{
    ret->failure = (struct status_msg){ .kind = STATUS_FAILED, .err = EPERM };
    memcpy(ret->failure.step, step, strlen(step));
    return ABX_E_SANDBOX;
}

static int32_t would_start(void *user, struct setback *ret, abx_error **err)
{
    const struct forecast *f = user;
    abx_command *c = f->command;
    uint32_t have = layers_available(&f->facts);
    int32_t code = c->plan ? ABX_OK : command_compile(c, err);

    if (code != ABX_OK)
        return code;
    if (f->facts.items[PROBE_CLOSE_RANGE].error || f->facts.items[PROBE_PIDFD].error)
        return ABX_E_IO; /* nothing at all can be started */
    if (c->backend == BACKEND_BWRAP) {
        if (!command_bwrap_works(c))
            return fail_step("bwrap", ret);
        have |= LAYERS_OF_VIEW;
    }
    const uint32_t missing = c->plan->layers & ~have;
    if (!missing)
        return ABX_OK;
    return fail_step(missing & LAYERS_OF_VIEW ? "namespaces" : "landlock", ret);
}

int32_t command_foresee(const abx_command *c, struct arena *arena, const struct plan **ret,
                        abx_error **err)
{
    *ret = c->plan;
    if (c->plan->profile)
        return ABX_OK; /* macOS has its one layer always */
    const char *const *dirs = state_directories(arena, c->facts->home);
    if (!dirs)
        return err_nomem(err);
    abx_command other = *c; /* what was wrapped stays as it is */
    other.arena = *arena;
    struct forecast forecast = { .command = &other };
    const struct fallback fallback = {
        .command = &other, .attempt = would_start, .user = &forecast, .facts = &forecast.facts
    };
    const bool runs = probe_host(&c->manager->image, dirs, true, &forecast.facts, NULL) == ABX_OK &&
                      fallback_run(&fallback, NULL) == ABX_OK;
    struct plan *seen = arena_alloc(&other.arena, 1, sizeof *seen);
    *arena = other.arena;
    if (!seen)
        return err_nomem(err);
    if (runs)
        command_tell_bwrap(&other);
    *seen = runs ? *other.plan : *c->plan;
    seen->refused = !runs;
    *ret = seen;
    return ABX_OK;
}
