/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attempts of one start, each with what next.c says: another plan, back end, or less of it.
 * What an attempt is, its caller knows: a run (start.c), or a look at what the host has
 * (foresee.c). Both go the same way.
 */
#include "api/fallback.h"

struct fallback_state {
    const struct fallback *f;
    struct start_past past;
    struct setback native; /* the last refusal of our own namespaces, and … */
    abx_error *native_why; /* … its error while bubblewrap is tried; or NULL */
};

/* Bubblewrap does no better: as if it had never been tried. */
static void go_back(struct fallback_state *s, struct setback *setback, abx_error **why)
{
    abx_command *c = s->f->command;

    abx_error_free(*why);
    *why = TAKE_PTR(s->native_why);
    *setback = s->native;
    c->backend = BACKEND_NATIVE;
    c->shortfalls = 0;
    (void)command_compile(c, NULL); /* without a plan nothing is reduced */
}

/* True: the next attempt can be made. False: something more is known, ask again. */
static bool prepare(struct fallback_state *s, enum next next, struct setback *setback,
                    abx_error **why)
{
    abx_command *c = s->f->command;

    switch (next) {
    case NEXT_PLAN_ANEW:
        c->plan = NULL;
        return true;
    case NEXT_ASK_BWRAP:
        s->past.bwrap = command_bwrap_works(c) ? BWRAP_WORKS : BWRAP_FAILS;
        return false;
    case NEXT_BWRAP:
        s->past.bwrap_tried = true;
        if (command_choose_bwrap(c, NULL) != ABX_OK)
            return false;
        s->native_why = TAKE_PTR(*why);
        return true;
    case NEXT_NATIVE:
        go_back(s, setback, why);
        return false;
    case NEXT_LESS:
        s->past.reduced = true;
        if (!command_reduce(c, next_is_refusal(&s->past, setback), s->f->facts))
            return false;
        s->past.bwrap = BWRAP_UNKNOWN; /* with fewer layers it may work */
        return true;
    case NEXT_STOP:
        break;
    }
    return false;
}

static int32_t run_attempts(struct fallback_state *s, abx_error **err)
{
    abx_command *c = s->f->command;

    for (;;) {
        _err_ abx_error *why = NULL;
        struct setback setback = { .backend = c->backend };
        enum next next;

        setback.code = s->f->attempt(s->f->user, &setback, &why);
        s->past.tries++;
        if (setback.code == ABX_OK)
            return ABX_OK;
        if (setback.backend == BACKEND_NATIVE && next_is_refusal(&s->past, &setback))
            s->native = setback;
        do
            next = next_attempt(&s->past, &setback);
        while (next != NEXT_STOP && !prepare(s, next, &setback, &why));
        if (next != NEXT_STOP)
            continue;
        if (why && next_is_refusal(&s->past, &setback))
            command_hint_closed(c, &s->native.failure, &why);
        if (err)
            *err = TAKE_PTR(why);
        return setback.code;
    }
}

int32_t fallback_run(const struct fallback *f, abx_error **err)
{
    const struct policy *policy = f->command->policy;
    struct fallback_state s = { .f = f,
                                .past = { .choice = policy->backend, .strict = policy->strict } };
    int32_t code = run_attempts(&s, err);

    abx_error_free(s.native_why);
    return code;
}
