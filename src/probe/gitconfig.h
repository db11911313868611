/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a git configuration file, read as git reads it. Pure.
 *
 * Where git would refuse the file, what follows is still read from the next line on: whoever asks
 * wants to protect what is named, and a name too many does no harm.
 */
#ifndef ABX_PROBE_GITCONFIG_H
#define ABX_PROBE_GITCONFIG_H

#include "base/arena.h"
#include "base/defs.h"

struct gitconfig {
    struct arena *arena;
    const char *at, *end;
    const char *section; /* lower case, without the part in quotes; "" before the first */
    bool failed;         /* out of memory */
};

struct gitconfig_entry {
    const char *section, *key; /* lower case */
    const char *value;         /* "" if there is none; cut at a NUL */
};

void gitconfig_init(struct gitconfig *g, struct arena *arena, const char *text, size_t len);
/* False at the end, or when out of memory. */
bool gitconfig_next(struct gitconfig *g, struct gitconfig_entry *ret);

#endif
