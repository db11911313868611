/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner. Order matters: who and where we are, then the places every Linux has, then the rules
 * as written, then what follows from them (own state, repository, protected names, second mounts).
 *
 * Trusts the kernel and the environment of this process ($HOME, $XDG_*), which is the user's.
 * Refuses a working directory that is gone, '~' without a home, '~user' that nobody is, a grant
 * that cannot be reached. A restriction that cannot be reached covers the directory that stops us:
 * stricter, never nothing. The state and config directories of agentbox itself get ceilings that no
 * rule lifts.
 */
#include "probe/scan.h"
#include "probe/inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/git.h"
#include "probe/protect.h"
#include "probe/scan_state.h"
#include "probe/walk.h"

struct policy_rule *scan_derive(struct scan *s, uint32_t access, uint32_t flags, const char *source,
                                const char *text)
{
    struct policy_rule *rule = arena_alloc(s->arena, 1, sizeof *rule);

    if (rule)
        *rule = (struct policy_rule){ access, ORIGIN_BUILTIN, flags, text, source };
    return rule;
}

int64_t scan_seconds(void)
{
    struct timespec t = { 0 };

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return t.tv_sec;
}

int32_t scan_count(struct scan *s, const char *what)
{
    bool late = s->deadline && scan_seconds() > s->deadline;

    if (s->entries++ < s->budget->entries && !late)
        return ABX_OK;
    int32_t r = late ? err_new(s->err, ABX_E_CONFIG, "look at '%s': more than %d seconds", what,
                               s->budget->seconds)
                     : err_new(s->err, ABX_E_CONFIG, "look at '%s': more than %u directory entries",
                               what, s->budget->entries);
    err_subject(s->err, what);
    err_hint(s->err, "start in a deeper directory, or use fewer patterns with '**'");
    return r;
}

static int32_t push_fact(struct scan *s, struct path_fact fact)
{
    struct path_fact *paths = arena_grow(s->arena, s->paths, s->count, sizeof *paths,
                                         256 + s->policy->rule_count, &s->room);

    if (!paths)
        return err_nomem(s->err);
    s->paths = paths;
    s->paths[s->count++] = fact;
    return ABX_OK;
}

int32_t scan_add(struct scan *s, const struct policy_rule *rule, const struct resolved *where)
{
    struct path_fact fact = {
        .rule = rule,
        .path = where->path,
        .exists = where->exists,
        .is_dir = where->is_dir,
        .dev = where->dev,
        .ino = where->ino,
        .ancestor = where->ancestor,
        .pins = where->pins,
        .pin_count = where->pin_count,
    };

    if (where->denied && rule->access == ACCESS_RW) {
        /* As if it were absent; but who asks for it now is told. */
        if (rule->origin != ORIGIN_CALL || (rule->flags & RULE_GLOB))
            return ABX_OK;
        int32_t r = err_sys(s->err, ABX_E_IO, -EACCES, "%s %s: enter '%s'", rule->source,
                            rule->text, where->path);
        err_subject(s->err, where->path);
        err_hint(s->err, "you may not enter it yourself, so it cannot be granted");
        return r;
    }
    fact.why = arena_join(s->arena, rule->source, " ", rule->text);
    return fact.why ? push_fact(s, fact) : err_nomem(s->err);
}

int32_t scan_resolve(struct scan *s, const char *path, struct resolved *ret)
{
    const struct resolve_base *bases[] = { &s->cwd, &s->home };

    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        const struct resolve_base *base = bases[i];
        if (base->fd < 0 || !base->path[1] || !path_is_beneath(path, base->path))
            continue;
        const char *rest = path + strlen(base->path);
        rest += strspn(rest, "/"); /* what is left must not be absolute again */
        return resolve_path(s->arena, base, rest[0] ? rest : ".", ret, s->err);
    }
    return resolve_path(s->arena, &s->root, path, ret, s->err);
}

int32_t scan_add_path(struct scan *s, uint32_t access, uint32_t flags, const char *source,
                      const char *path, struct resolved *ret)
{
    struct resolved where;
    const struct policy_rule *rule = scan_derive(s, access, flags, source, path);

    if (!rule)
        return err_nomem(s->err);
    int32_t r = scan_resolve(s, path, &where);
    if (r == ABX_OK)
        r = scan_add(s, rule, &where);
    if (r == ABX_OK && ret)
        *ret = where;
    return r;
}

/* ---- who and where ---- */

/*
 * Where a working directory that was named ends is writable. A link that a command could have made,
 * in a project, must not choose that; in the home directory and above it no command makes links.
 */
static int32_t check_cwd_links(struct scan *s, const char *cwd, const struct resolved *where)
{
    for (uint32_t i = 0; i < where->pin_count; i++) {
        const char *link = where->pins[i].path, *parent = path_parent(s->arena, link);

        if (!parent)
            return err_nomem(s->err);
        if (path_is_beneath(where->path, parent) ||
            (s->home.path && path_is_beneath(s->home.path, parent)) ||
            faccessat(AT_FDCWD, parent, W_OK, AT_EACCESS) < 0)
            continue;
        int32_t r = err_new(s->err, ABX_E_INVALID,
                            "working directory '%s': the symbolic link '%s' leads to '%s'", cwd,
                            link, where->path);
        err_subject(s->err, link);
        err_hint(s->err, "if that is meant, name the directory itself: '%s'", where->path);
        return r;
    }
    return ABX_OK;
}

static int32_t find_cwd(struct scan *s, const char *cwd)
{
    s->cwd.fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *text = getcwd(NULL, 0);
    int error = errno;
    const char *own = text && text[0] == '/' ? arena_strdup(s->arena, text) : NULL;
    bool copied = own || !text || text[0] != '/';

    free(text);
    if (!copied)
        return err_nomem(s->err);
    s->cwd.path = own;
    if (cwd) {
        struct resolved where;
        if (cwd[0] != '/' && (!own || s->cwd.fd < 0))
            return err_new(s->err, ABX_E_INVALID,
                           "working directory '%s': relative to one that does not exist", cwd);
        int32_t r = resolve_path(s->arena, cwd[0] == '/' ? &s->root : &s->cwd, cwd, &where, s->err);
        if (r != ABX_OK)
            return r;
        error = where.denied ? EACCES : !where.exists ? ENOENT : !where.is_dir ? ENOTDIR : 0;
        if (error) {
            r = err_sys(s->err, ABX_E_INVALID, -error, "working directory '%s'", cwd);
            err_subject(s->err, cwd);
            return r;
        }
        r = check_cwd_links(s, cwd, &where);
        if (r != ABX_OK)
            return r;
        s->cwd.path = where.path;
        fd_close(s->cwd.fd);
        s->cwd.fd = fd_open_path(AT_FDCWD, where.path);
    } else if (!own || s->cwd.fd < 0) {
        int32_t r = err_sys(s->err, ABX_E_INVALID, -(error ? error : ENOENT),
                            "find the working directory");
        if (error != EMFILE && error != ENFILE)
            err_hint(s->err, "it is gone or out of reach; change to another one, or use -C DIR");
        return r;
    }
    if (s->cwd.fd < 0)
        return err_sys(s->err, ABX_E_IO, s->cwd.fd, "open '%s'", s->cwd.path);
    s->cwd.names = names_read(s->arena, s->cwd.fd);
    s->facts->cwd = s->cwd.path;
    return ABX_OK;
}

static int32_t find_home(struct scan *s)
{
    const char *home = getenv("HOME");
    struct resolved where;

    s->facts->uid = geteuid();
    s->facts->gid = getegid();
    s->facts->is_root = s->facts->uid == 0;
    if (!home || home[0] != '/')
        home = account_home(s->arena, NULL, 0, s->facts->uid);
    if (!home)
        return ABX_OK;
    int32_t r = resolve_path(s->arena, &s->root, home, &where, s->err);
    if (r != ABX_OK)
        return r;
    if (!where.denied && where.exists && where.is_dir)
        s->home.fd = fd_open_path(AT_FDCWD, where.path);
    s->home.names = names_read(s->arena, s->home.fd);
    s->home.path = where.denied ? path_clean(s->arena, "/", home) : where.path;
    s->facts->home = s->home.path;
    return s->home.path ? ABX_OK : err_nomem(s->err);
}

/* HOME may be another's, or a fresh directory; the secrets are where the account lives, too. */
static int32_t find_own_home(struct scan *s)
{
    const char *home = account_home(s->arena, NULL, 0, s->facts->uid);
    struct resolved where;

    if (!home)
        return ABX_OK;
    int32_t r = resolve_path(s->arena, &s->root, home, &where, s->err);
    if (r != ABX_OK || !where.exists || where.denied || !where.is_dir || !where.path[1] ||
        (s->home.path && str_eq(where.path, s->home.path)))
        return r;
    s->own_home.fd = fd_open_path(AT_FDCWD, where.path);
    s->own_home.path = where.path;
    s->own_home.names = names_read(s->arena, s->own_home.fd);
    return ABX_OK;
}

static int32_t find_places(struct scan *s)
{
    static const char *const names[PLACE_COUNT] = {
        [PLACE_DEV] = "/dev",     [PLACE_PROC] = "/proc", [PLACE_RUN] = "/run",
        [PLACE_SHM] = "/dev/shm", [PLACE_SYS] = "/sys",   [PLACE_TMP] = "/tmp",
    };

    for (size_t i = 0; i < PLACE_COUNT; i++) {
        struct resolved where;
        int32_t r = resolve_path(s->arena, &s->root, names[i], &where, s->err);
        if (r != ABX_OK)
            return r;
        if (where.exists && where.is_dir && !where.denied)
            s->facts->places[i] = where.path;
        s->place_devs[i] = where.dev;
    }
    return ABX_OK;
}

/* Entries of /proc that tell about the host. Some only root could read anyway. */
static int32_t find_procs(struct scan *s)
{
    static const struct {
        const char *path;
        bool root_only;
    } table[] = {
        { "/proc/acpi", true },           { "/proc/kcore", true },
        { "/proc/key-users", false },     { "/proc/keys", false },
        { "/proc/kmsg", true },           { "/proc/kpagecgroup", true },
        { "/proc/kpagecount", true },     { "/proc/kpageflags", true },
        { "/proc/latency_stats", false }, { "/proc/pagetypeinfo", true },
        { "/proc/sched_debug", false },   { "/proc/scsi", true },
        { "/proc/slabinfo", true },       { "/proc/sysrq-trigger", true },
        { "/proc/timer_list", true },     { "/proc/vmallocinfo", true },
    };
    struct proc_fact *procs = arena_alloc(s->arena, ARRAY_LEN(table), sizeof *procs);
    struct stat st;

    if (!procs)
        return err_nomem(s->err);
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if ((s->facts->is_root || !table[i].root_only) &&
            fstatat(AT_FDCWD, table[i].path, &st, AT_SYMLINK_NOFOLLOW) == 0)
            procs[s->facts->proc_count++] = (struct proc_fact){ table[i].path,
                                                                S_ISDIR(st.st_mode) };
    s->facts->procs = procs;
    return ABX_OK;
}

/* ---- rules ---- */

/* Splits "~…" off: the directory that it means, and the rest, relative to it. */
static int32_t expand_home(struct scan *s, const struct policy_rule *rule,
                           struct resolve_base *ret_base, const char **ret_rest)
{
    const char *text = rule->text + 1;
    size_t user_len = strcspn(text, "/");
    const char *home = user_len ? account_home(s->arena, text, user_len, 0) : s->home.path;

    if (!home) {
        if (rule->origin == ORIGIN_BUILTIN) {
            *ret_rest = NULL;
            return ABX_OK;
        }
        int32_t r = err_new(s->err, ABX_E_CONFIG, "%s %s: %s", rule->source, rule->text,
                            user_len ? "no such user" : "the home directory is unknown");
        err_subject(s->err, rule->text);
        if (user_len)
            err_hint(s->err, "for a file whose name begins with '~' write './%s'", rule->text);
        else
            err_hint(s->err, "set HOME, or write the whole path");
        return r;
    }
    text += user_len;
    if (!user_len && s->home.fd >= 0) {
        *ret_base = s->home;
        *ret_rest = text + strspn(text, "/");
        return ABX_OK;
    }
    *ret_base = s->root;
    *ret_rest = arena_printf(s->arena, "%s%s", home[1] ? home : "", text[0] ? text : "/");
    return *ret_rest ? ABX_OK : err_nomem(s->err);
}

/* No folder, or one whose program has been at work: one of the grants below it is there. */
static int32_t nursery_is_over(struct scan *s, const struct policy_rule *nursery, bool *ret)
{
    size_t len = strlen(nursery->text) - (nursery->flags & RULE_GLOB ? strlen("/?*") : 0);
    struct policy_rule folder = *nursery;
    struct resolve_base base = { .fd = -1 };
    const char *rest = NULL;

    folder.text = arena_strndup(s->arena, nursery->text, len);
    int32_t r = folder.text ? expand_home(s, &folder, &base, &rest) : err_nomem(s->err);
    *ret = r == ABX_OK && (!rest || resolve_is_absent(&base, rest));
    for (size_t i = 0; i < s->policy->rule_count && r == ABX_OK && !*ret; i++) {
        const struct policy_rule *rule = &s->policy->rules[i];

        if ((rule->flags & (RULE_STORE | RULE_NURSERY)) != RULE_STORE ||
            rule->access != ACCESS_RW || strncmp(rule->text, folder.text, len) != 0 ||
            rule->text[len] != '/')
            continue;
        r = expand_home(s, rule, &base, &rest);
        *ret = r == ABX_OK && rest && !resolve_is_absent(&base, rest);
    }
    return r;
}

int32_t scan_locate(struct scan *s, const struct policy_rule *rule, struct resolved *ret)
{
    struct resolve_base base = rule->text[0] == '/' ? s->root : s->cwd;
    const char *rest = rule->text;
    int32_t r = rule->text[0] == '~' ? expand_home(s, rule, &base, &rest) : ABX_OK;

    return r == ABX_OK ? resolve_path(s->arena, &base, rest, ret, s->err) : r;
}

static int32_t scan_rule(struct scan *s, const struct policy_rule *rule)
{
    struct resolve_base base = rule->text[0] == '/' ? s->root : s->cwd;
    const char *rest = rule->text;
    struct resolved where;
    int32_t r = ABX_OK;

    if (rule->flags & RULE_SOCKET)
        return scan_socket(s, rule);
    if (rule->text[0] == '~')
        r = expand_home(s, rule, &base, &rest);
    if (r != ABX_OK || !rest)
        return r;
    if (rule->flags & RULE_NURSERY) {
        bool over = false;
        r = nursery_is_over(s, rule, &over);
        if (r != ABX_OK || over)
            return r;
    }
    if ((rule->flags & (RULE_IF_PRESENT | RULE_GLOB)) == RULE_IF_PRESENT &&
        resolve_is_absent(&base, rest))
        return ABX_OK;
    r = rest[0] == '/' ? scan_resolve(s, rest, &where)
                       : resolve_path(s->arena, &base, rest, &where, s->err);
    if (r != ABX_OK || !(rule->flags & RULE_GLOB))
        return r == ABX_OK ? scan_add(s, rule, &where) : r;

    /* A name may simply hold such characters; then it is meant, and a denial means both. */
    if (where.exists && !where.denied) {
        r = scan_add(s, rule, &where);
        if (r != ABX_OK || rule->access == ACCESS_RW)
            return r;
    }
    return walk_add_pattern(s, rule, &base, rest);
}

static int32_t protect_own_dir(struct scan *s, const char *dir, const char *name, uint32_t access)
{
    const char *clean = path_clean(s->arena, "/", dir);
    const char *own = clean ? path_join(s->arena, clean, name) : NULL;

    if (!own)
        return err_nomem(s->err);
    return scan_add_path(s, access, RULE_FINAL, "agentbox", own, NULL);
}

/* All directories that state.c may choose, and where our config lies. */
static int32_t protect_own(struct scan *s)
{
    static const struct {
        const char *variable, *below_home;
        uint32_t access;
    } table[] = {
        { "XDG_STATE_HOME", ".local/state/agentbox", ACCESS_EXCLUDE },
        { "XDG_CONFIG_HOME", ".config/agentbox", ACCESS_RO },
        { "XDG_RUNTIME_DIR", NULL, ACCESS_EXCLUDE },
    };
    char name[32];
    int32_t r = ABX_OK;

    for (size_t i = 0; i < ARRAY_LEN(table) && r == ABX_OK; i++) {
        const char *value = getenv(table[i].variable);
        if (value && value[0] == '/')
            r = protect_own_dir(s, value, "agentbox", table[i].access);
        if (r == ABX_OK && s->home.path && table[i].below_home)
            r = protect_own_dir(s, s->home.path, table[i].below_home, table[i].access);
        if (r == ABX_OK && s->own_home.path && table[i].below_home)
            r = protect_own_dir(s, s->own_home.path, table[i].below_home, table[i].access);
    }
    (void)snprintf(name, sizeof name, "agentbox-%u", s->facts->uid);
    if (r == ABX_OK)
        r = protect_own_dir(s, "/var/tmp", name, ACCESS_EXCLUDE);
    return r == ABX_OK && inside_sandbox() ? protect_own_dir(s, "/tmp", name, ACCESS_EXCLUDE) : r;
}

static int32_t add_top(struct scan *s, struct keep_fact **top, size_t *room, const char *name,
                       const struct stat *st)
{
    const char *path = arena_printf(s->arena, "/%s", name);
    size_t count = s->facts->top_count;

    if (!*top || count == *room) {
        struct keep_fact *grown = arena_alloc(s->arena, 2 * *room + 32, sizeof *grown);
        if (!grown)
            return err_nomem(s->err);
        if (*top)
            memcpy(grown, *top, count * sizeof *grown);
        *top = grown;
        *room = 2 * *room + 32;
    }
    if (!path)
        return err_nomem(s->err);
    (*top)[count] = (struct keep_fact){ .path = path,
                                        .is_dir = S_ISDIR(st->st_mode),
                                        .dev = (uint64_t)st->st_dev,
                                        .ino = (uint64_t)st->st_ino };
    s->facts->top_count++;
    return ABX_OK;
}

/* The entries of "/", if a rule makes it writable: they are what can be mounted. */
static int32_t find_top(struct scan *s)
{
    bool wanted = false;
    const struct dirent *entry;
    struct stat st;
    int32_t r = ABX_OK;
    size_t room = 0;
    struct keep_fact *top = NULL;

    for (size_t i = 0; i < s->count; i++)
        wanted = wanted || (s->paths[i].rule->access == ACCESS_RW && !s->paths[i].path[1]);
    DIR *dir = wanted ? opendir("/") : NULL;
    if (!dir)
        return wanted ? err_sys(s->err, ABX_E_IO, -errno, "read directory '/'") : ABX_OK;
    while (r == ABX_OK && (entry = readdir(dir))) {
        if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..") ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode))
            continue;
        r = scan_count(s, "/");
        if (r == ABX_OK)
            r = add_top(s, &top, &room, entry->d_name, &st);
    }
    (void)closedir(dir);
    s->facts->top = top;
    return r;
}

/* What is hidden in the home directory is hidden in the account's own as well. */
static int32_t hide_in_own_home(struct scan *s, const struct policy_rule *rule)
{
    struct resolved where;

    if (s->own_home.fd < 0 || rule->access != ACCESS_EXCLUDE || rule->origin != ORIGIN_BUILTIN ||
        !str_has_prefix(rule->text, "~/") || resolve_is_absent(&s->own_home, rule->text + 2))
        return ABX_OK;
    int32_t r = resolve_path(s->arena, &s->own_home, rule->text + 2, &where, s->err);
    return r == ABX_OK ? scan_add(s, rule, &where) : r;
}

static int32_t scan_rules(struct scan *s)
{
    int32_t r = ABX_OK;

    for (size_t i = 0; i < s->policy->rule_count && r == ABX_OK; i++) {
        r = scan_rule(s, &s->policy->rules[i]);
        if (r == ABX_OK)
            r = hide_in_own_home(s, &s->policy->rules[i]);
    }
    /* The exact paths are known: one walk for all patterns and for what is in their roots. */
    size_t exact = s->count;
    if (r == ABX_OK)
        r = protect_roots(s, 0);
    size_t named = s->count;
    if (r == ABX_OK)
        r = walk_run(s);
    if (r == ABX_OK && s->count > named)
        r = protect_roots(s, exact);
    if (r == ABX_OK)
        r = walk_run(s);
    if (r == ABX_OK)
        r = scan_git(s);
    if (r == ABX_OK)
        r = protect_own(s);
    if (r == ABX_OK)
        r = scan_aliases(s);
    return r == ABX_OK ? find_top(s) : r;
}

static void scan_done(struct scan *s)
{
    fd_close(s->root.fd);
    fd_close(s->home.fd);
    fd_close(s->own_home.fd);
    fd_close(s->cwd.fd);
}

int32_t scan_facts(const struct policy *policy, const char *cwd, struct arena *arena,
                   const struct facts **ret, abx_error **err)
{
    static const struct scan_budget budget = { SCAN_MAX_ENTRIES, SCAN_MAX_SECONDS };

    return scan_facts_within(&budget, policy, cwd, arena, ret, err);
}

int32_t scan_facts_within(const struct scan_budget *budget, const struct policy *policy,
                          const char *cwd, struct arena *arena, const struct facts **ret,
                          abx_error **err)
{
    __attribute__((cleanup(scan_done))) struct scan s = {
        .budget = budget,
        .policy = policy,
        .arena = arena,
        .err = err,
        .root = { .fd = -1, .path = "/" },
        .home = { .fd = -1 },
        .own_home = { .fd = -1 },
        .cwd = { .fd = -1 },
    };

    s.facts = arena_alloc(arena, 1, sizeof *s.facts);
    if (!s.facts)
        return err_nomem(err);
    s.root.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s.root.fd < 0)
        return err_sys(err, ABX_E_IO, -errno, "open '/'");

    int32_t r = find_home(&s);
    if (r == ABX_OK)
        r = find_cwd(&s, cwd);
    if (r == ABX_OK)
        r = find_own_home(&s);
    if (r == ABX_OK)
        r = find_places(&s);
    if (r == ABX_OK)
        r = find_procs(&s);
    if (r == ABX_OK)
        r = scan_keeps(&s);
    if (r == ABX_OK)
        r = scan_commands(&s);
    if (r == ABX_OK)
        r = scan_mounts(&s);
    if (r == ABX_OK)
        r = scan_rules(&s);
    if (r != ABX_OK)
        return r;
    s.facts->paths = s.paths;
    s.facts->path_count = s.count;
    s.facts->patterns = s.patterns;
    s.facts->pattern_count = s.pattern_count;
    *ret = s.facts;
    return ABX_OK;
}
