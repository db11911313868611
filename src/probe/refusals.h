/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a person said no lately: whoever is asked again and again says yes in the end. After
 * REFUSALS_MAX noes within REFUSALS_SECONDS nobody is asked until the first of them is that old; a
 * yes forgets them. Counted for the user, not for one program: each `agentbox run` is another.
 */
#ifndef ABX_PROBE_REFUSALS_H
#define ABX_PROBE_REFUSALS_H

#include "base/defs.h"

#define REFUSALS_MAX     5
#define REFUSALS_SECONDS 60

/* state_dirs: as state_directories gives them; now: seconds since 1970. */
/* How many seconds there are to wait before the next question; 0: none. */
int64_t refusals_wait(const char *const *state_dirs, int64_t now);
void refusals_add(const char *const *state_dirs, int64_t now);
void refusals_clear(const char *const *state_dirs);

#endif
