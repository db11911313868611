/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three things make another attempt. The tree changed between planning and mounting (another run's
 * placeholders came or went): the plan is made anew, a few times. Our own namespaces are refused
 * and nobody asked for them by name: those of bubblewrap are tried, and if they are refused as well
 * everything is as it was, with the first reason. A layer is missing on this host while
 * fallbackPolicy is "warn": there is less, once. Under "strict" a missing layer is the end, and so
 * is, whatever the policy, that memory or descriptors ran out: that says nothing about the layers.
 *
 * What bubblewrap says when it fails is for people. Whether the host or the tree is to blame is
 * found out by trying it with a view that no change of the tree concerns.
 */
#include "api/next.h"

#include <errno.h>
#include <string.h>

#include "agentbox/agentbox.h"
#include "policy/policy.h"

#define ATTEMPTS       5
#define ATTEMPTS_BWRAP 20 /* it goes by names, and takes longer */

static bool is_step(const struct setback *s, const char *step)
{
    return strcmp(s->failure.step, step) == 0;
}

/* A step of ours says why. It does not where we gave up ourselves, or where bubblewrap speaks. */
static bool is_explained(const struct setback *s)
{
    return s->failure.step[0] && s->failure.err != ECANCELED && s->failure.err != 0;
}

static bool is_stale(const struct start_past *past, const struct setback *s)
{
    const int e = s->failure.err;

    if (s->mute)
        return true; /* it is of another kind than those that are started from now on */
    if (is_step(s, "bwrap"))
        return e == 0 && past->bwrap == BWRAP_WORKS;
    return is_step(s, "mounts") && (e == ESTALE || e == ENOENT || e == ELOOP || e == ENOTDIR);
}

/* For want of something that another way would take as well: no layer is missing on this host. */
static bool is_shortage(const struct setback *s)
{
    const int e = s->failure.err;

    return s->backend == BACKEND_NATIVE && (e == EMFILE || e == ENFILE || e == ENOMEM);
}

bool next_is_refusal(const struct start_past *past, const struct setback *s)
{
    static const char *const first[] = { "namespaces", "identity", "prepare",
                                         "netns",      "loopback", "bwrap" };
    const int e = s->failure.err;

    if (s->code != ABX_E_SANDBOX)
        return false;
    /* The reason may be the host's own: it can come before bubblewrap shows that it is refused. */
    if (s->backend == BACKEND_BWRAP && !is_explained(s) && past->bwrap == BWRAP_FAILS)
        return true;
    if (e == ECANCELED || is_shortage(s))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        if (is_step(s, first[i]))
            return true;
    return is_step(s, "mounts") && (e == ENOSYS || e == EPERM);
}

enum next next_attempt(const struct start_past *past, const struct setback *s)
{
    const unsigned most = s->backend == BACKEND_BWRAP ? ATTEMPTS_BWRAP : ATTEMPTS;
    const bool second_choice = s->backend == BACKEND_BWRAP && past->choice == CHOICE_AUTO &&
                               past->bwrap_tried;

    if (second_choice && s->code == ABX_E_UNSUPPORTED && !past->strict)
        return NEXT_NATIVE; /* bubblewrap cannot take the plan */
    if (s->code != ABX_E_SANDBOX || is_shortage(s))
        return NEXT_STOP;
    if (s->backend == BACKEND_BWRAP && !is_explained(s) && past->bwrap == BWRAP_UNKNOWN)
        return NEXT_ASK_BWRAP;
    if (is_stale(past, s) && past->tries < most)
        return NEXT_PLAN_ANEW;
    if (next_is_refusal(past, s)) {
        if (second_choice)
            return NEXT_NATIVE;
        if (s->backend == BACKEND_NATIVE && past->choice == CHOICE_AUTO && !past->bwrap_tried)
            return NEXT_BWRAP;
    }
    return past->strict || past->reduced ? NEXT_STOP : NEXT_LESS;
}

enum less next_less(uint32_t planned, uint32_t available)
{
    const uint32_t left = planned & available;

    if (left == planned)
        return LESS_NONE;
    if (left & LAYER_BIT(LAYER_MOUNTS))
        return LESS_LAYERS;
    return left & LAYER_BIT(LAYER_LANDLOCK) ? LESS_LANDLOCK : LESS_NONE;
}
