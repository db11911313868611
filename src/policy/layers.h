/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of several origins as one list. Pure. Order: built-in < system < global < project <
 * call; within an origin as given. Of a scalar the last one counts, lists are read from front to
 * back. Groups of hosts and the profile are replaced by what they stand for (groups.h).
 */
#ifndef ABX_POLICY_LAYERS_H
#define ABX_POLICY_LAYERS_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "policy/settings.h"

#define LAYERS_SKIP(origin) (1u << (origin))

struct layers {
    /* Those of the settings, which must live on, and what groups and the profile stand for. */
    const struct settings_entry *const *entries;
    size_t count;
    const struct settings_entry *last[KEY_COUNT]; /* of each key; NULL: nobody set it */
};

/* list may hold NULLs. skip: LAYERS_SKIP bits, origins that are left out. */
int32_t layers_merge(const struct settings *const *list, size_t list_count, uint32_t skip,
                     struct arena *arena, struct layers *ret, abx_error **err);

/* Whether an entry with this value and source is `e`, or one of those that `e` stands for. */
bool layers_is_of(const struct settings_entry *e, const char *value, const char *source);

/* What a scalar is: as set, else as the preset (default, development, ci) or the schema has it. */
const char *layers_value(const struct layers *l, enum settings_key key);

/* What the preset chosen by the key `preset` says, or NULL. */
const char *layers_preset_value(const struct layers *l, enum settings_key key);

#endif
