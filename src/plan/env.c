/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment cleaning.
 *
 * Trusts nothing in envp: entries without '=' or without a name are dropped, of entries with the
 * same name the last one counts (so that what we judge is what a program sees, whichever it reads).
 * What env.def lists is removed, as is a value that holds a URL with a password. environment.pass
 * brings a variable back, environment.set and unset have the last word; of the three the later
 * entry counts.
 */
#include "plan/env.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "plan/plan.h"

#define ENV_HOME_UNKNOWN "/tmp"

enum env_group {
    GROUP_KEEP,
    GROUP_INJECT,
    GROUP_QUIET,
    GROUP_SECRET,
    GROUP_SOCKET,
    GROUP_VALUE,
};

static const struct row {
    enum env_group group;
    const char *pattern, *reason;
} rows[] = {
#define ENV(group, pattern, reason) { GROUP_##group, pattern, reason },
#include "plan/env.def"
#undef ENV
};

struct variable {
    const char *name;
    const char *value; /* what it has inside; NULL: not there */
    const char *outside;
    const struct row *removed; /* by this row */
    bool added;                /* the value is ours */
    size_t index;              /* of its first mention */
};

struct table {
    struct variable *list;
    size_t count;
};

static char to_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool same_text(const char *pattern, const char *text, size_t len, bool upper)
{
    for (size_t i = 0; i < len; i++)
        if (pattern[i] != (upper ? to_upper(text[i]) : text[i]))
            return false;
    return true;
}

/* A '*' at the beginning, at the end, or at both. */
static bool pattern_matches(const char *pattern, const char *text, bool upper)
{
    if (pattern[0] != '*' && pattern[0] != (upper ? to_upper(text[0]) : text[0]))
        return false;

    size_t n = strlen(pattern), len = strlen(text);
    bool open_start = pattern[0] == '*', open_end = n > 1 && pattern[n - 1] == '*';

    pattern += open_start;
    n -= (size_t)open_start + open_end;
    if (n > len || (!open_start && !open_end && n != len))
        return false;
    if (!open_start)
        return same_text(pattern, text, n, upper);
    if (!open_end)
        return same_text(pattern, text + len - n, n, upper);
    for (size_t i = 0; i + n <= len; i++)
        if (same_text(pattern, text + i, n, upper))
            return true;
    return false;
}

/* "scheme://user:password@host" anywhere in the value. */
static bool value_has_password(const char *value)
{
    for (const char *p = value; (p = strstr(p, "://"));) {
        p += 3;
        size_t authority = strcspn(p, "/?# \t\n");
        const char *at = memchr(p, '@', authority);
        const char *colon = at ? memchr(p, ':', (size_t)(at - p)) : NULL;
        if (colon && colon + 1 < at)
            return true;
    }
    return false;
}

static const struct row *find_row(const char *name, const char *value)
{
    static const struct row password = { GROUP_VALUE, "", "holds a password" };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *subject = rows[i].group == GROUP_VALUE ? value : name;
        if (pattern_matches(rows[i].pattern, subject, rows[i].group == GROUP_SECRET))
            return rows[i].group == GROUP_KEEP ? NULL : &rows[i];
    }
    return value_has_password(value) ? &password : NULL;
}

const char *env_removal(const char *name, const char *value)
{
    const struct row *row = find_row(name, value);

    return row ? row->reason : NULL;
}

/* Accounts and sockets are set by whole systems, for every command. */
static bool is_missed(const struct row *row)
{
    return row->group == GROUP_INJECT || row->group == GROUP_VALUE ||
           str_eq(row->reason, "looks like a secret");
}

static int compare_variables(const void *left, const void *right)
{
    const struct variable *a = left, *b = right;
    int r = strcmp(a->name, b->name);

    return r ? r : (a->index > b->index) - (a->index < b->index);
}

static int compare_positions(const void *left, const void *right)
{
    const struct variable *a = left, *b = right;

    return (a->index > b->index) - (a->index < b->index);
}

static struct variable *find(const struct table *t, const char *name)
{
    size_t low = 0, high = t->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int r = strcmp(t->list[middle].name, name);
        if (r == 0)
            return &t->list[middle];
        if (r < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static size_t count_texts(const char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

/* Entries without a name are dropped. */
static bool add_texts(const char *const *list, bool added, struct arena *a, struct table *t)
{
    for (size_t i = 0; list && list[i]; i++) {
        const char *equals = strchr(list[i], '=');
        if (!equals || equals == list[i])
            continue;
        char *name = arena_strndup(a, list[i], (size_t)(equals - list[i]));
        if (!name)
            return false;
        t->list[t->count] = (struct variable){ .name = name,
                                               .value = equals + 1,
                                               .outside = added ? NULL : equals + 1,
                                               .added = added,
                                               .index = t->count };
        t->count++;
    }
    return true;
}

/* Of entries with the same name the last value counts; what is added comes last. */
static void merge_same(struct table *t)
{
    size_t out = 0;

    qsort(t->list, t->count, sizeof *t->list, compare_variables);
    for (size_t i = 0; i < t->count; i++) {
        const struct variable *v = &t->list[i];

        if (!out || !str_eq(t->list[out - 1].name, v->name)) {
            t->list[out++] = *v;
            continue;
        }
        struct variable *kept = &t->list[out - 1];
        if (v->value)
            kept->value = v->value;
        if (v->outside)
            kept->outside = v->outside;
        kept->added = kept->added || v->added;
    }
    t->count = out;
}

/*
 * One entry a name, sorted by name: what the request has, and every name that the policy or we
 * speak of.
 */
static bool make_table(const struct policy *p, const struct env_request *request, struct arena *a,
                       struct table *t)
{
    static const char *const ours[] = { "HOME", "PATH", "PWD", "TMPDIR" };
    size_t room = p->env_count + ARRAY_LEN(ours);

    t->list = arena_alloc(a, count_texts(request->envp) + count_texts(request->added) + room,
                          sizeof *t->list);
    if (!t->list || !add_texts(request->envp, false, a, t) ||
        !add_texts(request->added, true, a, t))
        return false;
    for (size_t i = 0; i < room; i++) {
        const char *name = i < p->env_count ? p->env[i].name : ours[i - p->env_count];
        t->list[t->count] = (struct variable){ .name = name, .index = t->count };
        t->count++;
    }
    merge_same(t);
    return true;
}

static void apply_policy(const struct policy *p, struct table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        struct variable *v = &t->list[i];
        bool docker = p->docker && str_eq(v->name, "DOCKER_HOST") && v->value &&
                      str_has_prefix(v->value, "unix:");
        v->removed = v->value && !v->added && !docker ? find_row(v->name, v->value) : NULL;
        if (v->removed)
            v->value = NULL;
    }
    for (size_t i = 0; i < p->env_count; i++) {
        struct variable *v = find(t, p->env[i].name);
        if (!v)
            continue;
        if (p->env[i].action == ENV_PASS)
            v->value = v->outside;
        else
            v->value = p->env[i].action == ENV_SET ? p->env[i].value : NULL;
        v->removed = NULL;
    }
}

static void apply_facts(const struct policy *p, const struct facts *f, struct table *t)
{
    struct variable *home = find(t, "HOME"), *path = find(t, "PATH");
    struct variable *pwd = find(t, "PWD"), *tmpdir = find(t, "TMPDIR");

    if (home && (!home->value || home->value[0] != '/'))
        home->value = f->home ? f->home : ENV_HOME_UNKNOWN;
    if (path && (!path->value || !path->value[0]))
        path->value = ENV_DEFAULT_PATH;
    if (pwd)
        pwd->value = f->cwd;
    if (tmpdir && p->tmp_private)
        tmpdir->value = "/tmp";
}

int32_t env_compile(const struct policy *policy, const struct facts *facts,
                    const struct env_request *request, struct arena *arena, struct env_result *ret,
                    abx_error **err)
{
    struct table t = { NULL, 0 };
    struct env_result result = { .path = ENV_DEFAULT_PATH };

    if (!make_table(policy, request, arena, &t))
        return err_nomem(err);
    apply_policy(policy, &t);
    apply_facts(policy, facts, &t);
    qsort(t.list, t.count, sizeof *t.list, compare_positions);

    const char **env = arena_alloc(arena, t.count + 1, sizeof *env);
    struct env_removed *removed = arena_alloc(arena, t.count, sizeof *removed);

    if (!env || !removed)
        return err_nomem(err);
    for (size_t i = 0; i < t.count; i++) {
        const struct variable *v = &t.list[i];
        if (v->removed)
            removed[result.removed_count++] = (struct env_removed){
                v->name,
                v->removed->reason,
                is_missed(v->removed),
            };
        if (!v->value)
            continue;
        env[result.env_count] = arena_join(arena, v->name, "=", v->value);
        if (!env[result.env_count++])
            return err_nomem(err);
        if (str_eq(v->name, "PATH"))
            result.path = v->value;
    }
    if (result.env_count >= PLAN_MAX_STRINGS)
        return err_new(err, ABX_E_INVALID, "the environment has more than %u variables",
                       PLAN_MAX_STRINGS);
    result.env = env;
    result.removed = removed;
    *ret = result;
    return ABX_OK;
}
