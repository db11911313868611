/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings as a configuration file, or as a list for people.
 *
 * The rows of schema.def are sorted, so the entries, sorted by key, come in the order of the nested
 * objects. Within a key they keep their order; only the names of a map are sorted, so that the last
 * of several is easy to find.
 */
#include "policy/settings_dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

#define MAX_SECTIONS 4

struct view {
    struct line {
        const struct settings_entry *entry;
    } * lines;
    size_t count;
};

static int compare_lines(const void *a, const void *b)
{
    const struct settings_entry *left = ((const struct line *)a)->entry;
    const struct settings_entry *right = ((const struct line *)b)->entry;
    enum settings_key key = left->key;

    if (key != right->key)
        return key < right->key ? -1 : 1;
    if (schema_row(key)->type >= SETTINGS_MAP) {
        size_t n = strcspn(left->value, "="), m = strcspn(right->value, "=");
        int order = memcmp(left->value, right->value, MIN_OF(n, m));
        if (order == 0)
            order = n < m ? -1 : n > m;
        if (order)
            return order;
    }
    return left < right ? -1 : left > right; /* both in the same array */
}

static int view_init(struct view *v, const struct settings *s)
{
    v->lines = calloc(s->count + 1, sizeof *v->lines);
    if (!v->lines)
        return -ENOMEM;
    for (size_t i = 0; i < s->count; i++)
        v->lines[i].entry = &s->entries[i];
    v->count = s->count;
    qsort(v->lines, v->count, sizeof *v->lines, compare_lines);
    return 0;
}

/* A later entry of the same scalar, or of the same name in a map, replaces this one. */
static bool is_replaced(const struct view *v, size_t i)
{
    const struct settings_entry *e = v->lines[i].entry;
    enum settings_type type = schema_row(e->key)->type;

    if (i + 1 == v->count || v->lines[i + 1].entry->key != e->key)
        return false;
    if (type < SETTINGS_PATHS)
        return true;
    size_t n = strcspn(e->value, "=") + 1;
    return type >= SETTINGS_MAP && strncmp(e->value, v->lines[i + 1].entry->value, n) == 0;
}

static void write_path(struct json *j, const struct settings_entry *e)
{
    if (!(e->flags & SETTINGS_FINAL)) {
        json_str(j, e->value);
        return;
    }
    json_object(j);
    json_pair_str(j, "path", e->value);
    json_pair_bool(j, "final", true);
    json_object_end(j);
}

/* NAME=VALUE as a member. */
static void write_member(struct json *j, const struct settings_entry *e)
{
    _buf_ struct buf name = { .limit = SETTINGS_MAX_VALUE };
    size_t n = strcspn(e->value, "=");
    const char *value = e->value + n + 1;

    (void)buf_append(&name, e->value, n);
    if (name.failed) {
        j->out->failed = j->out->failed ? j->out->failed : name.failed;
        return;
    }
    json_key(j, name.data);
    if (schema_row(e->key)->type == SETTINGS_COMMANDS &&
        (str_eq(value, "true") || str_eq(value, "false")))
        json_raw(j, value);
    else
        json_str(j, value);
}

static void write_value(struct json *j, const struct settings_entry *e)
{
    enum settings_type type = schema_row(e->key)->type;
    uint64_t number = 0;
    bool counted = type == SETTINGS_SIZE || type == SETTINGS_COUNT || type == SETTINGS_DURATION;

    if (type == SETTINGS_BOOL || type == SETTINGS_RULES)
        json_raw(j, e->value);
    else if (counted && str_to_u64(e->value, UINT64_MAX, &number))
        json_uint(j, number);
    else if (type == SETTINGS_PATHS)
        write_path(j, e);
    else if (type >= SETTINGS_MAP)
        write_member(j, e);
    else
        json_str(j, e->value);
}

/* The objects around a key that are open, by their name's end in a key's name. */
struct sections {
    const char *name; /* a key in the innermost one */
    size_t ends[MAX_SECTIONS], depth;
};

static void open_sections(struct json *j, struct sections *s, const char *name)
{
    while (s->depth > 0 && strncmp(s->name, name, s->ends[s->depth - 1]) != 0) {
        json_object_end(j);
        s->depth--;
    }
    s->name = name;
    size_t start = s->depth ? s->ends[s->depth - 1] : 0;
    for (const char *dot; s->depth < MAX_SECTIONS && (dot = strchr(name + start, '.'));) {
        char part[64] = "";
        size_t n = (size_t)(dot - name) - start;
        memcpy(part, name + start, MIN_OF(n, sizeof part - 1));
        json_key(j, part);
        json_object(j);
        start = (size_t)(dot - name) + 1;
        s->ends[s->depth++] = start;
    }
    json_key(j, name + start);
}

/* All entries of one key from i on; returns the first behind them. */
static size_t write_key(struct json *j, const struct view *v, size_t i)
{
    enum settings_key key = v->lines[i].entry->key;
    enum settings_type type = schema_row(key)->type;

    if (type >= SETTINGS_MAP)
        json_object(j);
    else if (type >= SETTINGS_PATHS)
        json_array(j);
    for (; i < v->count && v->lines[i].entry->key == key; i++)
        if (!is_replaced(v, i))
            write_value(j, v->lines[i].entry);
    if (type >= SETTINGS_MAP)
        json_object_end(j);
    else if (type >= SETTINGS_PATHS)
        json_array_end(j);
    return i;
}

void settings_dump_json(const struct settings *settings, struct buf *out)
{
    struct sections sections = { 0 };
    struct view v = { 0 };
    struct json j;

    if (view_init(&v, settings) < 0) {
        out->failed = -ENOMEM;
        return;
    }
    json_init(&j, out);
    json_object(&j);
    for (size_t i = 0; i < v.count;) {
        open_sections(&j, &sections, schema_row(v.lines[i].entry->key)->name);
        i = write_key(&j, &v, i);
    }
    for (; sections.depth > 0; sections.depth--)
        json_object_end(&j);
    json_object_end(&j);
    free(v.lines);
}

void settings_dump_text(const struct settings *settings, struct buf *out)
{
    struct view v = { 0 };

    if (view_init(&v, settings) < 0) {
        out->failed = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < v.count; i++) {
        const struct settings_entry *e = v.lines[i].entry;
        if (is_replaced(&v, i))
            continue;
        (void)buf_printf(out, "%s = ", schema_row(e->key)->name);
        (void)str_escape(out, e->value, strlen(e->value));
        (void)buf_printf(out, "%s (%s, ", e->flags & SETTINGS_FINAL ? " final" : "",
                         origin_name(e->origin));
        (void)str_escape(out, e->source, strlen(e->source));
        (void)buf_puts(out, ")\n");
    }
    free(v.lines);
}
