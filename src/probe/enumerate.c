/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock knows grants for whole trees and no exceptions. Where something below a directory is not
 * granted, the directory is not either, but each of its entries beside the exception: so what is in
 * the way costs rights on the directories above it, and what is made there later has none. It is
 * never more than was asked for:
 *
 *   read-only below writable     no name can be made, removed or changed in the directories above
 *   hidden below readable        the directories above cannot be listed if a directory is hidden;
 *                                what is made in them later cannot be read
 *   a program that is blocked    what is added beside it later cannot be executed
 *   a directory above that we    only what a rule is about is granted in it
 *   cannot list ourselves
 *
 * Each right is looked at by itself. What a view would have anew (/tmp, /run, /dev) is, inside
 * another sandbox, that one's; on a host it stays closed, but for a few devices. /proc is open: no
 * rule can say "the own processes", but Landlock keeps others' secrets there. Trusts that the
 * plan's paths are canonical. Refuses a tree with more entries beside exceptions than a plan has
 * rules.
 */
#include "probe/enumerate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/view.h"
#include "probe/scan_state.h"

/* What a directory had when it was first looked at: the same for every right. */
struct listing {
    struct listing *next;
    const char *path;
    int error; /* EACCES: it cannot be listed; others: it has no entries */
    const char **entries;
    size_t count, room;
};

struct enumerator {
    const struct facts *facts;
    struct arena *arena;
    struct view view;
    struct listing *first, *last, *at; /* each right takes the same way: the next is near */
    struct landlock_rule *rules;
    size_t count, room;
    uint32_t grant; /* the right that is being looked at */
    bool inner;     /* another sandbox is around this one */
    int64_t deadline;
    int32_t seconds; /* until then, from the start */
    abx_error **err;
};

static int32_t add_rule(struct enumerator *e, uint32_t grant, const char *path)
{
    struct landlock_rule *rules = arena_grow(e->arena, e->rules, e->count, sizeof *rules, 64,
                                             &e->room);

    if (!rules)
        return err_nomem(e->err);
    e->rules = rules;
    if (e->count == PLAN_MAX_RULES) {
        int32_t r = err_new(e->err, ABX_E_CONFIG,
                            "grant what lies beside '%s': more than %u entries", path,
                            PLAN_MAX_RULES);
        err_subject(e->err, path);
        err_hint(e->err, "put what is denied into a directory of its own");
        return r;
    }
    e->rules[e->count++] = (struct landlock_rule){ grant, MOUNT_OPTIONAL, path };
    return ABX_OK;
}

/* Devices that do no harm; of the others the host may have any. */
static const char *const open_devices[] = {
    "/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero",
};

static bool is_place(const struct enumerator *e, const char *path)
{
    for (size_t i = 0; i < PLACE_COUNT; i++)
        if (e->facts->places[i] && str_eq(e->facts->places[i], path))
            return true;
    return false;
}

static bool op_hides(const struct enumerator *e, const struct mount_op *op)
{
    const bool place = is_place(e, op->path);

    if (place && (e->inner || e->grant == GRANT_LIST)) /* what there is in /tmp may be known */
        return false;
    if (op->kind == MOUNT_MASK_FILE || op->kind == MOUNT_MASK_DIR)
        return !path_is_beneath(op->path, "/proc");
    if (op->kind == MOUNT_TMPFS)
        return place || (op->flags & MOUNT_SEAL);
    return op->kind == MOUNT_DEV && !e->inner;
}

static bool op_opens(const struct enumerator *e, const struct mount_op *op)
{
    return op->kind == MOUNT_BIND_RW || op->kind == MOUNT_PIN ||
           (op->kind == MOUNT_TMPFS && !(op->flags & MOUNT_SEAL) && e->inner);
}

/* A link that a rule's text leads through: it must stay what it is. */
static bool is_held(const struct mount_op *op, const char *path)
{
    return op->kind == MOUNT_PIN && op->ino && str_eq(op->path, path);
}

static bool is_blocked(const struct enumerator *e, const char *path)
{
    for (size_t i = 0; i < e->facts->command_count; i++) {
        const struct command_fact *c = &e->facts->commands[i];
        for (size_t j = 0; j < c->target_count && c->rule->kind == COMMAND_BLOCK; j++) {
            const struct target_fact *t = &e->facts->targets[c->targets[j]];
            if (str_eq(t->real ? t->real : t->path, path))
                return true;
        }
    }
    return false;
}

/* Whether an operation of the plan has a say about the right. */
static bool op_counts(const struct enumerator *e, const struct mount_op *op)
{
    if (op->kind == MOUNT_BIND_RO || op->kind == MOUNT_BIND_RW || op->kind == MOUNT_PIN)
        return true;
    return op_hides(e, op) || op_opens(e, op);
}

static bool is_granted(const struct enumerator *e, const char *path)
{
    const struct mount_op *op = NULL;

    if (e->grant == GRANT_EXEC && is_blocked(e, path))
        return false;
    for (size_t i = 0; i < e->view.count; i++) { /* the deepest comes last */
        const struct mount_op *o = e->view.entries[i].op;
        if (op_counts(e, o) && path_is_beneath(path, o->path))
            op = o;
    }
    if (e->grant == GRANT_CHANGE)
        return op && op_opens(e, op) && !is_held(op, path);
    return !op || !op_hides(e, op) || (e->grant == GRANT_LIST && op->kind == MOUNT_MASK_FILE);
}

static bool blocks_below(const struct enumerator *e, const char *path)
{
    for (size_t i = 0; e->grant == GRANT_EXEC && i < e->facts->target_count; i++) {
        const struct target_fact *t = &e->facts->targets[i];
        const char *real = t->real ? t->real : t->path;
        if (!str_eq(real, path) && path_is_beneath(real, path) && is_blocked(e, real))
            return true;
    }
    return false;
}

/* Something below decides otherwise. */
static bool differs_below(const struct enumerator *e, const char *path, bool granted)
{
    for (size_t i = 0; i < e->view.count; i++) {
        const struct mount_op *op = e->view.entries[i].op;
        if (op_counts(e, op) && !str_eq(op->path, path) && path_is_beneath(op->path, path) &&
            is_granted(e, op->path) != granted)
            return true;
    }
    return blocks_below(e, path);
}

static int32_t grant_tree(struct enumerator *e, const char *path);

/* A link is granted by what it leads to. */
static int32_t grant_child(struct enumerator *e, const char *path)
{
    struct stat st;

    if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode))
        return ABX_OK;
    return grant_tree(e, path);
}

/* The entry of `directory` that path lies at or below; NULL: none, or it is the directory. */
static const char *entry_towards(struct arena *arena, const char *directory, const char *path)
{
    const size_t above = directory[1] ? strlen(directory) : 0;

    if (str_eq(directory, path) || !path_is_beneath(path, directory))
        return NULL;
    return arena_strndup(arena, path, above + 1 + strcspn(path + above + 1, "/"));
}

/*
 * A directory that can be entered and not listed, as /home often is, and as / is where another
 * Landlock is around us: the entries that the plan's own paths lead through, and of / the usual.
 */
static int32_t grant_known(struct enumerator *e, const char *directory)
{
    static const char *const usual[] = { "/bin", "/etc",  "/lib",  "/lib32", "/lib64", "/nix",
                                         "/opt", "/proc", "/sbin", "/sys",   "/usr",   "/var" };
    const char *last = "";
    int32_t r = ABX_OK;

    for (size_t i = 0; i < e->view.count && r == ABX_OK; i++) { /* sorted: equals are neighbours */
        const char *path = e->view.entries[i].op->path;
        const char *entry = entry_towards(e->arena, directory, path);
        if (!entry || str_eq(entry, last))
            continue;
        last = entry;
        r = grant_child(e, entry);
    }
    for (size_t i = 0; i < ARRAY_LEN(usual) && !directory[1] && r == ABX_OK; i++)
        r = grant_child(e, usual[i]);
    return r;
}

static bool add_entry(struct enumerator *e, struct listing *l, const char *name)
{
    const char **entries = arena_grow(e->arena, l->entries, l->count, sizeof *entries, 32,
                                      &l->room);

    if (!entries)
        return false;
    l->entries = entries;
    l->entries[l->count] = path_join(e->arena, l->path, name);
    return l->entries[l->count++];
}

static bool read_entries(struct enumerator *e, struct listing *l)
{
    const int fd = fd_open_path(AT_FDCWD, l->path);
    const int readable = fd < 0 ? fd : openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dirent *entry;
    bool ok = true;

    l->error = fd < 0 ? -fd : readable < 0 ? errno : 0;
    if (fd >= 0)
        fd_close(fd);
    DIR *dir = readable < 0 ? NULL : fdopendir(readable);
    if (!dir) {
        if (readable >= 0)
            fd_close(readable);
        return readable < 0 && l->error != ENOMEM;
    }
    while (ok && (entry = readdir(dir)))
        if (!str_eq(entry->d_name, ".") && !str_eq(entry->d_name, "..") && entry->d_type != DT_LNK)
            ok = add_entry(e, l, entry->d_name);
    (void)closedir(dir);
    return ok;
}

static struct listing *find_listing(const struct enumerator *e, const char *path)
{
    struct listing *l = e->at;

    while (l && !str_eq(l->path, path))
        l = l->next;
    for (l = l ? l : e->first; l && !str_eq(l->path, path);)
        l = l->next;
    return l;
}

/* NULL: no memory. */
static const struct listing *list_entries(struct enumerator *e, const char *path)
{
    struct listing *l = find_listing(e, path);

    if (!l) {
        l = arena_alloc(e->arena, 1, sizeof *l);
        if (!l)
            return NULL;
        l->path = path;
        if (!read_entries(e, l))
            return NULL;
        if (e->last)
            e->last->next = l;
        else
            e->first = l;
        e->last = l;
    }
    e->at = l;
    return l;
}

static int32_t grant_entries(struct enumerator *e, const char *path)
{
    const struct listing *l = list_entries(e, path);
    int32_t r = ABX_OK;

    if (!l)
        return err_nomem(e->err);
    if (l->error == EACCES)
        return grant_known(e, path);
    for (size_t i = 0; i < l->count && r == ABX_OK; i++)
        r = grant_tree(e, l->entries[i]);
    return r;
}

/* Each entry is held against every rule: a command can make many of both. */
static int32_t refuse_late(struct enumerator *e, const char *path)
{
    int32_t r = err_new(e->err, ABX_E_CONFIG, "grant what lies beside '%s': more than %d seconds",
                        path, e->seconds);

    err_subject(e->err, path);
    err_hint(e->err, "put what is denied into a directory of its own");
    return r;
}

static int32_t grant_tree(struct enumerator *e, const char *path)
{
    if (scan_seconds() > e->deadline)
        return refuse_late(e, path);
    bool granted = is_granted(e, path);

    if (differs_below(e, path, granted))
        return grant_entries(e, path);
    return granted ? add_rule(e, e->grant, path) : ABX_OK;
}

static int32_t grant_devices(struct enumerator *e, const struct plan *plan)
{
    int32_t r = ABX_OK;

    for (size_t i = 0; i < ARRAY_LEN(open_devices) && !e->inner && r == ABX_OK; i++)
        r = add_rule(e, GRANT_DEVICE, open_devices[i]);
    for (uint32_t i = 0; i < plan->rule_count && e->inner && r == ABX_OK; i++)
        if (plan->rules[i].grant == GRANT_DEVICE || str_eq(plan->rules[i].path, "/dev/shm"))
            r = add_rule(e, plan->rules[i].grant, plan->rules[i].path);
    return r;
}

static int compare_rules(const void *a, const void *b)
{
    const struct landlock_rule *x = a, *y = b;
    int order = strcmp(x->path, y->path);

    return order ? order : x->grant < y->grant ? -1 : x->grant > y->grant;
}

/* Nearly everything may be read in every way: one rule in place of three, which costs time. */
static void join_rights(struct enumerator *e)
{
    const struct landlock_rule *rules = e->rules;
    size_t n = 0;

    qsort(e->rules, e->count, sizeof *e->rules, compare_rules);
    for (size_t i = 0; i < e->count; i++, n++) {
        e->rules[n] = rules[i];
        if (i + 2 >= e->count || rules[i].grant != GRANT_FILES ||
            rules[i + 1].grant != GRANT_LIST || rules[i + 2].grant != GRANT_EXEC ||
            !str_eq(rules[i].path, rules[i + 1].path) || !str_eq(rules[i].path, rules[i + 2].path))
            continue;
        e->rules[n].grant = GRANT_READ;
        i += 2;
    }
    e->count = n;
}

int32_t enumerate_rules(const struct facts *facts, struct arena *arena, struct plan *plan,
                        abx_error **err)
{
    return enumerate_rules_within(SCAN_MAX_SECONDS, facts, arena, plan, err);
}

int32_t enumerate_rules_within(int32_t seconds, const struct facts *facts, struct arena *arena,
                               struct plan *plan, abx_error **err)
{
    static const uint32_t reading[] = { GRANT_FILES, GRANT_LIST, GRANT_EXEC };
    struct enumerator e = { .facts = facts,
                            .arena = arena,
                            .inner = plan->backend == BACKEND_INNER,
                            .deadline = scan_seconds() + seconds,
                            .seconds = seconds,
                            .err = err };
    int32_t r = view_make(plan, arena, &e.view, err);

    for (size_t i = 0; i < ARRAY_LEN(reading) && r == ABX_OK; i++) {
        e.grant = reading[i];
        r = grant_tree(&e, "/");
    }
    if (r == ABX_OK && e.count)
        join_rights(&e);
    e.grant = GRANT_CHANGE;
    for (size_t i = 0; i < e.view.count && r == ABX_OK; i++)
        if (op_opens(&e, e.view.entries[i].op) && e.view.entries[i].op->kind != MOUNT_PIN)
            r = grant_tree(&e, e.view.entries[i].op->path);
    if (r == ABX_OK)
        r = grant_devices(&e, plan);
    if (r != ABX_OK)
        return r;
    plan->rules = e.rules;
    plan->rule_count = (uint32_t)e.count;
    return ABX_OK;
}
