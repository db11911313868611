/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging. Entries are not copied, only put in order, one pass an origin: what an entry says, and
 * where it stood, stays together. A group of hosts and the profile that counts are replaced by what
 * they stand for, with the origin of whoever named them: a project's profile is a project's grant.
 * Trusts that settings hold what settings.c lets in.
 */
#include "policy/layers.h"

#include <string.h>

#include "base/str.h"
#include "policy/groups.h"

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

/* ---- names that stand for several entries ---- */

static const struct group_row *group_of(const struct settings_entry *e)
{
    return schema_row(e->key)->type == SETTINGS_DOMAINS && e->value[0] == '@' ? group_find(e->value)
                                                                              : NULL;
}

/* Of a scalar the last one of the strongest origin counts. */
static const struct settings_entry *find_profile(const struct settings *const *list, size_t count,
                                                 uint32_t skip)
{
    const struct settings_entry *found = NULL;

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; list[i] && j < list[i]->count; j++) {
            const struct settings_entry *e = &list[i]->entries[j];
            if (e->key == KEY_PROFILE && !(skip & LAYERS_SKIP(e->origin)) &&
                (!found || e->origin >= found->origin))
                found = e;
        }
    return found;
}

struct merge {
    const struct settings_entry **entries;
    size_t count, room;
    const struct settings_entry *profile; /* the one that counts, or NULL */
    struct layers *layers;
    struct arena *arena;
};

static bool put(struct merge *m, const struct settings_entry *e)
{
    if (m->count == m->room) {
        size_t room = 2 * m->room + 16;
        const struct settings_entry **grown = arena_alloc(m->arena, room, sizeof(void *));
        if (!grown)
            return false;
        if (m->count)
            memcpy(grown, m->entries, m->count * sizeof(void *));
        m->entries = grown;
        m->room = room;
    }
    m->entries[m->count++] = e;
    m->layers->last[e->key] = e;
    return true;
}

/* An entry that stands for `by`, as if it were written there. */
static bool put_made(struct merge *m, const struct settings_entry *by, enum settings_key key,
                     const char *value, const char *name)
{
    struct settings_entry *e = arena_alloc(m->arena, 1, sizeof *e);

    if (!e)
        return false;
    *e = (struct settings_entry){ .key = key, .origin = by->origin, .flags = by->flags };
    e->value = arena_strdup(m->arena, value);
    e->source = arena_printf(m->arena, "%s (%s)", by->source, name);
    return e->value && e->source && put(m, e);
}

bool layers_is_of(const struct settings_entry *e, const char *value, const char *source)
{
    size_t len = strlen(e->source);

    if (e->key == KEY_PROFILE || group_of(e))
        return strncmp(source, e->source, len) == 0 && str_has_prefix(source + len, " (");
    return str_eq(e->source, source) && str_eq(e->value, value);
}

static bool put_hosts(struct merge *m, const struct settings_entry *by, enum settings_key key,
                      const struct group_row *rows)
{
    bool ok = true;

    for (size_t i = 0, n = group_size(rows); ok && i < n; i++)
        ok = put_made(m, by, key, rows[i].pattern, rows->group);
    return ok;
}

static bool put_profile(struct merge *m, const struct settings_entry *by)
{
    const struct profile_row *rows = profile_find(by->value); /* NULL: none */
    const char *name = arena_printf(m->arena, "profile %s", by->value);
    bool ok = name;

    for (size_t i = 0, n = rows ? profile_size(rows) : 0; ok && i < n; i++) {
        const struct group_row *hosts = rows[i].key == KEY_ALLOWED_DOMAINS
                                            ? group_find(rows[i].value)
                                            : NULL;
        ok = hosts ? put_hosts(m, by, rows[i].key, hosts)
                   : put_made(m, by, rows[i].key, rows[i].value, name);
    }
    return ok;
}

static bool put_entry(struct merge *m, const struct settings_entry *e)
{
    const struct group_row *group = group_of(e);

    if (group)
        return put_hosts(m, e, e->key, group);
    return put(m, e) && (e != m->profile || put_profile(m, e));
}

int32_t layers_merge(const struct settings *const *list, size_t list_count, uint32_t skip,
                     struct arena *arena, struct layers *ret, abx_error **err)
{
    struct layers l = { 0 };
    struct merge m = { .layers = &l, .arena = arena };

    for (size_t i = 0; i < list_count; i++)
        m.room += list[i] ? list[i]->count : 0;
    m.entries = arena_alloc(arena, m.room, sizeof(void *));
    if (!m.entries)
        return err_nomem(err);
    m.profile = find_profile(list, list_count, skip);
    for (uint32_t origin = 0; origin < ORIGIN_COUNT; origin++) {
        if (skip & LAYERS_SKIP(origin))
            continue;
        for (size_t i = 0; i < list_count; i++)
            for (size_t j = 0; list[i] && j < list[i]->count; j++)
                if (list[i]->entries[j].origin == origin && !put_entry(&m, &list[i]->entries[j]))
                    return err_nomem(err);
    }
    l.entries = m.entries;
    l.count = m.count;
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
