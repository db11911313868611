/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names in a directory, read once: a hundred questions whether something is there then cost no
 * system call when it is not, which is the usual answer.
 */
#ifndef ABX_PROBE_NAMES_H
#define ABX_PROBE_NAMES_H

#include "base/arena.h"
#include "base/defs.h"

struct names;

/* The names in the directory fd (O_PATH will do); NULL if it cannot be read or has too many. */
const struct names *names_read(struct arena *arena, int fd);
/* May text, a relative path, exist? Looks at its first component only. names may be NULL: yes. */
bool names_may_hold(const struct names *names, const char *text);

#endif
