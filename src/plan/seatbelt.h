/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Seatbelt profile: what macOS enforces, as the text that sandbox_init takes. Pure, so that it is
 * made and tested on any system; src/darwin applies it.
 */
#ifndef ABX_PLAN_SEATBELT_H
#define ABX_PLAN_SEATBELT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/defs.h"
#include "base/err.h"
#include "plan/facts.h"
#include "policy/policy.h"

/*
 * What differs from run to run is not in the text: the launcher passes it as parameters. A profile
 * that needs one it does not get is refused by the system's compiler.
 */
#define SEATBELT_PARAM_TMP  "AGENTBOX_TMP"  /* the run's directory, or with tmp "host" $TMPDIR */
#define SEATBELT_PARAM_TTY  "AGENTBOX_TTY"  /* the run's own terminal */
#define SEATBELT_PARAM_PORT "AGENTBOX_PORT" /* the filtering proxy, on localhost */

/* The system's compiler takes no longer string, and its own reader dislikes long regexes. */
#define SEATBELT_MAX_STRING 1024
#define SEATBELT_MAX_REGEX  900

struct seatbelt_request {
    bool tty;                   /* the command gets a terminal of its own */
    const char *tag;            /* in every denial's log line; NULL: none. Letters, digits, '-' */
    bool local_binding;         /* it may listen on localhost, which is the host's */
    const char *const *sockets; /* canonical paths of host sockets that it may use, or NULL */
    size_t socket_count;
};

/* Appends to out. Trusts policy and facts as plan_compile does, and refuses what it refuses. */
int32_t seatbelt_compile(const struct policy *policy, const struct facts *facts,
                         const struct seatbelt_request *request, struct arena *arena,
                         struct buf *out, abx_error **err);

#endif
