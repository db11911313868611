/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes after an attempt to start a run that failed. Pure: given what was tried and how it
 * failed, what next? fallback.c does it.
 */
#ifndef ABX_API_NEXT_H
#define ABX_API_NEXT_H

#include "base/defs.h"
#include "plan/plan.h"
#include "plan/protocol.h"

enum next {
    NEXT_STOP,      /* nothing: the error is the caller's */
    NEXT_PLAN_ANEW, /* the tree is no longer what was planned */
    NEXT_ASK_BWRAP, /* whether it makes these namespaces here, with a view that is always there */
    NEXT_BWRAP,     /* by bubblewrap: our own namespaces are refused, its may not be */
    NEXT_NATIVE,    /* back to it, and to its reason: bubblewrap does no better */
    NEXT_LESS,      /* with what this host has */
};

/* How an attempt failed. */
struct setback {
    uint32_t backend; /* enum plan_backend that was tried */
    int32_t code;     /* ABX_E_* */
    /* The step that says so (STATUS_FAILED); "": none did. */
    struct status_msg failure;
    bool mute; /* the launcher that the entry code had started went without a word */
};

/* What was tried before, and what is wanted. What turns out not to be possible counts as tried. */
struct start_past {
    uint32_t choice; /* enum backend_choice */
    bool strict;     /* fallbackPolicy */
    unsigned tries;  /* attempts */
    bool bwrap_tried, reduced;
    enum { BWRAP_UNKNOWN, BWRAP_WORKS, BWRAP_FAILS } bwrap; /* NEXT_ASK_BWRAP */
};

enum next next_attempt(const struct start_past *past, const struct setback *setback);
/* The host refused the first step into a sandbox: it was not the tree, and not this program. */
bool next_is_refusal(const struct start_past *past, const struct setback *setback);

/* What is left of a plan where only these layers are to be had. */
enum less {
    LESS_NONE,     /* nothing is missing, or nothing would stand around the files */
    LESS_LAYERS,   /* the plan, without those */
    LESS_LANDLOCK, /* no view of files: another plan, for Landlock alone */
};
enum less next_less(uint32_t planned, uint32_t available);

#endif
