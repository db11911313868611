/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings and presets to one policy.
 *
 * Trusts that settings hold what settings.c lets in. Scalars: the call's value, else the config's,
 * else the preset's (default, development, ci), else the schema's. Lists: preset rows, then the
 * config's entries, then the call's, each with its origin; who wins for a path is decided later, by
 * precedence.h. Refuses network.mode filtered, which this version cannot keep.
 */
#include "policy/policy.h"

#include <string.h>

#include "base/glob.h"
#include "base/str.h"
#include "policy/gaps.h"
#include "policy/presets.h"

struct sources {
    const struct settings *list[2]; /* weaker first; may be NULL */
};

const char *access_name(uint32_t access)
{
    static const char *const names[] = { "exclude", "ro", "rw" };

    return access < ARRAY_LEN(names) ? names[access] : "?";
}

static const char *set_value(const struct sources *s, enum settings_key key)
{
    for (size_t i = ARRAY_LEN(s->list); i-- > 0;) {
        const char *value = s->list[i] ? settings_get(s->list[i], key) : NULL;
        if (value)
            return value;
    }
    return NULL;
}

static const char *value_of(const struct sources *s, enum settings_key key)
{
    const char *value = set_value(s, key);

    return value ? value : schema_row(key)->fallback;
}

static bool bool_of(const struct sources *s, enum settings_key key)
{
    return str_eq(value_of(s, key), "true");
}

/* Values were checked on entry; 0 (no limit) can only come from a "0". */
static uint64_t number_of(const struct sources *s, enum settings_key key)
{
    uint64_t number = 0;
    const char *value = value_of(s, key);

    if (schema_row(key)->type == SETTINGS_SIZE)
        (void)str_to_size(value, &number);
    else
        (void)str_to_u64(value, INT32_MAX, &number);
    return number;
}

static size_t count_entries(const struct sources *s)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(s->list); i++)
        n += s->list[i] ? s->list[i]->count : 0;
    return n;
}

static uint32_t chosen_presets(const struct sources *s)
{
    uint32_t set = 0;
    bool all_named = false;

    for (int pass = 0; pass < 2; pass++) {
        /* @all comes first unless the list speaks about it. */
        if (pass == 1 && !all_named)
            set = PRESET_ALL;
        for (size_t i = 0; i < ARRAY_LEN(s->list); i++)
            for (size_t j = 0; s->list[i] && j < s->list[i]->count; j++) {
                const struct settings_entry *e = &s->list[i]->entries[j];
                if (e->key != KEY_PRESETS)
                    continue;
                if (pass == 0)
                    all_named = all_named || preset_is_all(e->value);
                else
                    set = preset_toggle(set, e->value);
            }
    }
    return set;
}

static bool access_of_key(enum settings_key key, uint32_t *ret)
{
    if (key == KEY_RW)
        *ret = ACCESS_RW;
    else if (key == KEY_RO)
        *ret = ACCESS_RO;
    else if (key == KEY_EXCLUDE)
        *ret = ACCESS_EXCLUDE;
    else
        return false;
    return true;
}

static bool add_entry_rule(struct arena *a, const struct settings_entry *e,
                           struct policy_rule *rule)
{
    rule->origin = e->origin;
    rule->flags = (glob_is_pattern(e->value, strlen(e->value)) ? RULE_GLOB : 0) |
                  (e->flags & SETTINGS_FINAL ? RULE_FINAL : 0);
    rule->text = arena_strdup(a, e->value);
    rule->source = arena_strdup(a, e->source);
    return rule->text && rule->source;
}

static int32_t collect_rules(const struct sources *s, struct arena *a, struct policy *p,
                             abx_error **err)
{
    size_t n = 0, preset_rows = 0;

    while (preset_row(preset_rows))
        preset_rows++;

    struct policy_rule *rules = arena_alloc(a, preset_rows + count_entries(s), sizeof *rules);
    if (!rules)
        return err_nomem(err);

    for (size_t i = 0; i < preset_rows; i++) {
        const struct preset_row *row = preset_row(i);
        if (row->preset & p->presets)
            rules[n++] = (struct policy_rule){ row->access, ORIGIN_BUILTIN, row->flags, row->path,
                                               row->name };
    }
    for (size_t i = 0; i < ARRAY_LEN(s->list); i++)
        for (size_t j = 0; s->list[i] && j < s->list[i]->count; j++) {
            const struct settings_entry *e = &s->list[i]->entries[j];
            if (!access_of_key(e->key, &rules[n].access))
                continue;
            if (!add_entry_rule(a, e, &rules[n++]))
                return err_nomem(err);
        }
    p->rules = rules;
    p->rule_count = n;
    return ABX_OK;
}

static bool add_env(struct arena *a, const struct settings_entry *e, struct policy_env *env)
{
    const char *equals = e->key == KEY_ENV_SET ? strchr(e->value, '=') : NULL;

    env->origin = e->origin;
    env->action = e->key == KEY_ENV_PASS ? ENV_PASS : e->key == KEY_ENV_SET ? ENV_SET : ENV_UNSET;
    if (!equals) {
        env->name = arena_strdup(a, e->value);
        return env->name;
    }
    env->name = arena_strndup(a, e->value, (size_t)(equals - e->value));
    env->value = arena_strdup(a, equals + 1);
    return env->name && env->value;
}

static int32_t collect_env(const struct sources *s, struct arena *a, struct policy *p,
                           abx_error **err)
{
    struct policy_env *env = arena_alloc(a, count_entries(s), sizeof *env);
    size_t n = 0;

    if (!env)
        return err_nomem(err);
    for (size_t i = 0; i < ARRAY_LEN(s->list); i++)
        for (size_t j = 0; s->list[i] && j < s->list[i]->count; j++) {
            const struct settings_entry *e = &s->list[i]->entries[j];
            if (e->key != KEY_ENV_PASS && e->key != KEY_ENV_SET && e->key != KEY_ENV_UNSET)
                continue;
            if (!add_env(a, e, &env[n++]))
                return err_nomem(err);
        }
    p->env = env;
    p->env_count = n;
    return ABX_OK;
}

static int32_t choose_network(const struct sources *s, struct policy *p, abx_error **err)
{
    const char *mode = set_value(s, KEY_NETWORK);

    if (!mode)
        mode = str_eq(value_of(s, KEY_PRESET), "development") ? "allowed" : "blocked";
    if (str_eq(mode, "filtered")) {
        int32_t r = err_new(err, ABX_E_UNSUPPORTED,
                            "network mode 'filtered': this version has no filtering proxy");
        err_subject(err, "network.mode");
        err_hint(err, "use --network blocked or --network allowed");
        return r;
    }
    p->network = str_eq(mode, "allowed") ? NETWORK_ALLOWED : NETWORK_BLOCKED;
    return ABX_OK;
}

static void choose_scalars(const struct sources *s, struct policy *p)
{
    const char *fallback = set_value(s, KEY_FALLBACK);

    if (!fallback)
        fallback = str_eq(value_of(s, KEY_PRESET), "development") ? "warn" : "strict";
    p->strict = !str_eq(fallback, "warn");
    p->protect_names = bool_of(s, KEY_AUTO_PROTECT);
    p->tmp_private = !str_eq(value_of(s, KEY_TMP), "host");
    p->tmp_bytes = number_of(s, KEY_TMP_BYTES);
    p->unix_sockets = bool_of(s, KEY_UNIX_SOCKETS);
    p->nested = bool_of(s, KEY_NESTED);
    p->max_processes = number_of(s, KEY_MAX_PROCESSES);
    p->max_memory = number_of(s, KEY_MAX_MEMORY);
    p->max_fds = number_of(s, KEY_MAX_FDS);
    p->max_cpu_seconds = number_of(s, KEY_MAX_CPU);
    p->max_output = number_of(s, KEY_MAX_OUTPUT);
    (void)str_to_duration(value_of(s, KEY_GRACE), &p->grace_ns); /* checked on entry */
}

int32_t policy_build(const struct settings *config, const struct settings *call,
                     struct arena *arena, const struct policy **ret, abx_error **err)
{
    const struct sources s = { { config, call } };
    struct policy *p = arena_alloc(arena, 1, sizeof *p);

    if (!p)
        return err_nomem(err);
    choose_scalars(&s, p);
    p->presets = chosen_presets(&s);
    p->shell = arena_strdup(arena, value_of(&s, KEY_SHELL));
    if (!p->shell)
        return err_nomem(err);

    int32_t r = gaps_check(s.list, ARRAY_LEN(s.list), err);
    if (r == ABX_OK)
        r = choose_network(&s, p, err);
    if (r == ABX_OK)
        r = collect_rules(&s, arena, p, err);
    if (r == ABX_OK)
        r = collect_env(&s, arena, p, err);
    if (r == ABX_OK)
        *ret = p;
    return r;
}
