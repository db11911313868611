/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration's text to settings.
 *
 * The text is foreign: a project's file comes with the project. doc.h reads it within its limits;
 * here each member is looked up in schema.def, whose names are paths through the nested objects.
 * Whether a value is right is decided by value.c, as for options and the library; what is added is
 * what only a file has: types (a number is not a text, "true" is not true), null (the same as
 * leaving the key out), objects for the maps, {"path": …, "final": true} in the system layer, and
 * `network: true` and `false`. Keys are compared whole and with their case.
 *
 * Everything that is wrong is collected, with its place. Entries go to the settings as they come,
 * and are all taken back if there was a problem. "$schema", which editors look for, is skipped.
 */
#include "policy/decode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/problems.h"
#include "policy/rule.h"
#include "policy/value.h"

#define TREE_LIMIT   ((size_t)128 << 20)
#define KEY_NAME_MAX 128 /* of a key; all in schema.def are shorter */

struct decoder {
    struct settings *settings;
    struct arena *arena;
    struct problems problems;
};

static const struct schema_row *find_row(const char *name)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (str_eq(schema_row(i)->name, name))
            return schema_row(i);
    return NULL;
}

/* "network" for "network.mode". */
static bool is_section(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < KEY_COUNT; i++) {
        const char *key = schema_row(i)->name;
        if (strncmp(key, name, len) == 0 && key[len] == '.')
            return true;
    }
    return false;
}

/* ---- what is wrong ---- */

static const char *describe(struct decoder *d, const struct doc_node *node)
{
    const char *text = NULL;

    switch (node->type) {
    case DOC_BOOL:
        return node->truth ? "true" : "false";
    case DOC_NUMBER:
        text = arena_printf(d->arena, "the number %.64s", node->text);
        break;
    case DOC_STRING:
        text = arena_printf(d->arena, "the text \"%.256s\"", node->text);
        break;
    case DOC_LIST:
        return "a list";
    case DOC_MAP:
        return "an object";
    default:
        return "null";
    }
    return text ? text : "this";
}

/* What a file has at a key of this type. */
static const char *expected(enum settings_type type)
{
    switch (type) {
    case SETTINGS_BOOL:
        return "true or false";
    case SETTINGS_COUNT:
        return "a number";
    case SETTINGS_SIZE:
        return "a number, or a text such as \"512M\"";
    case SETTINGS_DURATION:
        return "a number, or a text such as \"30s\"";
    case SETTINGS_RULES:
        return "a list of objects";
    case SETTINGS_MAP:
        return "an object of texts";
    case SETTINGS_OVERRIDES:
        return "an object of decisions";
    case SETTINGS_COMMANDS:
        return "an object";
    default:
        return type >= SETTINGS_PATHS ? "a list of texts" : "a text";
    }
}

#define NETWORK_WORDS "an object, true or false"

static const char *type_hint(const struct doc_node *node, const char *wanted)
{
    if (str_eq(wanted, "true or false"))
        return "write true or false, without quotes";
    if (str_eq(wanted, NETWORK_WORDS))
        return "true is mode allowed, false is blocked; without quotes";
    if (node->type == DOC_STRING && str_has_prefix(wanted, "a number"))
        return "write the number without quotes";
    if (node->type == DOC_STRING && str_has_prefix(wanted, "a list"))
        return "put it into brackets: [ ... ]";
    if (node->type == DOC_NULL && node->text && str_eq(node->text, "~"))
        return "quote '~' to mean the home directory";
    if (str_eq(wanted, "a text"))
        return node->type < DOC_LIST ? "put it into double quotes" : "write one text, in quotes";
    return NULL;
}

static void refuse_type(struct decoder *d, const struct doc_node *node, const char *name,
                        const char *wanted)
{
    problems_add(&d->problems, node->place, name, type_hint(node, wanted),
                 "'%s' must be %s, not %s", name, wanted, describe(d, node));
}

/* The names that may stand where the prefix ("network.") leads, each up to its next dot. */
static const char *nearest_sibling(struct decoder *d, const char *prefix, const char *key)
{
    const char *names[KEY_COUNT + 1];
    size_t len = strlen(prefix), n = 0;

    for (size_t i = 0; i < KEY_COUNT; i++) {
        const char *name = schema_row(i)->name;
        if (strncmp(name, prefix, len) != 0)
            continue;
        names[n] = arena_strndup(d->arena, name + len, strcspn(name + len, "."));
        n += names[n] != NULL;
    }
    names[n] = NULL;
    return str_nearest(key, names);
}

/* A key of another section that ends like this. */
static const char *same_elsewhere(const char *key)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const char *dot = strrchr(schema_row(i)->name, '.');
        if (dot && str_eq(dot + 1, key))
            return schema_row(i)->name;
    }
    return NULL;
}

static void refuse_key(struct decoder *d, const struct doc_node *node, const char *prefix)
{
    const char *nearest = nearest_sibling(d, prefix, node->key);
    const char *elsewhere = same_elsewhere(node->key), *dot = strchr(node->key, '.');
    const char *name = arena_printf(d->arena, "%s%.256s", prefix, node->key);
    char hint[2 * KEY_NAME_MAX];

    if (dot && find_row(node->key))
        (void)snprintf(hint, sizeof hint, "write it nested: \"%.*s\": { \"%s\": ... }",
                       (int)(dot - node->key), node->key, dot + 1);
    else if (nearest)
        (void)snprintf(hint, sizeof hint, "did you mean '%s%s'?", prefix, nearest);
    else if (elsewhere)
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", elsewhere);
    else
        (void)snprintf(hint, sizeof hint, "`agentbox help keys` lists all keys");
    name = name ? name : node->key;
    problems_add(&d->problems, node->key_place, name, hint, "unknown key '%s'", name);
}

/* ---- entries ---- */

enum how { SET, APPEND, APPEND_FINAL };

static void enter(struct decoder *d, const struct doc_node *node, const char *name,
                  const char *value, enum how how)
{
    const char *source = arena_printf(d->arena, "%s:%" PRIu32 ":%" PRIu32, d->problems.name,
                                      node->place.line, node->place.column);
    abx_error *err = NULL;
    int32_t r;

    if (!source || !value) {
        problems_take(&d->problems, node->place, NULL);
        return;
    }
    if (how == SET)
        r = settings_set(d->settings, name, value, source, &err);
    else if (how == APPEND)
        r = settings_append(d->settings, name, value, source, &err);
    else
        r = settings_append_final(d->settings, name, value, source, &err);
    if (r != ABX_OK)
        problems_take(&d->problems, node->place, err);
}

static bool is_all_digits(const char *text)
{
    return text[0] && text[strspn(text, "0123456789")] == '\0';
}

static void decode_scalar(struct decoder *d, const struct doc_node *node,
                          const struct schema_row *row)
{
    bool fits;

    switch (row->type) {
    case SETTINGS_BOOL:
        fits = node->type == DOC_BOOL;
        break;
    case SETTINGS_COUNT:
        fits = node->type == DOC_NUMBER;
        break;
    case SETTINGS_SIZE:
    case SETTINGS_DURATION: /* a text of digits alone may be a YAML that means it octal */
        fits = node->type == DOC_NUMBER || (node->type == DOC_STRING && !is_all_digits(node->text));
        break;
    default:
        fits = node->type == DOC_STRING;
    }
    if (fits)
        enter(d, node, row->name, node->text, SET);
    else
        refuse_type(d, node, row->name, expected(row->type));
}

/* {"path": "…", "final": true} */
static void decode_path_object(struct decoder *d, const struct doc_node *node,
                               const struct schema_row *row)
{
    const struct doc_node *path = NULL, *final = NULL;

    if (d->settings->origin != ORIGIN_SYSTEM) {
        problems_add(&d->problems, node->place, row->name,
                     "write the path as a text; \"final\" belongs in a file of /etc/agentbox",
                     "an object in '%s': only the system's configuration may have it", row->name);
        return;
    }
    for (const struct doc_node *child = node->first; child; child = child->next) {
        if (str_eq(child->key, "path"))
            path = child;
        else if (str_eq(child->key, "final"))
            final = child;
        else
            problems_add(&d->problems, child->key_place, child->key,
                         "such an object has path and final",
                         "unknown key '%.256s' in an entry of '%s'", child->key, row->name);
    }
    if (final && final->type != DOC_BOOL)
        refuse_type(d, final, "final", expected(SETTINGS_BOOL));
    else if (!path || path->type != DOC_STRING)
        problems_add(&d->problems, path ? path->place : node->place, row->name,
                     "for example { \"path\": \"/srv/secrets\", \"final\": true }",
                     "an entry of '%s' needs its \"path\", a text", row->name);
    else
        enter(d, path, row->name, path->text, final && final->truth ? APPEND_FINAL : APPEND);
}

static void decode_rule(struct decoder *d, const struct doc_node *node,
                        const struct schema_row *row)
{
    _buf_ struct buf text = { .limit = SETTINGS_MAX_VALUE };
    size_t before = d->problems.count;

    rule_write(node, &text, &d->problems);
    if (text.failed == -E2BIG)
        problems_add(&d->problems, node->place, row->name, NULL, "a rule of '%s' is too long",
                     row->name);
    else if (d->problems.count == before)
        enter(d, node, row->name, text.failed ? NULL : text.data, APPEND);
}

static void decode_list(struct decoder *d, const struct doc_node *node,
                        const struct schema_row *row)
{
    if (node->type != DOC_LIST) {
        refuse_type(d, node, row->name, expected(row->type));
        return;
    }
    for (const struct doc_node *item = node->first; item; item = item->next) {
        if (row->type == SETTINGS_RULES)
            decode_rule(d, item, row);
        else if (row->type == SETTINGS_PATHS && item->type == DOC_MAP)
            decode_path_object(d, item, row);
        else if (item->type == DOC_STRING)
            enter(d, item, row->name, item->text, APPEND);
        else
            problems_add(&d->problems, item->place, row->name, type_hint(item, "a text"),
                         "an entry of '%s' must be a text, not %s", row->name, describe(d, item));
    }
}

static void refuse_member(struct decoder *d, const struct doc_node *member,
                          const struct schema_row *row)
{
    bool command = row->type == SETTINGS_COMMANDS;

    problems_add(&d->problems, member->place, row->name,
                 command ? "true, false, \"@git\", or a path" : type_hint(member, "a text"),
                 "'%.256s' in '%s' must be %s, not %s", member->key, row->name,
                 command ? "true, false or a text" : "a text", describe(d, member));
}

static void decode_map_member(struct decoder *d, const struct doc_node *member,
                              const struct schema_row *row)
{
    bool command = row->type == SETTINGS_COMMANDS, text = member->type == DOC_STRING;

    if (!member->key[0])
        problems_add(&d->problems, member->key_place, row->name, "give it one, or take it away",
                     "an empty name in '%s'", row->name);
    else if (strchr(member->key, '='))
        problems_add(&d->problems, member->key_place, row->name,
                     "no name has one; the value follows", "a name in '%s' holds '=': '%.256s'",
                     row->name, member->key);
    else if (command && text && (str_eq(member->text, "true") || str_eq(member->text, "false")))
        problems_add(&d->problems, member->place, row->name, "write true or false, without quotes",
                     "the rule of '%.256s' in '%s' is a text that reads %s", member->key, row->name,
                     member->text);
    else if (text || (command && member->type == DOC_BOOL))
        enter(d, member, row->name, arena_printf(d->arena, "%s=%s", member->key, member->text),
              APPEND);
    else
        refuse_member(d, member, row);
}

static void decode_value(struct decoder *d, const struct doc_node *node,
                         const struct schema_row *row)
{
    if (node->type == DOC_NULL && !(node->text && str_eq(node->text, "~"))) /* as if not there */
        return;
    if (row->type < SETTINGS_PATHS) {
        decode_scalar(d, node, row);
    } else if (row->type < SETTINGS_MAP) {
        decode_list(d, node, row);
    } else if (node->type != DOC_MAP) {
        refuse_type(d, node, row->name, expected(row->type));
    } else {
        for (const struct doc_node *member = node->first; member; member = member->next)
            decode_map_member(d, member, row);
    }
}

/* ---- the tree ---- */

static void decode_members(struct decoder *d, const struct doc_node *map, const char *prefix);

static void decode_section(struct decoder *d, const struct doc_node *node, const char *name)
{
    char prefix[KEY_NAME_MAX + 1];

    if (node->type == DOC_MAP) {
        (void)snprintf(prefix, sizeof prefix, "%s.", name);
        decode_members(d, node, prefix);
    } else if (node->type == DOC_BOOL && str_eq(name, "network")) {
        enter(d, node, schema_row(KEY_NETWORK)->name, node->truth ? "allowed" : "blocked", SET);
    } else if (node->type != DOC_NULL) {
        refuse_type(d, node, name, str_eq(name, "network") ? NETWORK_WORDS : "an object");
    }
}

static void decode_members(struct decoder *d, const struct doc_node *map, const char *prefix)
{
    for (const struct doc_node *node = map->first; node; node = node->next) {
        char name[KEY_NAME_MAX];
        int n = snprintf(name, sizeof name, "%s%s", prefix, node->key);
        bool whole = n > 0 && (size_t)n < sizeof name && !strchr(node->key, '.');
        const struct schema_row *row = whole ? find_row(name) : NULL;

        if (row)
            decode_value(d, node, row);
        else if (whole && is_section(name))
            decode_section(d, node, name);
        else if (prefix[0] || !str_eq(node->key, "$schema"))
            refuse_key(d, node, prefix);
    }
}

static void decode_root(struct decoder *d, const struct doc_node *root)
{
    if (root->type == DOC_MAP)
        decode_members(d, root, "");
    else if (root->type != DOC_NULL)
        problems_add(&d->problems, root->place, "", "an empty configuration is {}",
                     "a configuration must be an object, not %s", describe(d, root));
}

int32_t config_decode(struct settings *settings, const char *name, const char *text, size_t len,
                      enum doc_format format, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    size_t before = settings->count;
    struct doc doc;

    arena_init(&arena, TREE_LIMIT);
    if (doc_read(&arena, text, len, format, &doc) == -ENOMEM)
        return err_nomem(err);

    struct decoder d = { .settings = settings, .arena = &arena, .problems = { .name = name } };
    problems_of_doc(&d.problems, &doc);
    if (doc.root)
        decode_root(&d, doc.root);
    int32_t r = problems_report(&d.problems, err);
    if (r != ABX_OK)
        settings_cut(settings, before);
    problems_done(&d.problems);
    return r;
}
