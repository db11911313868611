/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of the command. Pure. Values never leave this module except into the result: what
 * was removed is named, not shown.
 */
#ifndef ABX_PLAN_ENV_H
#define ABX_PLAN_ENV_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "plan/facts.h"
#include "policy/policy.h"

/* PATH of a command that has none. */
#define ENV_DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct env_removed {
    const char *name;
    const char *reason; /* "looks like a secret", "loader", … */
    bool missed;        /* somebody set it for this command, perhaps */
};

struct env_result {
    const char *const *env; /* "K=V", NULL-terminated */
    size_t env_count;
    const struct env_removed *removed; /* without those that environment.unset asked for */
    size_t removed_count;
    const char *path; /* the value of PATH inside */
};

struct env_request {
    const char *const *envp;  /* what the command would have outside; "K=V", NULL-terminated */
    const char *const *added; /* what it has instead inside, whatever env.def says; or NULL */
};

/*
 * In order: env.def removes, what is added comes instead of what was there, the policy's pass, set
 * and unset are carried out, then TMPDIR (private /tmp), PWD, and HOME and PATH where they are
 * missing.
 */
int32_t env_compile(const struct policy *policy, const struct facts *facts,
                    const struct env_request *request, struct arena *arena, struct env_result *ret,
                    abx_error **err);

/* Why env.def removes a variable, or NULL. */
const char *env_removal(const char *name, const char *value);

#endif
