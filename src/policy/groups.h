/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short names for several entries: groups of hosts (groups.def, "@github" in a list of hosts) and
 * profiles of agents (profiles.def, the key `profile`). layers.c puts the entries in their place,
 * so that nobody else knows the names.
 */
#ifndef ABX_POLICY_GROUPS_H
#define ABX_POLICY_GROUPS_H

#include "base/defs.h"
#include "policy/settings.h"

struct group_row {
    const char *group, *pattern; /* "@github", "github.com" */
};
/* The i-th row, or NULL beyond the last. */
const struct group_row *group_row(size_t i);
/* The first row of a group; the others follow. NULL: there is no such group. */
const struct group_row *group_find(const char *name);
/* How many rows the group of this row has. */
size_t group_size(const struct group_row *first);
/* The name that was perhaps meant, or NULL. */
const char *group_nearest(const char *name);

struct profile_row {
    const char *profile;
    enum settings_key key;
    const char *value;
};
const struct profile_row *profile_row(size_t i);
const struct profile_row *profile_find(const char *name);
size_t profile_size(const struct profile_row *first);

#endif
