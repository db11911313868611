/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings and presets to one policy.
 *
 * Trusts that settings hold what settings.c lets in. Scalars: the value of the strongest layer
 * that has one, else the preset's (default, development, ci), else the schema's. Lists: preset
 * rows, then the entries of each layer, each with its origin; who wins for a path is decided later,
 * by precedence.h.
 */
#include "policy/policy.h"

#include <string.h>

#include "base/glob.h"
#include "base/str.h"
#include "policy/gaps.h"
#include "policy/presets.h"
#include "policy/value.h"

const char *access_name(uint32_t access)
{
    static const char *const names[] = { "exclude", "ro", "rw" };

    return access < ARRAY_LEN(names) ? names[access] : "?";
}

static bool bool_of(const struct layers *l, enum settings_key key)
{
    return str_eq(layers_value(l, key), "true");
}

/* Values were checked on entry; 0 (no limit) can only come from a "0". */
static uint64_t number_of(const struct layers *l, enum settings_key key)
{
    uint64_t number = 0;
    const char *value = layers_value(l, key);

    if (schema_row(key)->type == SETTINGS_SIZE)
        (void)str_to_size(value, &number);
    else
        (void)str_to_u64(value, INT32_MAX, &number);
    return number;
}

static uint32_t chosen_presets(const struct layers *l)
{
    uint32_t set = PRESET_ALL; /* comes first unless the list speaks about it */

    for (size_t i = 0; i < l->count; i++)
        if (l->entries[i]->key == KEY_PRESETS && preset_is_all(l->entries[i]->value))
            set = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->entries[i]->key == KEY_PRESETS)
            set = preset_toggle(set, l->entries[i]->value);
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

static bool add_socket_rule(struct arena *a, const struct settings_entry *e, bool docker,
                            struct policy_rule *rule)
{
    *rule = (struct policy_rule){ ACCESS_RO, e->origin, RULE_SOCKET | (docker ? RULE_DOCKER : 0),
                                  docker ? "docker.sock" : arena_strdup(a, e->value),
                                  arena_strdup(a, e->source) };
    return rule->text && rule->source;
}

/* Appends to rules, which has room for one an entry and one more. */
static bool collect_sockets(const struct layers *l, struct arena *a, struct policy_rule *rules,
                            struct policy *p)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->entries[i]->key == KEY_ALLOW_SOCKETS &&
            !add_socket_rule(a, l->entries[i], false, &rules[p->named_count++]))
            return false;
    return !p->docker || add_socket_rule(a, l->last[KEY_DOCKER], true, &rules[p->named_count++]);
}

static int32_t collect_rules(const struct layers *l, const char *const *guards, struct arena *a,
                             struct policy *p, abx_error **err)
{
    size_t n = 0, preset_rows = 0, guard_count = 0;

    while (preset_row(preset_rows))
        preset_rows++;
    while (guards && guards[guard_count])
        guard_count++;

    struct policy_rule *rules = arena_alloc(a, preset_rows + l->count + guard_count + 1,
                                            sizeof *rules);
    if (!rules)
        return err_nomem(err);

    for (size_t i = 0; i < preset_rows; i++) {
        const struct preset_row *row = preset_row(i);
        if (row->preset & p->presets)
            rules[n++] = (struct policy_rule){ row->access, ORIGIN_BUILTIN, row->flags, row->path,
                                               row->name };
    }
    for (size_t i = 0; i < l->count; i++)
        if (access_of_key(l->entries[i]->key, &rules[n].access) &&
            !add_entry_rule(a, l->entries[i], &rules[n++]))
            return err_nomem(err);
    if (!collect_sockets(l, a, rules + n, p))
        return err_nomem(err);
    n += p->named_count;
    for (size_t i = 0; i < guard_count; i++) {
        const char *path = arena_strdup(a, guards[i]);
        if (!path)
            return err_nomem(err);
        rules[n++] = (struct policy_rule){ ACCESS_RO, ORIGIN_BUILTIN, RULE_FINAL, path,
                                           "agentbox" };
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

static int32_t collect_env(const struct layers *l, struct arena *a, struct policy *p,
                           abx_error **err)
{
    struct policy_env *env = arena_alloc(a, l->count, sizeof *env);
    size_t n = 0;

    if (!env)
        return err_nomem(err);
    for (size_t i = 0; i < l->count; i++) {
        const struct settings_entry *e = l->entries[i];
        if (e->key != KEY_ENV_PASS && e->key != KEY_ENV_SET && e->key != KEY_ENV_UNSET)
            continue;
        if (!add_env(a, e, &env[n++]))
            return err_nomem(err);
    }
    p->env = env;
    p->env_count = n;
    return ABX_OK;
}

enum command_kind command_read(const char *entry, size_t *ret_name_len)
{
    const char *value = entry + (*ret_name_len = strcspn(entry, "=")) + 1;

    if (str_eq(value, "false"))
        return COMMAND_BLOCK;
    if (str_eq(value, "true"))
        return COMMAND_RAW;
    return value[0] == '@' ? COMMAND_GUARD : COMMAND_SCRIPT;
}

/* The last entry of a name counts. */
static bool is_replaced(const struct layers *l, size_t at, size_t name_len)
{
    for (size_t i = at + 1; i < l->count; i++)
        if (l->entries[i]->key == KEY_COMMANDS &&
            strncmp(l->entries[i]->value, l->entries[at]->value, name_len + 1) == 0)
            return true;
    return false;
}

static int32_t collect_commands(const struct layers *l, struct arena *a, struct policy *p,
                                abx_error **err)
{
    struct policy_command *commands = arena_alloc(a, l->count, sizeof *commands);

    if (!commands)
        return err_nomem(err);
    for (size_t i = 0; i < l->count; i++) {
        const struct settings_entry *e = l->entries[i];
        size_t len;
        if (e->key != KEY_COMMANDS)
            continue;
        enum command_kind kind = command_read(e->value, &len);
        if (kind == COMMAND_RAW || is_replaced(l, i, len))
            continue;
        struct policy_command *c = &commands[p->command_count++];
        *c = (struct policy_command){ kind, e->origin, arena_strndup(a, e->value, len),
                                      arena_strdup(a, e->value + len + 1),
                                      arena_strdup(a, e->source) };
        if (!c->name || !c->text || !c->source)
            return err_nomem(err);
    }
    p->commands = commands;
    return ABX_OK;
}

static int32_t choose_network(const struct layers *l, struct arena *a, struct policy *p,
                              abx_error **err)
{
    const struct settings_entry *e = l->last[KEY_NETWORK];
    const char *mode = layers_value(l, KEY_NETWORK);

    p->network = str_eq(mode, "allowed")    ? NETWORK_ALLOWED
                 : str_eq(mode, "filtered") ? NETWORK_FILTERED
                                            : NETWORK_BLOCKED;
    if (!e)
        e = l->last[KEY_PRESET];
    p->network_origin = e ? e->origin : (uint32_t)ORIGIN_BUILTIN;
    p->network_source = e ? arena_strdup(a, e->source) : "";
    return p->network_source ? ABX_OK : err_nomem(err);
}

/* Values were checked on entry: the last word needs no comparison. */
static uint32_t index_of(const char *word, const char *const *words, uint32_t count)
{
    uint32_t i = 0;

    while (i + 1 < count && !str_eq(words[i], word))
        i++;
    return i;
}

static uint32_t watch_level(const char *word)
{
    static const char *const words[] = { "off", "writes", "full", "learn" };

    return index_of(word, words, ARRAY_LEN(words));
}

static uint32_t backend_choice(const char *word)
{
    static const char *const words[] = { "auto", "native", "landlock" };

    return index_of(word, words, ARRAY_LEN(words));
}

static void choose_scalars(const struct layers *l, struct policy *p)
{
    p->strict = !str_eq(layers_value(l, KEY_FALLBACK), "warn");
    p->backend = backend_choice(layers_value(l, KEY_BACKEND));
    p->protect_names = bool_of(l, KEY_AUTO_PROTECT);
    p->git_config = bool_of(l, KEY_ALLOW_GIT_CONFIG);
    p->name_depth = (uint32_t)number_of(l, KEY_SCAN_DEPTH);
    if (!p->name_depth)
        p->name_depth = 5;
    p->tmp_private = !str_eq(layers_value(l, KEY_TMP), "host");
    p->tmp_bytes = number_of(l, KEY_TMP_BYTES);
    p->unix_sockets = bool_of(l, KEY_UNIX_SOCKETS);
    p->docker = l->last[KEY_DOCKER] && bool_of(l, KEY_DOCKER);
    p->local_binding = bool_of(l, KEY_LOCAL_BINDING);
    p->nested = bool_of(l, KEY_NESTED);
    p->watch = watch_level(layers_value(l, KEY_MONITOR));
    p->max_processes = number_of(l, KEY_MAX_PROCESSES);
    p->max_memory = number_of(l, KEY_MAX_MEMORY);
    p->max_fds = number_of(l, KEY_MAX_FDS);
    p->max_cpu_seconds = number_of(l, KEY_MAX_CPU);
    p->max_output = number_of(l, KEY_MAX_OUTPUT);
    (void)str_to_duration(layers_value(l, KEY_GRACE), &p->grace_ns); /* checked on entry */
}

static bool choose_ports(const struct layers *l, struct arena *arena, struct policy *p)
{
    struct policy_port *ports = arena_alloc(arena, l->count, sizeof *ports);
    size_t n = 0;

    for (size_t i = 0; ports && i < l->count; i++)
        if (l->entries[i]->key == KEY_PUBLISH &&
            value_ports(l->entries[i]->value, &ports[n].host, &ports[n].inside))
            n++;
    p->ports = ports;
    p->port_count = n;
    return ports != NULL;
}

int32_t policy_build_layers(const struct layers *l, const char *const *guards, struct arena *arena,
                            const struct policy **ret, abx_error **err)
{
    struct policy *p = arena_alloc(arena, 1, sizeof *p);

    if (!p)
        return err_nomem(err);
    choose_scalars(l, p);
    if (!choose_ports(l, arena, p))
        return err_nomem(err);
    p->presets = chosen_presets(l);
    p->shell = arena_strdup(arena, layers_value(l, KEY_SHELL));
    if (!p->shell)
        return err_nomem(err);

    int32_t r = gaps_check(l, err);
    if (r == ABX_OK)
        r = choose_network(l, arena, p, err);
    if (r == ABX_OK)
        r = collect_rules(l, guards, arena, p, err);
    if (r == ABX_OK)
        r = collect_env(l, arena, p, err);
    if (r == ABX_OK)
        r = collect_commands(l, arena, p, err);
    if (r == ABX_OK)
        *ret = p;
    return r;
}

int32_t policy_build(const struct settings *config, const struct settings *call,
                     struct arena *arena, const struct policy **ret, abx_error **err)
{
    const struct settings *const list[] = { config, call };
    struct layers l;
    int32_t r = layers_merge(list, ARRAY_LEN(list), 0, arena, &l, err);

    return r == ABX_OK ? policy_build_layers(&l, NULL, arena, ret, err) : r;
}
