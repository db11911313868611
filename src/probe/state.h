/* SPDX-License-Identifier: Apache-2.0 */
/* Where agentbox keeps what must outlive a run: directories of the user's, hidden from every
 * sandbox. */
#ifndef ABX_PROBE_STATE_H
#define ABX_PROBE_STATE_H

#include "base/arena.h"
#include "base/defs.h"

/* Candidates in order of preference, NULL-terminated; NULL when out of memory. home may be NULL. */
const char *const *state_directories(struct arena *a, const char *home);

/*
 * Opens DIRECTORY/name, a directory of ours that nobody else may write: a descriptor, or -errno
 * (-EPERM: it is somebody else's). create: it is made, mode 0700, with what is missing above it,
 * and can be written (-EROFS otherwise).
 */
int state_open(const char *directory, const char *name, bool create);

/* Makes DIRECTORY/name in the first of the directories that can have it. True: it is new. */
bool state_prepare(const char *const *directories, const char *name);

#endif
