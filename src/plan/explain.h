/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why: what a run may do to a path, by the plan that it enforces, and which rule is to thank. Pure.
 * The verdict comes from the plan's mounts, never from a second reading of the rules, so that it
 * cannot differ from what the kernel is told.
 */
#ifndef ABX_PLAN_EXPLAIN_H
#define ABX_PLAN_EXPLAIN_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "plan/facts.h"
#include "plan/plan.h"
#include "plan/view.h"
#include "policy/policy.h"
#include "policy/precedence.h"

enum explain_operation { EXPLAIN_READ, EXPLAIN_WRITE, EXPLAIN_EXEC };

/* What an absent path would become; that says whether it could be made first, and then granted. */
enum explain_making { EXPLAIN_ANYTHING, EXPLAIN_DIRECTORY, EXPLAIN_FILE, EXPLAIN_ENTRY };

/* All of a run that answers need. */
struct explain_context {
    const struct policy *policy;
    const struct facts *facts;
    const struct plan *plan;
    struct view view;
};

struct explain_path {
    const char *path; /* canonical; absent components as written */
    bool exists, is_dir;
    const char *ancestor; /* if it does not exist: the deepest directory that does; may be NULL */
    enum explain_making making; /* ENTRY: a name is moved or removed, its directory is changed */
};

/* Texts are never NULL, "" where there is nothing to say; constants, or in the caller's arena. */
struct explain_answer {
    bool allowed;
    const char *rule;       /* "default", "@base ~/.ssh", "--ro src", "rw ~/work" */
    const char *origin;     /* origin_name */
    const char *source;     /* "FILE:LINE:COLUMN" where a file says so */
    const char *grant;      /* the smallest change that would allow it: "--rw /etc/x" */
    const char *grant_path; /* the path in it, as it is */
    const char *first;      /* what has to be done before the grant helps: "mkdir -p /etc/x" */
    const char *note;       /* what else one should know, one sentence */
};

int32_t explain_path(const struct explain_context *context, enum explain_operation operation,
                     const struct explain_path *path, struct arena *arena,
                     struct explain_answer *ret, abx_error **err);

/* If a rule of `commands` decides about executing path, called as name, that is the answer. */
int32_t explain_command(const struct explain_context *context, const char *name, const char *path,
                        struct arena *arena, struct explain_answer *ret, abx_error **err);

/* About a connection to another host: the modes that know no hosts, blocked and allowed. */
int32_t explain_network(const struct policy *policy, struct arena *arena,
                        struct explain_answer *ret, abx_error **err);

/*
 * A copy of all that explain_path and explain_network need about what is refused, for as long as
 * the run goes on (explain_keep.c). False when out of memory.
 */
bool explain_keep(const struct explain_context *from, struct arena *arena,
                  struct explain_context *ret);
/* Copies of the two would say the same. */
bool explain_same(const struct explain_context *a, const struct explain_context *b);

/* A word for a shell, quoted if it must be. NULL when out of memory. */
const char *explain_word(struct arena *arena, const char *text);

/* What the facts claim, for explain_rule. NULL when out of memory. */
const struct access_claim *explain_claims(const struct facts *facts, struct arena *arena);

/* The rule that made the view at path what it is; NULL: none did. */
const struct policy_rule *explain_rule(const struct explain_context *context,
                                       const struct access_claim *claims, const char *path);

#endif
