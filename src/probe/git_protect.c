/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a repository is protected, so that git on the host never runs what the command wrote: its
 * hooks and config (also when absent), the pointers .git, commondir and gitdir, config.worktree,
 * the same in submodules and worktrees, those of each other included, and what the configs name:
 * the files they include and the directories of hooks.
 *
 * A ".git" is protected for its name and for what it has, not for being valid. Absent names cost a
 * placeholder in their directory: beyond GIT_MAX_HELD git directories the rest are protected as a
 * whole instead, so that no number of them stops a run; git then works there for reading.
 */
#include "probe/git.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/gitconfig.h"

#define GIT_MAX_INCLUDES 64u               /* files that configs include, of all repositories */
#define GIT_MAX_READ     ((size_t)8 << 20) /* bytes of all configs */
#define GIT_MAX_HOOKS    8u                /* hook directories of one repository */
#define GIT_DONE_LISTS   1024u
#define GIT_MAX_DEPTH    32u /* below modules; what lies deeper is protected as a whole */

static const char *join(struct scan *s, const char *dir, const char *name)
{
    return path_join(s->arena, dir, name);
}

int32_t git_protect_closed(struct scan *s, const char *dir)
{
    return scan_add_path(s, ACCESS_RO, RULE_PROTECT | RULE_IF_PRESENT, GIT_SOURCE, dir, NULL);
}

/* A module that cannot be read hides where its work tree is, and so what else must be protected. */
static int32_t refuse_closed(struct scan *s, const char *dir, int error)
{
    if (error == ENOMEM)
        return err_nomem(s->err);
    int32_t r = err_sys(s->err, ABX_E_INVALID, -error, "protect the submodule in '%s'", dir);

    err_subject(s->err, dir);
    if (error == EACCES || error == EPERM)
        err_hint(s->err, "an earlier command may have taken its permissions: chmod -R u+rwX it");
    return r;
}

static bool is_closed(struct scan *s, const char *dir)
{
    struct resolved where = { 0 };

    return git_looks(s, dir, "HEAD", &where) && where.denied;
}

/* Once: the walk also finds the one around the working directory. */
static int32_t note_repo(struct scan *s, const struct repo *r)
{
    for (const struct repo_fact *f = s->facts->repos; f; f = f->next)
        if (r->bare ? !f->top && str_eq(f->gitdir, r->gitdir)
                    : f->top && f->dev == r->dotgit.dev && f->ino == r->dotgit.ino)
            return ABX_OK;
    struct repo_fact *fact = arena_alloc(s->arena, 1, sizeof *fact);
    if (!fact)
        return err_nomem(s->err);
    *fact = (struct repo_fact){ .top = r->bare ? NULL : r->top,
                                .gitdir = r->gitdir,
                                .common = r->common,
                                .dev = r->dotgit.dev,
                                .ino = r->dotgit.ino,
                                .valid = r->valid };
    if (!s->repos_end)
        s->repos_end = &s->facts->repos;
    *s->repos_end = fact;
    s->repos_end = &fact->next;
    return ABX_OK;
}

/*
 * A ".git" that is no repository now may be one again tomorrow, or in a minute: a command could
 * take HEAD away, write the config in its next run, and put HEAD back. So what is granted depends
 * on what a repository is, but what is protected depends on names alone.
 */
int32_t git_protect_broken(struct scan *s, struct repo *r)
{
    struct resolved where = { 0 };

    if (!r->gitdir || is_closed(s, r->gitdir)) {
        int32_t code = note_repo(s, r);
        if (code == ABX_OK)
            code = git_protect_closed(s, r->dotgit.path);
        return code == ABX_OK && r->dotgit.is_dir ? git_keep_work_tree(s, r) : code;
    }
    if (!r->common)
        r->common = r->gitdir;
    if (r->common == r->gitdir && git_follow(s, r->gitdir, "commondir", "", &where) &&
        where.is_dir) {
        r->common = where.path;
        r->pointers[1] = where;
    }
    return git_protect_repo(s, r);
}

int32_t git_protect_name(struct scan *s, const char *dir, const char *name, uint32_t flags)
{
    const char *path = join(s, dir, name);

    if (!path)
        return err_nomem(s->err);
    if (s->policy->git_config && (str_eq(name, "config") || str_eq(name, "config.worktree")))
        return ABX_OK;
    return scan_add_path(s, ACCESS_RO, RULE_PROTECT | flags, GIT_SOURCE, path, NULL);
}

static size_t done_list(const char *dir)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (; *dir; dir++)
        hash = (hash ^ (unsigned char)*dir) * 16777619u;
    return hash % GIT_DONE_LISTS;
}

/* Whether all that was done to dir before; remembers it. Out of memory: it is simply done again. */
static bool is_done(struct scan *s, const char *dir, unsigned what)
{
    if (!s->git_done)
        s->git_done = arena_alloc(s->arena, GIT_DONE_LISTS, sizeof *s->git_done);
    if (!s->git_done)
        return false;
    struct git_done_list *list = &s->git_done[done_list(dir)];
    for (const struct git_done *d = list->first; d; d = d->next)
        if ((d->what & what) == what && str_eq(d->dir, dir))
            return true;
    struct git_done *own = arena_alloc(s->arena, 1, sizeof *own);
    if (own) {
        *own = (struct git_done){ list->first, dir, what };
        list->first = own;
    }
    return false;
}

static int32_t protect_dir(struct scan *s, const char *dir, bool has_config)
{
    int32_t r = ABX_OK;

    if (is_done(s, dir, GIT_DONE_POINTERS | (has_config ? GIT_DONE_CONFIG : 0)))
        return ABX_OK;
    if (s->git_held++ >= GIT_MAX_HELD)
        return git_protect_closed(s, dir);
    if (has_config) {
        r = git_protect_name(s, dir, "hooks", 0);
        if (r == ABX_OK)
            r = git_protect_name(s, dir, "config", 0);
    }
    if (r == ABX_OK)
        r = git_protect_name(s, dir, "commondir", 0); /* a planted one would name another config */
    if (r == ABX_OK)
        r = git_protect_name(s, dir, "gitdir", RULE_IF_PRESENT);
    return r;
}

/* ---- what a config names ---- */

/* What of one or more config files matters here. */
struct git_config {
    const char *hooks[GIT_MAX_HOOKS]; /* core.hooksPath */
    size_t hook_count;
    const char *tree; /* core.worktree; the last one counts */
    bool per_worktree;
};

/* A path as git (2.52) reads it in a config: from base, or a home directory. NULL: none. */
static const char *expand(struct scan *s, const char *base, const char *value)
{
    static const char optional[] = ":(optional)";

    if (str_has_prefix(value, optional))
        value += strlen(optional);
    if (value[0] == '~') {
        size_t user = strcspn(value + 1, "/");
        const char *home = user ? account_home(s->arena, value + 1, user, 0) : s->home.path;
        return home ? arena_printf(s->arena, "%s%s", home, value + 1 + user) : NULL;
    }
    if (!value[0] || value[0] == '/')
        return value[0] ? value : NULL;
    return join(s, base, value);
}

int32_t git_refuse_config(struct scan *s, const char *path, const char *problem)
{
    int32_t r = err_new(s->err, ABX_E_CONFIG, "protect what git's '%s' names: %s", path, problem);

    err_subject(s->err, path);
    err_hint(s->err, "look at it; --set 'filesystem.presets=!@git' leaves git alone");
    return r;
}

static int32_t read_config(struct scan *s, const char *path, struct git_config *c);

static int32_t take_include(struct scan *s, const char *file, const char *value,
                            struct git_config *c)
{
    const char *dir = path_parent(s->arena, file);
    const char *path = dir ? expand(s, dir, value) : NULL;
    struct resolved where;

    if (!path)
        return dir ? ABX_OK : err_nomem(s->err);
    if (s->git_included++ >= GIT_MAX_INCLUDES)
        return git_refuse_config(s, file, "it includes too many files");
    int32_t r = scan_add_path(s, ACCESS_RO, RULE_PROTECT, GIT_SOURCE, path, &where);
    return r == ABX_OK && where.exists && !where.denied ? read_config(s, where.path, c) : r;
}

static int32_t take_entry(struct scan *s, const char *file, const struct gitconfig_entry *e,
                          struct git_config *c)
{
    if (str_eq(e->section, "core") && str_eq(e->key, "hookspath")) {
        if (c->hook_count == GIT_MAX_HOOKS)
            return git_refuse_config(s, file, "too many directories of hooks");
        c->hooks[c->hook_count++] = e->value;
    } else if (str_eq(e->section, "core") && str_eq(e->key, "worktree")) {
        c->tree = e->value;
    } else if (str_eq(e->section, "extensions") && str_eq(e->key, "worktreeconfig")) {
        c->per_worktree = true;
    } else if (str_has_prefix(e->section, "include") && str_eq(e->key, "path")) {
        return take_include(s, file, e->value, c); /* under any condition */
    }
    return ABX_OK;
}

/* Adds what the file says to c and protects what it includes. A missing file says nothing. */
static int32_t read_config(struct scan *s, const char *path, struct git_config *c)
{
    _buf_ struct buf text = { 0 };
    struct gitconfig parser;
    struct gitconfig_entry entry;
    const char *dir = path_parent(s->arena, path);
    _fd_ int parent = dir ? fd_open_path(AT_FDCWD, dir) : -1;
    int32_t r = ABX_OK;

    buf_init(&text, GIT_MAX_CONFIG);
    int e = parent < 0 ? parent : io_read_file(parent, path_basename(path), &text);
    if (e == -E2BIG)
        return git_refuse_config(s, path, "it is too large");
    if (e < 0)
        return dir ? ABX_OK : err_nomem(s->err);
    if (!is_done(s, path, GIT_DONE_READ)) /* that of many worktrees counts once */
        s->git_read += text.len;
    if (s->git_read > GIT_MAX_READ)
        return git_refuse_config(s, path, "the configs up to this one are too large together");
    gitconfig_init(&parser, s->arena, text.data ? text.data : "", text.len);
    while (r == ABX_OK && gitconfig_next(&parser, &entry))
        r = take_entry(s, path, &entry, c);
    return r == ABX_OK && parser.failed ? err_nomem(s->err) : r;
}

/* The machine's and the user's own config count in every repository. */
static int32_t read_global(struct scan *s)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    const char *base = xdg && xdg[0] == '/' ? path_clean(s->arena, "/", xdg)
                       : s->home.path       ? join(s, s->home.path, ".config")
                                            : NULL;
    const char *path = base ? join(s, base, "git/config") : NULL;
    struct git_config *c = arena_alloc(s->arena, 1, sizeof *c);
    int32_t r = c ? read_config(s, "/etc/gitconfig", c) : err_nomem(s->err);

    if (r == ABX_OK && path)
        r = read_config(s, path, c);
    path = s->home.path && names_may_hold(s->home.names, ".gitconfig")
               ? join(s, s->home.path, ".gitconfig")
               : NULL;
    if (r == ABX_OK && path)
        r = read_config(s, path, c);
    s->git_global = c;
    return r;
}

/*
 * The hooks that config c, and the user's own, name from base: where git runs them, which is the
 * top of the work tree or, for what is pushed, the git directory.
 */
static int32_t protect_hooks(struct scan *s, const char *base, const struct git_config *c)
{
    int32_t r = s->git_global ? ABX_OK : read_global(s);
    const struct git_config *sources[] = { c, s->git_global };

    if (r != ABX_OK || !s->git_global)
        return r;

    for (size_t i = 0; i < ARRAY_LEN(sources) && r == ABX_OK; i++)
        for (size_t j = 0; j < sources[i]->hook_count && r == ABX_OK; j++) {
            const char *path = expand(s, base, sources[i]->hooks[j]);
            if (path)
                r = scan_add_path(s, ACCESS_RO, RULE_PROTECT, GIT_SOURCE, path, NULL);
        }
    return r;
}

/* ---- modules and worktrees ---- */

static int32_t protect_module(struct scan *s, const char *dir, void *data, unsigned depth);
static int32_t protect_inner(struct scan *s, const char *dir, void *data, unsigned depth);

/* NULL: errno says why. */
static DIR *open_list(const struct resolved *where)
{
    _fd_ int path_fd = where->denied ? -EACCES : fd_open_path(AT_FDCWD, where->path);
    _fd_ int fd = path_fd < 0
                      ? path_fd
                      : openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);

    if (path_fd < 0)
        errno = -path_fd;
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (stream)
        (void)TAKE_FD(fd);
    return stream;
}

/* Calls fn for each entry of dir. A missing one has none, an unreadable one is protected whole. */
int32_t git_each_entry(struct scan *s, const char *dir, unsigned kind, git_entry_fn *fn, void *data,
                       unsigned depth)
{
    struct resolved where = { 0 };
    const bool modules = kind & (GIT_DONE_MODULES | GIT_DONE_INNER | GIT_DONE_OWN);
    int32_t r = git_look(s, dir, ".", &where);

    if (r != ABX_OK || (!where.denied && (!where.exists || !where.is_dir)))
        return r;
    DIR *stream = open_list(&where);
    const struct dirent *entry;

    if (!stream)
        return modules ? refuse_closed(s, dir, errno) : git_protect_closed(s, dir);
    /* By any of its names only once, but in each way: there may be links, also in circles. */
    bool again = is_done(s, where.path, kind);
    while (r == ABX_OK && !again && (entry = readdir(stream))) {
        if (entry->d_name[0] == '.' && (str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..")))
            continue;
        if (modules && entry->d_type == DT_REG)
            continue;
        r = scan_count(s, dir);
        const char *path = r == ABX_OK ? join(s, dir, entry->d_name) : NULL;
        if (r == ABX_OK)
            r = path ? fn(s, path, data, depth) : err_nomem(s->err);
    }
    (void)closedir(stream);
    return r;
}

static int32_t protect_modules(struct scan *s, const char *dir, unsigned depth)
{
    const char *modules = join(s, dir, "modules");

    return modules ? git_each_entry(s, modules, GIT_DONE_MODULES, protect_module, NULL, depth)
                   : err_nomem(s->err);
}

/* What the config of one worktree names; from where its work tree is, if that is there. */
static int32_t protect_worktree_config(struct scan *s, const char *dir)
{
    struct git_config c = { .tree = NULL };
    struct resolved dotgit;
    const char *config = join(s, dir, "config.worktree");
    int32_t r = config ? read_config(s, config, &c) : err_nomem(s->err);

    if (r != ABX_OK || !c.hook_count)
        return r;
    bool there = git_follow(s, dir, "gitdir", "", &dotgit);
    const char *top = there ? path_parent(s->arena, dotgit.path) : dir;
    r = top ? protect_hooks(s, top, &c) : err_nomem(s->err);
    return r == ABX_OK ? protect_hooks(s, dir, &c) : r;
}

/* The .git file of the work tree, wherever that lies. */
static int32_t protect_pointer(struct scan *s, const char *dir)
{
    struct resolved dotgit;

    if (!git_follow(s, dir, "gitdir", "", &dotgit) || !str_eq(path_basename(dotgit.path), ".git"))
        return ABX_OK;
    const char *top = path_parent(s->arena, dotgit.path);
    return top ? git_protect_name(s, top, ".git", RULE_IF_PRESENT) : err_nomem(s->err);
}

/* What holds for all worktrees of a repository. */
struct git_worktrees {
    uint32_t flags; /* of config.worktree */
    const struct git_config *config;
};

static int32_t protect_worktree(struct scan *s, const char *dir, void *data, unsigned depth)
{
    const struct git_worktrees *all = data;
    int32_t r;

    if (is_closed(s, dir))
        return git_protect_closed(s, dir);
    if (!git_is_there(s, dir, "gitdir", false) && !git_is_there(s, dir, "commondir", false) &&
        !git_is_there(s, dir, "HEAD", false))
        return ABX_OK;
    r = protect_dir(s, dir, false);
    if (r == ABX_OK)
        r = protect_pointer(s, dir);
    if (r == ABX_OK)
        r = protect_hooks(s, dir, all->config);
    if (r == ABX_OK)
        r = git_protect_name(s, dir, "config.worktree", all->flags);
    if (r == ABX_OK && !(all->flags & RULE_IF_PRESENT))
        r = protect_worktree_config(s, dir);
    return r == ABX_OK ? protect_modules(s, dir, depth + 1) : r;
}

/* Something of a git directory is there, whatever else is missing. */
static bool looks_like_gitdir(struct scan *s, const char *dir)
{
    static const struct {
        const char *name;
        bool is_dir;
    } signs[] = { { "HEAD", false },   { "config", false }, { "commondir", false },
                  { "objects", true }, { "refs", true },    { "hooks", true } };

    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (git_is_there(s, dir, signs[i].name, signs[i].is_dir))
            return true;
    return false;
}

/* A git directory with a config: what that says, also for its work trees, and all of its own. */
static int32_t protect_store(struct scan *s, const char *dir, const char *gitdir,
                             struct git_config *c, unsigned depth)
{
    const char *configs[] = { join(s, dir, "config"), join(s, dir, "config.worktree"),
                              join(s, gitdir, "config.worktree") };
    const char *worktrees = join(s, dir, "worktrees");
    int32_t r = ABX_OK;

    for (size_t i = 0; i < ARRAY_LEN(configs) && r == ABX_OK; i++)
        if (i == 0 || (c->per_worktree && !(i == 2 && gitdir == dir)))
            r = configs[i] ? read_config(s, configs[i], c) : err_nomem(s->err);
    const uint32_t flags = c->per_worktree ? 0 : RULE_IF_PRESENT;
    struct git_worktrees all = { flags, c };
    if (r == ABX_OK)
        r = protect_dir(s, dir, true);
    if (r == ABX_OK)
        r = git_protect_name(s, dir, "config.worktree", flags);
    if (r == ABX_OK && gitdir != dir)
        r = protect_dir(s, gitdir, false);
    if (r == ABX_OK && gitdir != dir)
        r = git_protect_name(s, gitdir, "config.worktree", flags);
    if (r == ABX_OK)
        r = protect_hooks(s, dir, c);
    if (r == ABX_OK && gitdir != dir)
        r = protect_hooks(s, gitdir, c);
    if (r == ABX_OK)
        r = worktrees ? git_each_entry(s, worktrees,
                                       c->per_worktree ? GIT_DONE_WORKTREES : GIT_DONE_PRESENT,
                                       protect_worktree, &all, depth)
                      : err_nomem(s->err);
    if (r == ABX_OK)
        r = protect_modules(s, dir, depth);
    return r == ABX_OK && gitdir != dir ? protect_modules(s, gitdir, depth) : r;
}

/* A work tree that the config names, as a submodule's does: its .git file, and the hooks there. */
static int32_t protect_checkout(struct scan *s, const char *dir, const struct git_config *c)
{
    struct resolved tree;
    const char *path = c->tree ? expand(s, dir, c->tree) : NULL;
    int32_t r = path ? scan_resolve(s, path, &tree) : ABX_OK;

    if (!path || r != ABX_OK || !tree.exists || !tree.is_dir)
        return r;
    r = git_protect_name(s, tree.path, ".git", RULE_IF_PRESENT);
    return r == ABX_OK ? protect_hooks(s, tree.path, c) : r;
}

static int32_t protect_module(struct scan *s, const char *dir, void *data, unsigned depth)
{
    struct git_config c = { .tree = NULL };

    if (is_closed(s, dir))
        return refuse_closed(s, dir, EACCES);
    if (!git_is_there(s, dir, ".", true))
        return ABX_OK;
    if (depth >= GIT_MAX_DEPTH)
        return git_protect_closed(s, dir);
    if (!looks_like_gitdir(s, dir)) /* a module's name may have slashes */
        return git_each_entry(s, dir, GIT_DONE_MODULES, protect_module, data, depth + 1);
    int32_t r = protect_store(s, dir, dir, &c, depth + 1);
    if (r == ABX_OK)
        r = protect_checkout(s, dir, &c);
    return r == ABX_OK ? git_each_entry(s, dir, GIT_DONE_INNER, protect_inner, data, depth + 1) : r;
}

/* Without directories below, as most are; if the file system counts them, as its parent shows. */
static bool is_leaf(struct scan *s, const char *dir)
{
    const char *above = join(s, dir, "..");
    struct stat st;

    return above && lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_nlink == 2 &&
           lstat(above, &st) == 0 && st.st_nlink > 2;
}

/*
 * What bears the name of one of git's own directories may be part of a module's name as well
 * ("lib/lfs/a"). Git's own have no config, and those of modules are protected since their first
 * run, so that decides.
 */
static int32_t protect_own(struct scan *s, const char *dir, void *data, unsigned depth)
{
    const char *config = join(s, dir, "config");
    struct stat st;

    if (!config)
        return err_nomem(s->err);
    if (lstat(config, &st) == 0 ||
        (errno != ENOENT && errno != ENOTDIR && git_is_there(s, dir, "config", false)))
        return protect_module(s, dir, data, depth);
    if (is_leaf(s, dir))
        return ABX_OK;
    return depth < GIT_MAX_DEPTH
               ? git_each_entry(s, dir, GIT_DONE_OWN, protect_own, data, depth + 1)
               : git_protect_closed(s, dir);
}

/*
 * A directory in what looks like a module. It may be one itself: a command could make the "lib" of
 * "lib/a" look like a git directory.
 */
static int32_t protect_inner(struct scan *s, const char *dir, void *data, unsigned depth)
{
    static const char *const own[] = { "annex", "branches", "hooks", "info",     "lfs",
                                       "logs",  "objects",  "refs",  "rr-cache", "worktrees" };
    const char *name = path_basename(dir);

    if (str_eq(name, "modules")) /* protect_store has seen to them */
        return ABX_OK;
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (str_eq(name, own[i]))
            return protect_own(s, dir, data, depth);
    return protect_module(s, dir, data, depth);
}

/* Links that the pointers to the git directory lead through: they must not be turned. */
static int32_t pin_pointers(struct scan *s, const struct repo *repo)
{
    for (size_t i = 0; i < ARRAY_LEN(repo->pointers); i++) {
        const struct policy_rule *rule;

        if (!repo->pointers[i].pin_count)
            continue;
        /* A file that is not there says nothing; its pins count. */
        struct resolved where = { .path = join(s, repo->pointers[i].path, ".pinned"),
                                  .pins = repo->pointers[i].pins,
                                  .pin_count = repo->pointers[i].pin_count };
        rule = scan_derive(s, ACCESS_RO, RULE_PROTECT | RULE_IF_PRESENT, GIT_SOURCE, where.path);
        int32_t r = rule && where.path ? scan_add(s, rule, &where) : err_nomem(s->err);
        if (r != ABX_OK)
            return r;
    }
    return ABX_OK;
}

int32_t git_protect_repo(struct scan *s, const struct repo *repo)
{
    struct git_config c = { .tree = NULL };
    int32_t r = note_repo(s, repo);

    if (r == ABX_OK)
        r = protect_store(s, repo->common, repo->gitdir, &c, 0);
    if (r == ABX_OK)
        r = protect_hooks(s, repo->top, &c);
    if (r == ABX_OK)
        r = protect_checkout(s, repo->common, &c);
    if (r == ABX_OK && !repo->bare && (!repo->dotgit.is_dir || repo->dotgit.pin_count))
        r = git_protect_name(s, repo->top, repo->dotgit.is_dir ? ".git/hooks" : ".git",
                             RULE_IF_PRESENT);
    if (r == ABX_OK && !repo->bare && repo->dotgit.is_dir)
        r = git_keep_work_tree(s, repo);
    return r == ABX_OK ? pin_pointers(s, repo) : r;
}
