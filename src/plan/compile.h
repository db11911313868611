/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiler: policy + facts + request -> plan. Pure: no system call, no clock, no environment of
 * its own; the same input gives the same plan, byte for byte.
 */
#ifndef ABX_PLAN_COMPILE_H
#define ABX_PLAN_COMPILE_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "plan/facts.h"
#include "plan/plan.h"
#include "policy/policy.h"

struct plan_request {
    const char *const *argv;
    size_t argc;
    const char *const *envp; /* NULL-terminated; NULL: empty */
    /* Variables that lead to the proxy, for a filtered network; NULL-terminated, or NULL. */
    const char *const *proxy_env;
    /* … instead, if this file is to be seen inside: they name it. NULL: there is none. */
    const char *helper;
    const char *const *helper_env;
    uint32_t tty;       /* as the plan's */
    int64_t timeout_ns; /* 0: none */
    uint32_t backend;   /* enum plan_backend */
    bool uncovered;     /* bwrap is setuid root: no program is covered (shortfalls.def) */
};

/* The plan refers to the strings of policy, facts and request: all live in arena, or as long. */
int32_t plan_compile(const struct policy *policy, const struct facts *facts,
                     const struct plan_request *request, struct arena *arena,
                     const struct plan **ret, abx_error **err);

/* Without network namespaces: no Internet sockets at all, in place of an empty network. */
void plan_go_offline(const struct policy *policy, struct plan *plan);

/* Whether pid 1 connects the command to the proxy: a filtered network without namespaces. */
bool plan_relays(const struct policy *policy, uint32_t backend);

/* The layers that a plan for this policy has; known before any fact is. */
uint32_t plan_layers(const struct policy *policy, uint32_t backend);

/*
 * Why the working directory is not writable although the preset would make it so ("the working
 * directory is the home directory"), for a notice that goes on with "--rw ."; NULL: it is writable.
 */
const char *plan_notice(const struct policy *policy, const struct facts *facts);

#endif
