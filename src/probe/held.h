/* SPDX-License-Identifier: Apache-2.0 */
/* Is an entry a placeholder of a run (run/hold.c)? Then nothing is really there. */
#ifndef ABX_PROBE_HELD_H
#define ABX_PROBE_HELD_H

#include <sys/stat.h>

#include "base/defs.h"
#include "plan/protocol.h"

/* Calls fn for each entry of a registry file, until it says true; whether it did. */
typedef bool (*held_fn)(struct hold_entry *entry, const void *data);
bool held_each(int file, held_fn fn, const void *data);

/* st: the entry; dir: the directory that it is in. */
bool held_is_placeholder(int dir, const struct stat *st);
/* … and goes away with other runs. In a run inside another it is that one's, and stays. */
bool held_counts_as_absent(int dir, const struct stat *st);

#endif
