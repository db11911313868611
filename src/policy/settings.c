/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: entered one by one, checked at once against schema.def.
 *
 * Trusts nothing about keys and values but that they are C strings. Refuses unknown keys (with the
 * nearest name as a hint), values that value.c refuses, more entries or longer values than the
 * limits, final entries outside the system layer. An alias (writableRoots, denyWrite, denyRead) is
 * stored as the key it stands for.
 */
#include "policy/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "policy/problems.h"
#include "policy/rule.h"
#include "policy/value.h"

static const struct schema_row rows[KEY_COUNT] = {
#define KEY(id, name, type, words, fallback, help, example)                                        \
    { name, SETTINGS_##type, words, fallback, help, example },
#include "policy/schema.def"
#undef KEY
};

const char *origin_name(enum origin origin)
{
    static const char *const names[ORIGIN_COUNT] = { "built-in", "system", "global", "project",
                                                     "command line" };

    return origin < ORIGIN_COUNT ? names[origin] : "?";
}

const struct schema_row *schema_row(size_t key)
{
    return key < KEY_COUNT ? &rows[key] : NULL;
}

int32_t settings_new(enum origin origin, struct settings **ret, abx_error **err)
{
    struct settings *s = calloc(1, sizeof *s);

    if (!s)
        return err_nomem(err);
    s->origin = origin;
    *ret = s;
    return ABX_OK;
}

void settings_cut(struct settings *settings, size_t count)
{
    while (settings->count > count) {
        const struct settings_entry *last = &settings->entries[--settings->count];
        free(last->value);
        free(last->source);
    }
}

void settings_free(struct settings *settings)
{
    if (!settings)
        return;
    settings_cut(settings, 0);
    free(settings->entries);
    free(settings);
}

void settings_freep(struct settings **settings)
{
    settings_free(*settings);
}

/* A copy of the entry. */
static int32_t add_entry(struct settings *s, struct settings_entry entry, abx_error **err)
{
    if (s->count >= SETTINGS_MAX_ENTRIES)
        return err_new(err, ABX_E_CONFIG, "more than %d settings", SETTINGS_MAX_ENTRIES);
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 16;
        /* Not reallocarray, which macOS has not: the limit above keeps the product small. */
        struct settings_entry *grown = realloc(s->entries, capacity * sizeof *grown);
        if (!grown)
            return err_nomem(err);
        s->entries = grown;
        s->capacity = capacity;
    }

    entry.value = strdup(entry.value);
    entry.source = strdup(entry.source);
    if (!entry.value || !entry.source) {
        free(entry.value);
        free(entry.source);
        return err_nomem(err);
    }
    s->entries[s->count++] = entry;
    return ABX_OK;
}

int32_t settings_copy(const struct settings *settings, struct settings **ret, abx_error **err)
{
    _settings_ struct settings *copy = NULL;
    int32_t r = settings_new(settings->origin, &copy, err);

    for (size_t i = 0; i < settings->count && r == ABX_OK; i++)
        r = add_entry(copy, settings->entries[i], err);
    if (r != ABX_OK)
        return r;
    *ret = TAKE_PTR(copy);
    return ABX_OK;
}

/* A group of keys, or an entry of a map: what to write in its place. */
static bool hint_place(const char *key, abx_error **err)
{
    const size_t len = strlen(key);

    for (size_t i = 0; i < KEY_COUNT; i++) {
        const char *name = rows[i].name;
        const size_t own = strlen(name);

        if (strncmp(name, key, len) == 0 && name[len] == '.') {
            err_hint(err, "it is a group: write %s.KEY; `agentbox help keys` lists all keys", key);
            return true;
        }
        if (rows[i].type >= SETTINGS_MAP && strncmp(name, key, own) == 0 && key[own] == '.') {
            err_hint(err, "its entries are values: %s=%s=VALUE", name, key + own + 1);
            return true;
        }
    }
    return false;
}

static int32_t find_key(const char *key, enum settings_key *ret, abx_error **err)
{
    const char *names[KEY_COUNT + 1];

    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (str_eq(rows[i].name, key)) {
            *ret = (enum settings_key)i;
            return ABX_OK;
        }
        names[i] = rows[i].name;
    }
    names[KEY_COUNT] = NULL;

    const char *nearest = str_nearest(key, names);
    int32_t r = err_new(err, ABX_E_CONFIG, "unknown key '%.256s'", key);

    err_subject(err, key);
    if (hint_place(key, err))
        return r;
    if (nearest)
        err_hint(err, "did you mean '%s'?", nearest);
    else
        err_hint(err, "`agentbox help keys` lists all keys");
    return r;
}

bool schema_is_alias(const struct schema_row *row)
{
    return row->type == SETTINGS_PATHS && row->words[0] != '\0';
}

/* The key behind an alias. */
static enum settings_key real_key(enum settings_key key)
{
    if (schema_is_alias(&rows[key]))
        for (size_t i = 0; i < KEY_COUNT; i++)
            if (str_eq(rows[i].name, rows[key].words))
                return (enum settings_key)i;
    return key;
}

/* Final entries are ceilings: they can only take away, and only the machine's owner sets them. */
static int32_t check_final(const struct settings *s, const char *name, enum settings_key key,
                           abx_error **err)
{
    int32_t r = ABX_OK;

    if (s->origin != ORIGIN_SYSTEM) {
        r = err_new(err, ABX_E_CONFIG,
                    "a final entry of '%s': only the system's configuration "
                    "may have it",
                    name);
        err_hint(err, "it belongs in a file of /etc/agentbox");
    } else if (key != KEY_RO && key != KEY_EXCLUDE) {
        r = err_new(err, ABX_E_CONFIG,
                    "a final entry of '%s': only filesystem.ro and "
                    "filesystem.exclude have them",
                    name);
        err_hint(err, "final means that nothing gives back what the entry takes away");
    }
    if (r != ABX_OK)
        err_subject(err, name);
    return r;
}

/* Without its blanks; it was checked. */
static int32_t normalise_rule(const char *text, struct buf *out, abx_error **err)
{
    _problems_ struct problems problems = { 0 };

    rule_read(text, out, &problems);
    return out->failed ? err_nomem(err) : problems_report(&problems, err);
}

static int32_t enter(struct settings *s, const char *name, const char *value, const char *source,
                     bool list, uint32_t flags, abx_error **err)
{
    enum settings_key key = KEY_COUNT;

    if (!name || !value)
        return err_new(err, ABX_E_INVALID, "enter a setting: key or value is NULL");
    int32_t r = find_key(name, &key, err);
    if (r != ABX_OK)
        return r;
    if ((rows[key].type >= SETTINGS_PATHS) != list) {
        r = err_new(err, ABX_E_INVALID, "%s '%s': it is %s", list ? "append to" : "set", name,
                    list ? "a single value" : "a list");
        err_subject(err, name);
        err_hint(err, list ? "set it" : "append to it");
        return r;
    }
    r = value_check(&rows[key], value, err);
    if (r == ABX_OK && (flags & SETTINGS_FINAL))
        r = check_final(s, name, real_key(key), err);
    if (r != ABX_OK)
        return r;

    _buf_ struct buf rule = { .limit = SETTINGS_MAX_VALUE };
    if (rows[key].type == SETTINGS_RULES) {
        r = normalise_rule(value, &rule, err);
        value = rule.data;
    }
    if (r != ABX_OK)
        return r;

    /* Copied, not changed: the casts only fit them into an entry. */
    const struct settings_entry entry = { .key = real_key(key),
                                          .origin = s->origin,
                                          .value = (char *)(uintptr_t)value,
                                          .source = (char *)(uintptr_t)(source ? source : name),
                                          .flags = flags };
    return add_entry(s, entry, err);
}

int32_t settings_set(struct settings *settings, const char *key, const char *value,
                     const char *source, abx_error **err)
{
    return enter(settings, key, value, source, false, 0, err);
}

int32_t settings_append(struct settings *settings, const char *key, const char *value,
                        const char *source, abx_error **err)
{
    return enter(settings, key, value, source, true, 0, err);
}

int32_t settings_append_final(struct settings *settings, const char *key, const char *value,
                              const char *source, abx_error **err)
{
    return enter(settings, key, value, source, true, SETTINGS_FINAL, err);
}

int32_t settings_check(const struct settings *settings, abx_error **err)
{
    const char *mitm = settings_get(settings, KEY_MITM_SOCKET);

    for (size_t i = 0; i < settings->count; i++) {
        const struct settings_entry *e = &settings->entries[i];
        if (e->key != KEY_MITM_DOMAINS || (mitm && mitm[0]))
            continue;
        int32_t r = err_new(err, ABX_E_CONFIG, "%s: '%s' without '%s'", e->source,
                            rows[KEY_MITM_DOMAINS].name, rows[KEY_MITM_SOCKET].name);
        err_subject(err, rows[KEY_MITM_SOCKET].name);
        err_hint(err, "name the proxy's socket, or remove the domains");
        return r;
    }
    return ABX_OK;
}

const char *settings_get(const struct settings *settings, enum settings_key key)
{
    const char *value = NULL;

    for (size_t i = 0; i < settings->count; i++)
        if (settings->entries[i].key == key)
            value = settings->entries[i].value;
    return value;
}
