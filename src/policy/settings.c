/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: entered one by one, checked at once against schema.def.
 *
 * Trusts nothing about keys and values but that they are C strings. Refuses unknown keys (with the
 * nearest name as a hint), values of the wrong type, words that an enum does not list, empty paths,
 * patterns that do not parse, paths that begin with '$' (variables are never expanded, and a rule
 * that silently names nothing is the worst kind), more entries or longer values than the limits.
 * An alias (writableRoots, denyWrite, denyRead) is stored as the key it stands for.
 */
#include "policy/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/str.h"
#include "policy/presets.h"

static const struct schema_row rows[KEY_COUNT + 1] = {
#define KEY(id, name, type, words, fallback, per_call, help)                                       \
    { name, SETTINGS_##type, words, fallback, per_call, help },
#include "policy/schema.def"
#undef KEY
    { NULL, SETTINGS_STRING, NULL, NULL, false, NULL },
};

static const char *const type_words[] = {
    [SETTINGS_STRING] = "text",
    [SETTINGS_PATH] = "an absolute path",
    [SETTINGS_ENUM] = "one of its words",
    [SETTINGS_BOOL] = "true or false",
    [SETTINGS_SIZE] = "a size such as 512M or 2G",
    [SETTINGS_COUNT] = "a number without a sign",
    [SETTINGS_DURATION] = "a time such as 30s or 5m",
    [SETTINGS_PATHS] = "a path or a pattern",
    [SETTINGS_NAMES] = "a variable's name",
    [SETTINGS_PRESETS] = "a preset's name",
    [SETTINGS_MAP] = "NAME=VALUE",
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

void settings_free(struct settings *settings)
{
    if (!settings)
        return;
    for (size_t i = 0; i < settings->count; i++) {
        free(settings->entries[i].value);
        free(settings->entries[i].source);
    }
    free(settings->entries);
    free(settings);
}

void settings_freep(struct settings **settings)
{
    settings_free(*settings);
}

static int32_t add_entry(struct settings *s, enum settings_key key, enum origin origin,
                         const char *value, const char *source, abx_error **err)
{
    if (s->count >= SETTINGS_MAX_ENTRIES)
        return err_new(err, ABX_E_CONFIG, "more than %d settings", SETTINGS_MAX_ENTRIES);
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 16;
        struct settings_entry *grown = reallocarray(s->entries, capacity, sizeof *grown);
        if (!grown)
            return err_nomem(err);
        s->entries = grown;
        s->capacity = capacity;
    }

    struct settings_entry entry = { key, origin, strdup(value), strdup(source) };

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

    for (size_t i = 0; i < settings->count && r == ABX_OK; i++) {
        const struct settings_entry *e = &settings->entries[i];
        r = add_entry(copy, e->key, e->origin, e->value, e->source, err);
    }
    if (r != ABX_OK)
        return r;
    *ret = TAKE_PTR(copy);
    return ABX_OK;
}

static bool word_is_listed(const char *words, const char *value)
{
    size_t len = strlen(value);

    while (*words) {
        size_t n = strcspn(words, "|");
        if (n == len && memcmp(words, value, n) == 0)
            return true;
        words += n + (words[n] == '|');
    }
    return false;
}

static bool name_is_valid(const char *name, size_t len)
{
    return len > 0 && !memchr(name, '=', len);
}

static bool value_has_type(const struct schema_row *row, const char *value)
{
    uint64_t number;
    int64_t time;
    const char *equals;

    switch (row->type) {
    case SETTINGS_STRING:
        return true;
    case SETTINGS_PATH:
        return value[0] == '/';
    case SETTINGS_ENUM:
        return word_is_listed(row->words, value);
    case SETTINGS_BOOL:
        return str_eq(value, "true") || str_eq(value, "false");
    case SETTINGS_SIZE:
        return str_to_size(value, &number);
    case SETTINGS_COUNT:
        return str_to_u64(value, INT32_MAX, &number);
    case SETTINGS_DURATION:
        return str_to_duration(value, &time);
    case SETTINGS_PATHS:
        return value[0] != '\0' && value[0] != '$';
    case SETTINGS_NAMES:
        return name_is_valid(value, strlen(value));
    case SETTINGS_PRESETS:
        return preset_is_toggle(value);
    case SETTINGS_MAP:
        equals = strchr(value, '=');
        return equals && name_is_valid(value, (size_t)(equals - value));
    default:
        return false;
    }
}

static int32_t refuse_value(const struct schema_row *row, const char *value, abx_error **err)
{
    int32_t r = err_new(err, ABX_E_CONFIG, "set '%s' to '%.256s': not %s", row->name, value,
                        type_words[row->type]);

    err_subject(err, row->name);
    if (row->type == SETTINGS_ENUM)
        err_hint(err, "allowed are: %s", row->words);
    else if (row->type == SETTINGS_PATHS && value[0] == '$')
        err_hint(err, "variables are not expanded; write '~' or the whole path, or './%.256s'",
                 value);
    else if (row->type == SETTINGS_PATHS)
        err_hint(err, "name a file or directory; '.' is the working directory");
    else if (row->type == SETTINGS_PRESETS)
        err_hint(err, "known are: %s", preset_list());
    else
        err_hint(err, "%s", row->help);
    return r;
}

static int32_t check_value(const struct schema_row *row, const char *value, abx_error **err)
{
    size_t len = strnlen(value, SETTINGS_MAX_VALUE + 1);
    int32_t r;

    if (len > SETTINGS_MAX_VALUE) {
        r = err_new(err, ABX_E_CONFIG, "set '%s': the value is longer than %zu bytes", row->name,
                    SETTINGS_MAX_VALUE);
        err_subject(err, row->name);
        return r;
    }
    if (!value_has_type(row, value))
        return refuse_value(row, value, err);
    if (row->type == SETTINGS_PATHS && glob_is_pattern(value, len) && glob_check(value, len) < 0) {
        r = err_new(err, ABX_E_CONFIG, "set '%s' to '%.256s': the pattern is not valid", row->name,
                    value);
        err_subject(err, row->name);
        err_hint(err, "a set '[...]' must end in the same component; '\\[' is a plain bracket");
        return r;
    }
    return ABX_OK;
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
    if (nearest)
        err_hint(err, "did you mean '%s'?", nearest);
    else
        err_hint(err, "'agentbox help keys' lists all keys");
    return r;
}

/* The key behind an alias. */
static enum settings_key real_key(enum settings_key key)
{
    if (rows[key].type == SETTINGS_PATHS && rows[key].words[0])
        for (size_t i = 0; i < KEY_COUNT; i++)
            if (str_eq(rows[i].name, rows[key].words))
                return (enum settings_key)i;
    return key;
}

static int32_t enter(struct settings *s, const char *name, const char *value, const char *source,
                     bool list, abx_error **err)
{
    enum settings_key key = KEY_COUNT;

    if (!name || !value)
        return err_new(err, ABX_E_INVALID, "enter a setting: key or value is NULL");
    int32_t r = find_key(name, &key, err);
    if (r != ABX_OK)
        return r;
    if ((rows[key].type >= SETTINGS_PATHS) != list) {
        r = err_new(err, ABX_E_CONFIG, "%s '%s': it is %s", list ? "append to" : "set", name,
                    list ? "a single value" : "a list");
        err_subject(err, name);
        err_hint(err, list ? "set it" : "append to it");
        return r;
    }
    r = check_value(&rows[key], value, err);
    if (r == ABX_OK && s->origin == ORIGIN_CALL && !rows[key].per_call) {
        r = err_new(err, ABX_E_CONFIG, "set '%s' for one command: it belongs into a config", name);
        err_subject(err, name);
    }
    if (r != ABX_OK)
        return r;
    return add_entry(s, real_key(key), s->origin, value, source ? source : name, err);
}

int32_t settings_set(struct settings *settings, const char *key, const char *value,
                     const char *source, abx_error **err)
{
    return enter(settings, key, value, source, false, err);
}

int32_t settings_append(struct settings *settings, const char *key, const char *value,
                        const char *source, abx_error **err)
{
    return enter(settings, key, value, source, true, err);
}

const char *settings_get(const struct settings *settings, enum settings_key key)
{
    const char *value = NULL;

    for (size_t i = 0; i < settings->count; i++)
        if (settings->entries[i].key == key)
            value = settings->entries[i].value;
    return value;
}
