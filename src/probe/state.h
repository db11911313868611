/* SPDX-License-Identifier: Apache-2.0 */
/* Where agentbox keeps what must outlive a run: directories of the user's, hidden from every
 * sandbox. */
#ifndef ABX_PROBE_STATE_H
#define ABX_PROBE_STATE_H

#include "base/arena.h"

/* Candidates in order of preference, NULL-terminated; NULL when out of memory. home may be NULL. */
const char *const *state_directories(struct arena *a, const char *home);

#endif
