/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From violations to grants. Only what no rule speaks about is granted: a rule that refuses was
 * meant, so what it protects becomes a remark, and so do grants that are too broad to be proposed
 * (the home, a top directory), dot files of the home and names that a configuration cannot hold.
 * Three or more paths in one directory become that directory; what lies below another grant goes.
 *
 * Names come from inside the sandbox. They stand in JSON strings and in comments of one line, where
 * the library's escaped text is used.
 */
#include "cli/learn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

#define TOGETHER 3 /* so many paths in one directory mean the directory */

static bool is_beneath(const char *path, const char *directory)
{
    size_t len = strlen(directory);

    return strncmp(path, directory, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool push(struct lessons *l, const char *key, const char *value, const char *why)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 16;
        struct lesson *list = reallocarray(l->list, capacity, sizeof *list);
        if (!list)
            return false;
        l->list = list;
        l->capacity = capacity;
    }
    struct lesson lesson = { key, strdup(value), strdup(why) };
    if (!lesson.value || !lesson.why) {
        free(lesson.value);
        free(lesson.why);
        return false;
    }
    l->list[l->count++] = lesson;
    return true;
}

static bool is_known(const struct lessons *l, const char *key, const char *value)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct lesson *o = &l->list[i];

        if (!key != !o->key || (key && !str_eq(key, o->key)))
            continue;
        if (str_eq(o->value, value) ||
            (key && str_eq(key, "filesystem.rw") && is_beneath(value, o->value)))
            return true;
    }
    return false;
}

/* ---- what may be proposed ---- */

static bool is_writable_text(const char *path)
{
    uint32_t character;
    size_t len = strlen(path);

    for (size_t i = 0, n; i < len; i += n) {
        n = str_utf8(path + i, len - i, &character);
        if (n == 0 || str_is_invisible(character) || strchr("*?[", path[i]))
            return false;
    }
    return true;
}

/* ~/.bashrc, ~/.gitconfig, ... */
static bool is_dot_file(const struct lessons *l, const char *path)
{
    const char *name = l->home && is_beneath(path, l->home) ? path + strlen(l->home) : "";
    struct stat st;

    return str_has_prefix(name, "/.") && !strchr(name + 1, '/') &&
           !(stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Why a path is not proposed; NULL: it may be. */
static const char *path_objection(const struct lessons *l, const abx_violation *v)
{
    const char *path = abx_violation_grant_path(v);
    const char *second = path[0] == '/' ? strchr(path + 1, '/') : NULL;

    if (!str_eq(abx_violation_rule(v), "default"))
        return "a rule protects it";
    if (!path[0])
        return "no grant of its own would allow it";
    if (!second || (l->home && is_beneath(l->home, path)))
        return "a grant would be too broad";
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return "it has to be made first";
    if (is_dot_file(l, path))
        return "programs of the host obey it when they start";
    if (!is_writable_text(path))
        return "its name is a pattern, or cannot be written in a file";
    return NULL;
}

/* "--allow-domain HOST:PORT" */
static const char *domain_of(const abx_violation *v)
{
    static const char option[] = "--allow-domain ";
    const char *grant = abx_violation_grant(v);

    return str_has_prefix(grant, option) ? grant + strlen(option) : NULL;
}

static bool add_one(struct lessons *l, const abx_violation *v, size_t *count)
{
    const char *operation = abx_violation_operation(v), *key = NULL, *value = NULL;
    const char *objection = "it is not a matter of files or hosts";

    if (str_eq(operation, "file-write")) {
        objection = path_objection(l, v);
        key = "filesystem.rw";
        value = abx_violation_grant_path(v);
    } else if (str_eq(operation, "file-read")) {
        objection = "a rule hides it";
    } else if (str_eq(operation, "network")) {
        key = "network.allowedDomains";
        value = domain_of(v);
        objection = value && is_writable_text(value) ? NULL
                    : str_has_prefix(abx_violation_grant(v), "--network filtered")
                        ? "the network is blocked"
                    : abx_violation_grant(v)[0] ? "it opens more than one host"
                                                : "no grant would allow it";
    }
    if (objection) {
        key = NULL;
        value = abx_violation_text(v);
    }
    if (is_known(l, key, value))
        return true;
    *count += key != NULL;
    return push(l, key, value, objection ? objection : abx_violation_process(v));
}

bool lessons_add(struct lessons *l, const abx_result *result, size_t *ret_new)
{
    *ret_new = 0;
    for (size_t i = 0; i < abx_result_violations(result); i++)
        if (!add_one(l, abx_result_violation(result, i), ret_new))
            return false;
    return true;
}

/* ---- collapsing ---- */

/* Everybody's in a home: its configurations are among those of programs that start others. */
static bool is_shared(const struct lessons *l, const char *path, size_t len)
{
    static const char *const names[] = { "/.cache", "/.config", "/.local", "/.local/share",
                                         "/.local/state" };
    size_t home = l->home ? strlen(l->home) : 0;

    for (size_t i = 0; home && i < ARRAY_LEN(names); i++)
        if (len > home && strncmp(path, l->home, home) == 0 &&
            str_is(path + home, len - home, names[i]))
            return true;
    return false;
}

/* The directory of a path that may stand for all in it; its length, 0: none may. */
static size_t directory_of(const struct lessons *l, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;

    /* Not a top directory, not the home, what is above it or everybody's in it. */
    if (len == 0 || !memchr(path + 1, '/', len - 1) || is_shared(l, path, len) ||
        (l->home && strncmp(l->home, path, len) == 0 &&
         (l->home[len] == '\0' || l->home[len] == '/')))
        return 0;
    return len;
}

static bool is_path(const struct lesson *x)
{
    return x->key && str_eq(x->key, "filesystem.rw");
}

static size_t count_in(const struct lessons *l, const char *directory, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < l->count; i++)
        count += is_path(&l->list[i]) && directory_of(l, l->list[i].value) == len &&
                 strncmp(l->list[i].value, directory, len) == 0;
    return count;
}

static void collapse(struct lessons *l)
{
    for (size_t i = 0; i < l->count; i++) {
        if (!is_path(&l->list[i]))
            continue;
        size_t len = directory_of(l, l->list[i].value);
        if (len && count_in(l, l->list[i].value, len) >= TOGETHER)
            l->list[i].value[len] = '\0';
    }
}

/* Covered by another grant; of equal ones the first stays. */
static bool is_covered(const struct lessons *l, size_t at)
{
    for (size_t i = 0; i < l->count; i++)
        if (i != at && is_path(&l->list[i]) && is_beneath(l->list[at].value, l->list[i].value) &&
            (!str_eq(l->list[at].value, l->list[i].value) || i < at))
            return true;
    return false;
}

/* ---- printing ---- */

/* By value, so that proposals can be compared, whoever came first this time. */
static int by_value(const void *a, const void *b)
{
    const struct lesson *x = a, *y = b;
    int order = strcmp(x->value, y->value);

    return order ? order : strcmp(x->why, y->why);
}

/* Relative to the project, or to the home, where it can be. */
static void put_value(struct json *j, const struct lessons *l, const struct lesson *x)
{
    _buf_ struct buf text = { .limit = 1 << 16 };

    if (is_path(x) && l->cwd && is_beneath(x->value, l->cwd))
        (void)buf_printf(&text, ".%s", x->value + strlen(l->cwd));
    else if (is_path(x) && l->home && is_beneath(x->value, l->home))
        (void)buf_printf(&text, "~%s", x->value + strlen(l->home));
    else
        (void)buf_puts(&text, x->value);
    json_str(j, text.data);
}

/* A grant of this key that no other one covers. */
static bool is_proposed(const struct lessons *l, size_t at, const char *key)
{
    const struct lesson *x = &l->list[at];

    return x->key && str_eq(x->key, key) && !(is_path(x) && is_covered(l, at));
}

static void put_list(struct buf *b, const struct lessons *l, const char *key, const char *group,
                     const char *name)
{
    bool any = false;

    for (size_t i = 0; i < l->count; i++) {
        const struct lesson *x = &l->list[i];
        struct json j;

        if (!is_proposed(l, i, key))
            continue;
        if (!any)
            (void)buf_printf(b, "  \"%s\": {\n    \"%s\": [\n", group, name);
        any = true;
        (void)buf_puts(b, "      ");
        json_init(&j, b);
        put_value(&j, l, x);
        (void)buf_puts(b, x->why[0] ? ", // " : ",");
        (void)str_escape(b, x->why, strlen(x->why));
        (void)buf_putc(b, '\n');
    }
    if (any)
        (void)buf_puts(b, "    ],\n  },\n");
}

static void put_json_list(struct json *j, const struct lessons *l, const char *key,
                          const char *group, const char *name)
{
    bool any = false;

    for (size_t i = 0; i < l->count; i++) {
        if (!is_proposed(l, i, key))
            continue;
        if (!any) {
            json_key(j, group);
            json_object(j);
            json_key(j, name);
            json_array(j);
        }
        any = true;
        put_value(j, l, &l->list[i]);
    }
    if (any) {
        json_array_end(j);
        json_object_end(j);
    }
}

static void write_json(struct buf *b, const struct lessons *l, unsigned runs)
{
    struct json j;

    json_init(&j, b);
    json_object(&j);
    json_pair_uint(&j, "runs", runs);
    json_key(&j, "proposal");
    json_object(&j);
    put_json_list(&j, l, "filesystem.rw", "filesystem", "rw");
    put_json_list(&j, l, "network.allowedDomains", "network", "allowedDomains");
    json_object_end(&j);
    json_key(&j, "notProposed");
    json_array(&j);
    for (size_t i = 0; i < l->count; i++) {
        if (l->list[i].key)
            continue;
        json_object(&j);
        json_pair_str(&j, "refused", l->list[i].value);
        json_pair_str(&j, "reason", l->list[i].why);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    (void)buf_putc(b, '\n');
}

static void write_text(struct buf *b, const struct lessons *l, unsigned runs)
{
    bool remarks = false;

    (void)buf_printf(b, "// What %u run%s needed beyond the defaults (agentbox learn).\n{\n", runs,
                     runs == 1 ? "" : "s");
    put_list(b, l, "filesystem.rw", "filesystem", "rw");
    put_list(b, l, "network.allowedDomains", "network", "allowedDomains");
    for (size_t i = 0; i < l->count; i++) {
        const struct lesson *x = &l->list[i];

        if (x->key)
            continue;
        (void)buf_puts(b, remarks ? "" : "  // Refused, and not proposed:\n");
        remarks = true;
        (void)buf_printf(b, "  //   %s\n  //     (%s)\n", x->value, x->why);
    }
    (void)buf_puts(b, "}\n");
}

bool lessons_print(struct lessons *l, unsigned runs, bool json, FILE *to)
{
    _buf_ struct buf b = { .limit = (size_t)64 << 20 };

    collapse(l);
    if (l->count)
        qsort(l->list, l->count, sizeof *l->list, by_value);
    if (json)
        write_json(&b, l, runs);
    else
        write_text(&b, l, runs);
    return !b.failed && fputs(b.data, to) >= 0;
}

void lessons_done(struct lessons *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->list[i].value);
        free(l->list[i].why);
    }
    free(l->list);
    free(l->cwd);
    free(l->home);
}
