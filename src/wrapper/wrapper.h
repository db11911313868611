/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper: a small static program like the launcher, and built like it, that runs inside in the
 * place of a wrapped program (wrapper.c); what it asks of git: git.c.
 */
#ifndef ABX_WRAPPER_WRAPPER_H
#define ABX_WRAPPER_WRAPPER_H

#include "launcher/launcher.h"
#include "linux/sys.h"
#include "plan/plan.h"
#include "wrap/guard.h"

struct wrapper {
    size_t argc;
    const char *const *argv, *const *envp;
    const char *path; /* as it was executed (AT_EXECFN) */
    const char *real; /* the covered program */
    const char *own;  /* its name */
    const char *roots[WRAP_MAX_ROOTS];
    struct guard_private private;
    uint32_t rules; /* where they begin in the slot */
};

struct wrapper_rule {
    const char *name;
    const char *action; /* WRAP_*, and its word */
};

/* A page of its own in the program's file; pid 1 fills it in each copy. */
extern const struct wrap_slot wrap_slot;

/* Zeroed memory that stays until exec; NULL: none. */
void *wrapper_alloc(size_t count, size_t size);
/* GUARD_RUN or GUARD_STOP. */
void wrapper_judge_git(const struct wrapper *w, struct guard_verdict *ret);

#endif
