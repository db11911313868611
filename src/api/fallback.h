/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts until one succeeds, or until there is nothing left to try (next.h). */
#ifndef ABX_API_FALLBACK_H
#define ABX_API_FALLBACK_H

#include "api/internal.h"
#include "api/next.h"

struct probe_facts;

/*
 * One attempt with the command's back end and plan, if it has one by now. When it returns, it has
 * cleaned up after itself; of *ret only the failure is its business.
 */
typedef int32_t (*attempt_fn)(void *user, struct setback *ret, abx_error **err);

struct fallback {
    abx_command *command;
    attempt_fn attempt;
    void *user;
    const struct probe_facts *facts; /* of the host, where they are known already; or NULL */
};

/* ABX_OK: the last attempt succeeded, by the command's back end and plan. */
int32_t fallback_run(const struct fallback *f, abx_error **err);

#endif
