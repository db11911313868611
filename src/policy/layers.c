/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging. Entries are not copied, only put in order, one pass an origin: what an entry says, and
 * where it stood, stays together. Trusts that settings hold what settings.c lets in.
 */
#include "policy/layers.h"

#include "base/str.h"

/* Where the presets differ from the schema's defaults. */
static const struct {
    const char *preset;
    enum settings_key key;
    const char *value;
} preset_values[] = {
    { "ci", KEY_FALLBACK, "strict" },        { "ci", KEY_NETWORK, "blocked" },
    { "default", KEY_FALLBACK, "strict" },   { "default", KEY_NETWORK, "filtered" },
    { "development", KEY_FALLBACK, "warn" }, { "development", KEY_NETWORK, "allowed" },
};

int32_t layers_merge(const struct settings *const *list, size_t list_count, uint32_t skip,
                     struct arena *arena, struct layers *ret, abx_error **err)
{
    struct layers l = { 0 };
    size_t total = 0, n = 0;

    for (size_t i = 0; i < list_count; i++)
        total += list[i] ? list[i]->count : 0;
    const struct settings_entry **entries = arena_alloc(arena, total, sizeof(void *));
    if (!entries)
        return err_nomem(err);
    for (uint32_t origin = 0; origin < ORIGIN_COUNT; origin++) {
        if (skip & LAYERS_SKIP(origin))
            continue;
        for (size_t i = 0; i < list_count; i++)
            for (size_t j = 0; list[i] && j < list[i]->count; j++) {
                const struct settings_entry *e = &list[i]->entries[j];
                if (e->origin != origin)
                    continue;
                entries[n++] = e;
                l.last[e->key] = e;
            }
    }
    l.entries = entries;
    l.count = n;
    *ret = l;
    return ABX_OK;
}

const char *layers_preset_value(const struct layers *l, enum settings_key key)
{
    const struct settings_entry *chosen = l->last[KEY_PRESET];
    const char *preset = chosen ? chosen->value : schema_row(KEY_PRESET)->fallback;

    for (size_t i = 0; i < ARRAY_LEN(preset_values); i++)
        if (preset_values[i].key == key && str_eq(preset_values[i].preset, preset))
            return preset_values[i].value;
    return NULL;
}

const char *layers_value(const struct layers *l, enum settings_key key)
{
    if (l->last[key])
        return l->last[key]->value;
    const char *value = layers_preset_value(l, key);
    return value ? value : schema_row(key)->fallback;
}
