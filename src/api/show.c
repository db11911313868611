/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration, printed: each value that counts with where it comes from; what the presets mean
 * on this machine; the schema and the starter. Names that others chose (paths) are escaped. Of
 * variables only the names are shown: a value may be a secret.
 */
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/compile.h"
#include "policy/groups.h"
#include "policy/presets.h"
#include "policy/schema.h"
#include "probe/scan.h"

#define SHOW_MAX_BYTES ((size_t)64 << 20)

const char *entry_shown(const struct settings_entry *entry, struct arena *arena)
{
    if (entry->key != KEY_ENV_SET)
        return entry->value;
    return arena_printf(arena, "%.*s=…", (int)strcspn(entry->value, "="), entry->value);
}

struct printer {
    bool as_json;
    struct buf *out;
    struct json json;
};

static void print_start(struct printer *p, struct buf *out, const char *format)
{
    p->as_json = str_eq(format, "json");
    p->out = out;
    (void)buf_puts(out, "");
    json_init(&p->json, out);
}

static void put_escaped(struct buf *b, const char *text)
{
    (void)str_escape(b, text, strlen(text));
}

/* ---- values ---- */

static void print_value(struct printer *p, const char *key, const char *value, const char *origin,
                        const char *source)
{
    if (p->as_json) {
        json_object(&p->json);
        json_pair_str(&p->json, "key", key);
        json_pair_str(&p->json, "value", value);
        json_pair_str(&p->json, "origin", origin);
        json_pair_str(&p->json, "source", source[0] ? source : NULL);
        json_object_end(&p->json);
        return;
    }
    (void)buf_printf(p->out, "%-38s ", key);
    size_t start = p->out->len;
    put_escaped(p->out, value[0] ? value : "-");
    while (!p->out->failed && p->out->len < start + 24)
        (void)buf_putc(p->out, ' ');
    (void)buf_printf(p->out, " %s%s", origin, source[0] ? "  " : "");
    put_escaped(p->out, source);
    (void)buf_putc(p->out, '\n');
}

static bool print_entry(struct printer *p, const struct settings_entry *e, struct arena *arena)
{
    const char *key = schema_row(e->key)->name, *value = entry_shown(e, arena);

    if (value)
        print_value(p, key, value, origin_name(e->origin), str_eq(e->source, key) ? "" : e->source);
    return value;
}

static bool print_key(struct printer *p, const struct layers *l, enum settings_key key,
                      struct arena *arena)
{
    const struct schema_row *row = schema_row(key);
    bool ok = true;

    if (schema_is_alias(row))
        return true;
    if (row->type >= SETTINGS_PATHS) {
        for (size_t i = 0; i < l->count && ok; i++)
            if (l->entries[i]->key == key)
                ok = print_entry(p, l->entries[i], arena);
        return ok;
    }
    if (l->last[key])
        return print_entry(p, l->last[key], arena);
    const char *preset = layers_preset_value(l, key);
    const char *source = preset ? arena_printf(arena, "preset %s", layers_value(l, KEY_PRESET))
                                : "";
    if (source)
        print_value(p, row->name, layers_value(l, key), origin_name(ORIGIN_BUILTIN), source);
    return source;
}

static void print_files(struct printer *p, const abx_config *config)
{
    static const char *const states[] = { "absent", "loaded", "trusted" };

    for (size_t i = 0; i < config->file_count; i++) {
        const char *hides = config->files[i].named ? NULL : config->files[i].hides;
        int32_t state = abx_config_file_state(config, i);
        if (p->as_json) {
            json_object(&p->json);
            json_pair_str(&p->json, "origin", origin_name(config->files[i].origin));
            json_pair_str(&p->json, "path", config->files[i].path);
            json_pair_str(&p->json, "state", states[state]);
            json_pair_str(&p->json, "inPlaceOf", hides);
            json_object_end(&p->json);
            continue;
        }
        (void)buf_printf(p->out, "# %-8s %-8s ", origin_name(config->files[i].origin),
                         states[state]);
        put_escaped(p->out, config->files[i].path);
        if (hides)
            put_quoted(p->out, ", in the place of ", hides, "");
        (void)buf_putc(p->out, '\n');
    }
}

int32_t abx_config_show(const abx_config *config, const char *format, char **ret_text,
                        abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    _buf_ struct buf b = { .limit = SHOW_MAX_BYTES };
    struct printer p;
    struct layers layers;
    bool ok = true;

    if (!config || !ret_text || !format_is_known(format))
        return err_new(err, ABX_E_INVALID, "show a configuration: no object, place or format");
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    int32_t r = config_merge(config, NULL, 0, &arena, &layers, err);
    if (r != ABX_OK)
        return r;
    print_start(&p, &b, format);
    if (p.as_json) {
        json_object(&p.json);
        json_key(&p.json, "files");
        json_array(&p.json);
    }
    print_files(&p, config);
    if (p.as_json) {
        json_array_end(&p.json);
        json_key(&p.json, "values");
        json_array(&p.json);
    }
    for (size_t key = 0; key < KEY_COUNT && ok; key++)
        ok = print_key(&p, &layers, (enum settings_key)key, &arena);
    if (!ok)
        return err_nomem(err);
    if (p.as_json) {
        json_array_end(&p.json);
        json_object_end(&p.json);
        (void)buf_putc(&b, '\n');
    }
    return take_text(&b, ret_text, err);
}

/* ---- presets ---- */

struct preset_line {
    const char *preset, *access, *rule;
    const char *path, *state; /* NULL: not about files */
};

static void print_line(struct printer *p, const struct preset_line *line)
{
    if (p->as_json) {
        json_object(&p->json);
        json_pair_str(&p->json, "preset", line->preset);
        json_pair_str(&p->json, "access", line->access);
        json_pair_str(&p->json, "rule", line->rule);
        json_pair_str(&p->json, "path", line->path);
        json_pair_str(&p->json, "state", line->state);
        json_object_end(&p->json);
        return;
    }
    (void)buf_printf(p->out, "%-20s %-8s %-9s ", line->preset, line->access,
                     line->state ? line->state : "-");
    put_escaped(p->out, line->path ? line->path : line->rule);
    (void)buf_putc(p->out, '\n');
}

static void print_rule(struct printer *p, const struct policy_rule *rule, const char *path,
                       const char *state)
{
    print_line(p, &(struct preset_line){ rule->source, access_name(rule->access), rule->text, path,
                                         state });
}

/* What does not depend on the machine: groups of hosts, and what a profile stands for. */
static bool print_names(struct printer *p, struct arena *arena)
{
    const struct group_row *group;
    const struct profile_row *row;

    for (size_t i = 0; (group = group_row(i)) != NULL; i++)
        print_line(p, &(struct preset_line){ group->group, "net", group->pattern, NULL, NULL });
    for (size_t i = 0; (row = profile_row(i)) != NULL; i++) {
        const char *rule = arena_printf(arena, "%s %s", schema_row(row->key)->name, row->value);
        if (!rule)
            return false;
        print_line(p, &(struct preset_line){ row->profile, "profile", rule, NULL, NULL });
    }
    return true;
}

/* A rule of a preset, wherever the scanner found it. */
static void print_facts(struct printer *p, const struct facts *f, const struct policy_rule *rule)
{
    bool found = false;

    for (size_t i = 0; i < f->path_count; i++)
        if (f->paths[i].rule == rule) {
            found = true;
            print_rule(p, rule, f->paths[i].path,
                       f->paths[i].exists                      ? "present"
                       : f->paths[i].rule->access == ACCESS_RW ? "absent"
                                                               : "held");
        }
    if (!found)
        print_rule(p, rule, NULL, "absent");
}

static bool is_policy_rule(const struct policy *policy, const struct policy_rule *rule)
{
    return rule >= policy->rules && rule < policy->rules + policy->rule_count;
}

int32_t abx_config_presets(const abx_config *config, const char *cwd, const char *format,
                           char **ret_text, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    _buf_ struct buf b = { .limit = SHOW_MAX_BYTES };
    struct printer p;
    struct layers layers;
    const struct policy *policy;
    const struct facts *facts;

    if (!config || !ret_text || !format_is_known(format))
        return err_new(err, ABX_E_INVALID, "show presets: no object, place or format");
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    int32_t r = config_merge(config, NULL, 0, &arena, &layers, err);
    if (r == ABX_OK)
        r = config_policy(config, &layers, NULL, &arena, &policy, err);
    if (r == ABX_OK)
        r = scan_facts(policy, cwd, &arena, &facts, err);
    if (r != ABX_OK)
        return r;
    print_start(&p, &b, format);
    if (p.as_json)
        json_array(&p.json);
    else
        (void)buf_puts(
            &b,
            "# rw: may be changed; ro: may not; exclude: hidden. absent: nothing is there now;\n"
            "# held: not there, and cannot be made where its directory is writable\n");
    for (size_t i = 0; i < policy->rule_count; i++)
        if (policy->rules[i].source[0] == '@')
            print_facts(&p, facts, &policy->rules[i]);
    /* What was found by looking: the repository, and names that are always protected. */
    for (size_t i = 0; i < facts->path_count; i++) {
        const struct path_fact *f = &facts->paths[i];
        if (f->rule->origin == ORIGIN_BUILTIN && !is_policy_rule(policy, f->rule))
            print_rule(&p, f->rule, f->path, f->exists ? "present" : "held");
    }
    if (!print_names(&p, &arena))
        return err_nomem(err);
    if (p.as_json) {
        json_array_end(&p.json);
        (void)buf_putc(&b, '\n');
    }
    return take_text(&b, ret_text, err);
}

int32_t abx_config_template(const char *what, char **ret_text, abx_error **err)
{
    _buf_ struct buf b = { .limit = SHOW_MAX_BYTES };

    if (!what || !ret_text)
        return err_new(err, ABX_E_INVALID, "print a template: no name, or no place for it");
    if (str_eq(what, "schema"))
        schema_write_json_schema(&b);
    else if (str_eq(what, "starter"))
        schema_write_starter(&b);
    else
        return err_new(err, ABX_E_INVALID, "print template '%.64s': there are schema and starter",
                       what);
    return take_text(&b, ret_text, err);
}
