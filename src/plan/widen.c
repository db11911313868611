/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Widening, judged twice. Keys: each row of widen.def says in which direction a key widens, and the
 * merged value with the project's file is held against the one without. Files: the mounts of both
 * plans are laid over each other; the access to a path changes only where a mount of either lies,
 * so it is enough to look there. A glob, a link, a preset that was switched off, a protected name
 * that is named in `rw`: all of them show as a path that can be read or changed and could not be.
 * What is not there yet has no mount; grants of such paths, and patterns that reach out of the
 * project, are judged by themselves.
 *
 * Invariant: whatever is not known to narrow counts as widening.
 */
#include "plan/widen.h"

#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "plan/env.h"
#include "policy/precedence.h"

enum how {
    HOW_UNKNOWN, /* no row */
    HOW_VIEW,
    HOW_RANK,
    HOW_MORE,
    HOW_LESS,
    HOW_ADD,
    HOW_ANY,
    HOW_INJECT,
    HOW_COMMAND,
    HOW_DECISION,
    HOW_NARROW,
    HOW_DERIVED,
};

static const struct {
    enum how how;
    const char *words;
} rows[KEY_COUNT] = {
#define WIDEN(key, how, words) [KEY_##key] = { HOW_##how, words },
#include "plan/widen.def"
#undef WIDEN
};

struct comparison {
    const struct widen_side *before, *after;
    const struct access_claim *old_claims, *claims;
    const char *directory;
    size_t next_entry; /* where entry_of looks first: rules come in the order of entries */
    struct arena *arena;
    abx_error **err;
    struct widening *list;
    size_t count, room;
};

bool widen_has_row(enum settings_key key)
{
    return key < KEY_COUNT && rows[key].how != HOW_UNKNOWN;
}

static int32_t add(struct comparison *c, const struct settings_entry *entry, const char *text)
{
    if (!text)
        return err_nomem(c->err);
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 16;
        struct widening *grown = arena_alloc(c->arena, room, sizeof *grown);
        if (!grown)
            return err_nomem(c->err);
        if (c->count)
            memcpy(grown, c->list, c->count * sizeof *grown);
        c->list = grown;
        c->room = room;
    }
    c->list[c->count++] = (struct widening){ entry ? entry->source : "",
                                             entry ? schema_row(entry->key)->name : "", text };
    return ABX_OK;
}

/* ---- keys with one value ---- */

static size_t rank_of(const char *words, const char *value)
{
    size_t rank = 0, len = strlen(value);

    for (;; rank++) {
        size_t n = strcspn(words, "|");
        if ((n == len && memcmp(words, value, n) == 0) || !words[n])
            return rank; /* an unknown word ranks as the last one */
        words += n + 1;
    }
}

/* As a number; false: no limit, or not a number. */
static bool amount_of(enum settings_key key, const char *value, uint64_t *ret)
{
    int64_t time = 0;

    switch (schema_row(key)->type) {
    case SETTINGS_SIZE:
        if (!str_to_size(value, ret))
            return false;
        break;
    case SETTINGS_DURATION:
        if (!str_to_duration(value, &time))
            return false;
        *ret = (uint64_t)time;
        return true; /* 0 is at once */
    default:
        if (!str_to_u64(value, INT32_MAX, ret))
            return false;
    }
    if (*ret)
        return true;
    return rows[key].words[0] && str_to_size(rows[key].words, ret);
}

static bool is_more(enum settings_key key, const char *before, const char *after)
{
    uint64_t old = 0, new = 0;

    if (!amount_of(key, before, &old))
        return false; /* there was no limit */
    return !amount_of(key, after, &new) || new > old;
}

static bool value_widens(enum settings_key key, const char *before, const char *after)
{
    switch (rows[key].how) {
    case HOW_RANK:
        return rank_of(rows[key].words, after) > rank_of(rows[key].words, before);
    case HOW_MORE:
        return is_more(key, before, after);
    case HOW_LESS:
        return is_more(key, after, before);
    case HOW_NARROW:
    case HOW_DERIVED:
    case HOW_VIEW:
        return false;
    default:
        return !str_eq(before, after);
    }
}

static int32_t compare_value(struct comparison *c, enum settings_key key)
{
    const struct layers *layers = &c->after->layers;
    const char *before = layers_value(&c->before->layers, key);
    const char *after = layers_value(layers, key);
    const struct settings_entry *e = layers->last[key] ? layers->last[key]
                                                       : layers->last[KEY_PRESET];

    if (!value_widens(key, before, after))
        return ABX_OK;
    return add(c, e,
               arena_printf(c->arena, "%s becomes %s (it is %s)", schema_row(key)->name,
                            after[0] ? after : "unset", before[0] ? before : "unset"));
}

/* ---- keys with a list ---- */

static bool layers_hold(const struct layers *l, const struct settings_entry *entry)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->entries[i]->key == entry->key && str_eq(l->entries[i]->value, entry->value))
            return true;
    return false;
}

/* Where programs and their settings are looked for: what the caller named may be another then. */
static bool is_lookup(const char *name)
{
    return str_eq(name, "PATH") || str_eq(name, "HOME") || str_eq(name, "XDG_CONFIG_HOME");
}

static bool sets_injection(struct arena *arena, const char *text)
{
    const char *equals = strchr(text, '=');
    const char *name = equals ? arena_strndup(arena, text, (size_t)(equals - text)) : text;

    return !name || is_lookup(name) || env_removal(name, equals ? equals + 1 : "");
}

static bool decides_forbidden(const char *value)
{
    const char *equals = strchr(value, '=');

    return value[0] == '{' ? strstr(value, "\"decision\":\"forbidden\"") != NULL
                           : equals && str_eq(equals + 1, "forbidden");
}

/* The entry that decides about a command, or NULL. */
static const struct settings_entry *command_entry(const struct layers *l, const char *entry,
                                                  size_t name_len)
{
    const struct settings_entry *found = NULL;

    for (size_t i = 0; i < l->count; i++)
        if (l->entries[i]->key == KEY_COMMANDS &&
            strncmp(l->entries[i]->value, entry, name_len + 1) == 0)
            found = l->entries[i];
    return found;
}

/* Blocked < guarded or wrapped < as it is; another guard or wrapper is a way elsewhere. */
static bool command_widens(const struct layers *before, const char *entry)
{
    size_t len;
    enum command_kind kind = command_read(entry, &len);
    const struct settings_entry *old = command_entry(before, entry, len);
    enum command_kind old_kind = old ? command_read(old->value, &len) : COMMAND_RAW;

    if (kind == COMMAND_BLOCK || (old && str_eq(old->value, entry)))
        return false;
    if (kind == COMMAND_GUARD || kind == COMMAND_RAW)
        return old_kind != COMMAND_RAW;
    return true;
}

static bool entry_widens(const struct comparison *c, const struct settings_entry *e)
{
    switch (rows[e->key].how) {
    case HOW_VIEW:
    case HOW_NARROW:
    case HOW_DERIVED:
        return false;
    case HOW_INJECT:
        return sets_injection(c->arena, e->value);
    case HOW_COMMAND:
        return command_widens(&c->before->layers, e->value);
    case HOW_DECISION:
        return !decides_forbidden(e->value) && !layers_hold(&c->before->layers, e);
    default:
        return !layers_hold(&c->before->layers, e);
    }
}

static int32_t compare_entry(struct comparison *c, const struct settings_entry *e)
{
    if (e->origin != ORIGIN_PROJECT || !entry_widens(c, e))
        return ABX_OK;
    size_t len = e->key == KEY_ENV_SET ? strcspn(e->value, "=") : strlen(e->value);
    const char *value = arena_strndup(c->arena, e->value, len); /* no values of variables */
    return add(
        c, e, value ? arena_printf(c->arena, "%s adds %s", schema_row(e->key)->name, value) : NULL);
}

/* ---- files ---- */

/* The entry of the project's that made the rule. */
static const struct settings_entry *entry_of(struct comparison *c, const struct policy_rule *rule)
{
    const struct layers *l = &c->after->layers;

    for (size_t i = 0; i < l->count; i++) {
        size_t at = (c->next_entry + i) % l->count;
        const struct settings_entry *e = l->entries[at];
        if (e->origin == ORIGIN_PROJECT && str_eq(e->source, rule->source)) {
            c->next_entry = at;
            return e;
        }
    }
    return NULL;
}

/* The entry of the project's that a change is due to. */
static const struct settings_entry *entry_for(struct comparison *c, const struct policy_rule *rule)
{
    const struct layers *l = &c->after->layers;
    const struct settings_entry *found = NULL;

    if (rule && rule->origin == ORIGIN_PROJECT)
        found = entry_of(c, rule);
    if (found)
        return found;
    for (size_t i = 0; i < l->count; i++) {
        const struct settings_entry *e = l->entries[i];
        if (e->origin == ORIGIN_PROJECT &&
            (e->key == KEY_PRESETS || e->key == KEY_TMP || e->key == KEY_AUTO_PROTECT || !found))
            found = e;
    }
    return found;
}

static bool is_project(const struct comparison *c, const char *path)
{
    const char *home = c->after->context.facts->home;

    return c->directory && c->directory[1] && path_is_beneath(path, c->directory) &&
           !(home && path_is_beneath(home, c->directory));
}

static int32_t compare_path(struct comparison *c, const char *path, const char **last)
{
    uint32_t old = view_access(&c->before->context.view, path);
    uint32_t new = view_access(&c->after->context.view, path);
    const struct policy_rule *decided, *decides;

    if (new <= old)
        return ABX_OK;
    decided = explain_rule(&c->before->context, c->old_claims, path);
    decides = explain_rule(&c->after->context, c->claims, path);
    if (old == ACCESS_RO && !decided && is_project(c, path))
        return ABX_OK;
    if (*last && path_is_beneath(path, *last) && decides && decides->origin == ORIGIN_PROJECT &&
        view_access(&c->after->context.view, *last) ==
            new &&view_access(&c->before->context.view, *last) == old)
        return ABX_OK; /* said already, of a directory above */
    *last = path;
    return add(c, entry_for(c, decides),
               arena_printf(c->arena, "'%s' becomes %s", path,
                            new == ACCESS_RO        ? "readable"
                            : old == ACCESS_EXCLUDE ? "readable and writable"
                                                    : "writable"));
}

static int32_t compare_views(struct comparison *c)
{
    const struct view *sides[] = { &c->after->context.view, &c->before->context.view };
    int32_t r = ABX_OK;

    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        const char *last = NULL;
        for (size_t j = 0; j < sides[i]->count && r == ABX_OK; j++) {
            const char *path = sides[i]->entries[j].op->path;
            const struct mount_op *known = i ? view_find(sides[0], path) : NULL;
            if (!known || !str_eq(known->path, path)) /* not twice */
                r = compare_path(c, path, &last);
        }
    }
    return r;
}

/* ---- files that are not there yet ---- */

/* A grant of a path that does not exist opens nothing now, and it once somebody makes it. */
static int32_t compare_absent(struct comparison *c)
{
    const struct facts *old_facts = c->before->context.facts, *facts = c->after->context.facts;
    int32_t r = ABX_OK;

    for (size_t i = 0; r == ABX_OK && i < facts->path_count; i++) {
        const struct path_fact *f = &facts->paths[i];
        const struct policy_rule *decided;
        if (f->exists || f->rule->origin != ORIGIN_PROJECT || f->rule->access == ACCESS_EXCLUDE)
            continue;
        uint32_t old = precedence_verdict(c->old_claims, old_facts->path_count, f->path, &decided);
        if (f->rule->access <= old || (old == ACCESS_RO && !decided && is_project(c, f->path)))
            continue;
        r = add(c, entry_for(c, f->rule),
                arena_printf(c->arena, "'%s' becomes %s once it exists", f->path,
                             f->rule->access == ACCESS_RW ? "writable" : "readable"));
    }
    return r;
}

/* Whether a pattern may match outside of the project; what it matches there may come later. */
static bool pattern_leads_out(const struct comparison *c, const char *text)
{
    if (text[0] == '/' || text[0] == '~' || !is_project(c, c->after->context.facts->cwd))
        return true;
    for (const char *p = text; (p = strstr(p, "..")); p += 2)
        if ((p == text || p[-1] == '/') && (!p[2] || p[2] == '/'))
            return true;
    return false;
}

static int32_t compare_patterns(struct comparison *c)
{
    const struct policy *policy = c->after->context.policy;
    int32_t r = ABX_OK;

    for (size_t i = 0; r == ABX_OK && i < policy->rule_count; i++) {
        const struct policy_rule *rule = &policy->rules[i];
        if (rule->origin == ORIGIN_PROJECT && (rule->flags & RULE_GLOB) &&
            rule->access != ACCESS_EXCLUDE && pattern_leads_out(c, rule->text))
            r = add(c, entry_for(c, rule),
                    arena_printf(c->arena, "what '%s' matches becomes %s", rule->text,
                                 rule->access == ACCESS_RW ? "writable" : "readable"));
    }
    return r;
}

int32_t widen_compare(const struct widen_side *before, const struct widen_side *after,
                      const char *directory, struct arena *arena, const struct widening **ret,
                      size_t *ret_count, abx_error **err)
{
    struct comparison c = {
        .before = before, .after = after, .directory = directory, .arena = arena, .err = err
    };
    int32_t r = ABX_OK;

    c.old_claims = explain_claims(before->context.facts, arena);
    c.claims = explain_claims(after->context.facts, arena);
    if (!c.old_claims || !c.claims)
        return err_nomem(err);
    for (size_t key = 0; key < KEY_COUNT && r == ABX_OK; key++)
        if (schema_row(key)->type < SETTINGS_PATHS)
            r = compare_value(&c, (enum settings_key)key);
    for (size_t i = 0; i < after->layers.count && r == ABX_OK; i++)
        if (schema_row(after->layers.entries[i]->key)->type >= SETTINGS_PATHS)
            r = compare_entry(&c, after->layers.entries[i]);
    if (r == ABX_OK)
        r = compare_views(&c);
    if (r == ABX_OK)
        r = compare_absent(&c);
    if (r == ABX_OK)
        r = compare_patterns(&c);
    if (r != ABX_OK)
        return r;
    *ret = c.list;
    *ret_count = c.count;
    return ABX_OK;
}
