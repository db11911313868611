/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The git repository around the working directory (@git, @git-strict).
 *
 * Found as git finds it: ".git" here or in a directory above, up to the home directory; a
 * directory, a symlink, or a file that points elsewhere (worktree, submodule). Protected, so that
 * git on the host never runs what the command wrote: hooks and config of the repository (also when
 * absent), the pointers .git, commondir and gitdir, config.worktree, and the same in submodules and
 * worktrees. Where the repository lies outside the working directory it is made writable, so that
 * git works.
 *
 * Trusts no pointer: ".git" may come with a downloaded tree and name any directory. What lies
 * outside is granted only if it points back (a worktree's gitdir file, a submodule below the
 * modules of a repository above) and looks like a repository. An explicit rule of the user is never
 * overridden.
 *
 * Not held: repositories that the command makes anew.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/nodes.h"
#include "policy/precedence.h"
#include "policy/presets.h"
#include "probe/scan_state.h"

#define GIT_MAX_POINTER 16384
#define GIT_MAX_CONFIG  ((size_t)1 << 20)
#define GIT_MAX_NESTING 8
#define GIT_SOURCE      "@git"
#define GIT_STRICT      "@git-strict"

struct repo {
    const char *top;        /* the working tree */
    struct resolved dotgit; /* top/.git; where a symlink leads */
    const char *gitdir, *common;
    bool consents; /* gitdir belongs to top, and top to gitdir */
};

static const char *join(struct scan *s, const char *dir, const char *name)
{
    return path_join(s->arena, dir, name);
}

static int32_t look(struct scan *s, const char *dir, const char *name, struct resolved *ret)
{
    const char *path = name[0] == '/' ? name : join(s, dir, name);

    if (!path)
        return err_nomem(s->err);
    return scan_resolve(s, path, ret);
}

static bool is_there(struct scan *s, const char *dir, const char *name, bool directory)
{
    struct resolved r = { 0 };
    _err_ abx_error *ignored = NULL;
    struct scan quiet = *s;

    quiet.err = &ignored;
    return look(&quiet, dir, name, &r) == ABX_OK && r.exists && !r.denied && r.is_dir == directory;
}

/* A small file without its last line ends, or NULL. */
static char *read_text(struct scan *s, const char *path, size_t limit)
{
    _buf_ struct buf file = { 0 };
    _fd_ int parent = -1;
    const char *dir = path_parent(s->arena, path);

    buf_init(&file, limit);
    if (!dir)
        return NULL;
    parent = fd_open_path(AT_FDCWD, dir);
    if (parent < 0 || io_read_file(parent, path_basename(path), &file) < 0)
        return NULL;
    while (file.len && (file.data[file.len - 1] == '\n' || file.data[file.len - 1] == '\r'))
        file.len--;
    if (!file.len || memchr(file.data, '\0', file.len))
        return NULL;
    return arena_strndup(s->arena, file.data, file.len);
}

/* Follows a pointer file: the directory, or the file, that its text names. False if there is none.
 */
static bool follow(struct scan *s, const char *dir, const char *name, const char *prefix,
                   struct resolved *ret)
{
    const char *path = join(s, dir, name);
    const char *text = path ? read_text(s, path, GIT_MAX_POINTER) : NULL;
    struct scan quiet = *s;
    _err_ abx_error *ignored = NULL;

    if (!text || !str_has_prefix(text, prefix))
        return false;
    text += strlen(prefix);
    text += strspn(text, " \t");
    quiet.err = &ignored;
    *ret = (struct resolved){ 0 };
    return text[0] && look(&quiet, dir, text, ret) == ABX_OK && ret->exists && !ret->denied;
}

static int32_t find_repo(struct scan *s, const char *start, unsigned nesting, struct repo *ret,
                         bool *ret_found);
static int32_t protect_repo(struct scan *s, const struct repo *repo);

/* A submodule: its git directory lies below the modules of a repository above it. */
static int32_t check_submodule(struct scan *s, struct repo *r, unsigned nesting)
{
    struct repo above;
    bool found;
    const char *parent = path_parent(s->arena, r->top);

    if (!parent)
        return err_nomem(s->err);
    if (!r->top[1] || nesting >= GIT_MAX_NESTING)
        return ABX_OK;
    int32_t code = find_repo(s, parent, nesting + 1, &above, &found);
    if (code != ABX_OK || !found || !above.consents)
        return code;
    const char *modules[] = { join(s, above.gitdir, "modules"), join(s, above.common, "modules") };
    for (size_t i = 0; i < ARRAY_LEN(modules); i++) {
        if (!modules[i])
            return err_nomem(s->err);
        r->consents = r->consents || path_is_beneath(r->gitdir, modules[i]);
    }
    return ABX_OK;
}

/* A worktree: its git directory lies below common/worktrees and points back at top/.git. */
static bool is_worktree(struct scan *s, const struct repo *r)
{
    struct resolved back;
    const char *worktrees = join(s, r->common, "worktrees");

    return worktrees && path_is_beneath(r->gitdir, worktrees) &&
           follow(s, r->gitdir, "gitdir", "", &back) && back.dev == r->dotgit.dev &&
           back.ino == r->dotgit.ino;
}

/* Fills gitdir and common of r, whose top and dotgit are known. */
static int32_t open_repo(struct scan *s, struct repo *r, unsigned nesting, bool *ret_valid)
{
    struct resolved where;
    bool linked = r->dotgit.pin_count > 0;

    *ret_valid = false;
    if (r->dotgit.is_dir)
        r->gitdir = r->dotgit.path;
    else if (follow(s, r->top, ".git", "gitdir:", &where) && where.is_dir)
        r->gitdir = where.path;
    else
        return ABX_OK;
    r->common = r->gitdir;
    if (follow(s, r->gitdir, "commondir", "", &where) && where.is_dir)
        r->common = where.path;
    *ret_valid = is_there(s, r->gitdir, "HEAD", false) && is_there(s, r->common, "objects", true) &&
                 is_there(s, r->common, "refs", true);
    if (!*ret_valid)
        return ABX_OK;

    r->consents = (r->dotgit.is_dir && !linked && r->common == r->gitdir) ||
                  (path_is_beneath(r->gitdir, r->top) && path_is_beneath(r->common, r->top)) ||
                  is_worktree(s, r);
    if (r->consents || r->common != r->gitdir)
        return ABX_OK;
    return check_submodule(s, r, nesting);
}

/* A directory that we cannot look into, but whose mode the command can change: all of it. */
static int32_t protect_closed(struct scan *s, const char *dir)
{
    return scan_add_path(s, ACCESS_RO, RULE_PROTECT | RULE_IF_PRESENT, GIT_SOURCE, dir, NULL);
}

/* A module that cannot be read hides where its work tree is, and so what else must be protected. */
static int32_t refuse_closed(struct scan *s, const char *dir)
{
    int32_t r = err_sys(s->err, ABX_E_INVALID, -EACCES, "protect the submodule in '%s'", dir);

    err_subject(s->err, dir);
    err_hint(s->err, "an earlier command may have taken its permissions: chmod -R u+rwX it");
    return r;
}

static bool is_closed(struct scan *s, const char *dir)
{
    struct resolved where = { 0 };
    _err_ abx_error *ignored = NULL;
    struct scan quiet = *s;

    quiet.err = &ignored;
    return look(&quiet, dir, "HEAD", &where) == ABX_OK && where.denied;
}

/*
 * A ".git" that is no repository now may be one again tomorrow, or in a minute: a command could
 * take HEAD away, write the config in its next run, and put HEAD back. So what is granted depends
 * on what a repository is, but what is protected depends on names alone.
 */
static int32_t protect_broken(struct scan *s, struct repo *r)
{
    struct resolved where = { 0 };

    if (!r->gitdir || is_closed(s, r->gitdir))
        return protect_closed(s, r->dotgit.path);
    if (!r->common)
        r->common = r->gitdir;
    if (r->common == r->gitdir && follow(s, r->gitdir, "commondir", "", &where) && where.is_dir)
        r->common = where.path;
    return protect_repo(s, r);
}

static int32_t find_repo(struct scan *s, const char *start, unsigned nesting, struct repo *ret,
                         bool *ret_found)
{
    const char *home = s->facts->home;

    *ret_found = false;
    for (const char *dir = start;;) {
        struct repo r = { .top = dir };
        bool valid = false;

        if (home && dir != start && str_eq(dir, home))
            return ABX_OK;
        int32_t code = look(s, dir, ".git", &r.dotgit);
        if (code == ABX_OK && r.dotgit.exists && !r.dotgit.denied)
            code = open_repo(s, &r, nesting, &valid);
        if (code != ABX_OK)
            return code;
        if (valid) {
            *ret = r;
            *ret_found = true;
            return ABX_OK;
        }
        if (nesting == 0 && r.dotgit.exists && !r.dotgit.denied)
            code = protect_broken(s, &r);
        if (code != ABX_OK)
            return code;
        if (!dir[1])
            return ABX_OK;
        dir = path_parent(s->arena, dir);
        if (!dir)
            return err_nomem(s->err);
    }
}

/* Makes dir writable, unless it lies in the working directory or a rule of the user says otherwise.
 */
static int32_t grant(struct scan *s, const char *dir)
{
    struct access_claim *claims = arena_alloc(s->arena, s->count, sizeof *claims);
    const struct policy_rule *decides;

    if (!claims)
        return err_nomem(s->err);
    if (path_is_beneath(dir, s->facts->cwd) || nodes_cwd_refusal(s->policy, s->facts))
        return ABX_OK;
    for (size_t i = 0; i < s->count; i++)
        claims[i] = (struct access_claim){ s->paths[i].path, s->paths[i].rule };
    if (precedence_verdict(claims, s->count, s->facts->cwd, &decides) != ACCESS_RW)
        return ABX_OK;
    if (precedence_verdict(claims, s->count, dir, &decides) != ACCESS_RW && decides &&
        decides->origin != ORIGIN_BUILTIN)
        return ABX_OK;
    return scan_add_path(s, ACCESS_RW, RULE_STORE | RULE_IF_PRESENT, GIT_SOURCE, dir, NULL);
}

static int32_t protect(struct scan *s, const char *dir, const char *name, uint32_t flags)
{
    const char *path = join(s, dir, name);

    if (!path)
        return err_nomem(s->err);
    return scan_add_path(s, ACCESS_RO, RULE_PROTECT | flags, GIT_SOURCE, path, NULL);
}

/* Whether config.worktree would be read: the word is enough, a comment does no harm. */
static bool reads_worktree_config(struct scan *s, const char *common)
{
    const char *path = join(s, common, "config");
    const char *text = path ? read_text(s, path, GIT_MAX_CONFIG) : NULL;

    return text && strcasestr(text, "worktreeconfig");
}

static int32_t protect_dir(struct scan *s, const char *dir, bool has_config)
{
    int32_t r = ABX_OK;

    if (has_config) {
        r = protect(s, dir, "hooks", 0);
        if (r == ABX_OK)
            r = protect(s, dir, "config", 0);
    }
    if (r == ABX_OK)
        r = protect(s, dir, "commondir", 0); /* a planted one would name another config */
    if (r == ABX_OK)
        r = protect(s, dir, "gitdir", RULE_IF_PRESENT);
    return r;
}

typedef int32_t (*entry_fn)(struct scan *s, const char *dir, void *data, unsigned depth);

static int32_t protect_module(struct scan *s, const char *dir, void *data, unsigned depth);

/* Calls fn for each entry of dir. A missing one has none, an unreadable one is protected whole. */
static int32_t each_directory(struct scan *s, const char *dir, entry_fn fn, void *data,
                              unsigned depth)
{
    _fd_ int path_fd = fd_open_path(AT_FDCWD, dir);
    _fd_ int fd = path_fd < 0
                      ? -1
                      : openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int32_t r = ABX_OK;

    if (!stream && fn == protect_module && is_there(s, dir, ".", true))
        return refuse_closed(s, dir);
    if (!stream)
        return is_there(s, dir, ".", true) ? protect_closed(s, dir) : ABX_OK;
    (void)TAKE_FD(fd);
    while (r == ABX_OK && (entry = readdir(stream))) {
        if (entry->d_name[0] == '.' && (str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..")))
            continue;
        r = scan_count(s, dir);
        const char *path = r == ABX_OK ? join(s, dir, entry->d_name) : NULL;
        if (r == ABX_OK)
            r = path ? fn(s, path, data, depth) : err_nomem(s->err);
    }
    (void)closedir(stream);
    return r;
}

static int32_t protect_worktree(struct scan *s, const char *dir, void *data, unsigned depth)
{
    const uint32_t *flags = data;
    int32_t r;

    (void)depth;
    if (is_closed(s, dir))
        return protect_closed(s, dir);
    if (!is_there(s, dir, "gitdir", false) && !is_there(s, dir, "commondir", false) &&
        !is_there(s, dir, "HEAD", false))
        return ABX_OK;
    r = protect_dir(s, dir, false);
    return r == ABX_OK ? protect(s, dir, "config.worktree", *flags) : r;
}

/* A value of git's config as git reads it: quotes, escapes, comments, blanks at the end. */
static char *unquote(struct arena *arena, const char *text)
{
    char *value = arena_strndup(arena, text, strcspn(text, "\r\n")), *to = value;
    bool quoted = false;
    const char *kept = value; /* behind the last character that counts */

    for (const char *from = value; from && *from; from++) {
        if (*from == '"') {
            quoted = !quoted;
            continue;
        }
        if (!quoted && (*from == '#' || *from == ';'))
            break;
        bool escaped = *from == '\\' && from[1];
        if (escaped)
            from++;
        *to++ = !escaped ? *from : *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
        if (quoted || escaped || (to[-1] != ' ' && to[-1] != '\t'))
            kept = to;
    }
    if (value)
        value[kept - value] = '\0';
    return value;
}

/* The .git file of a submodule that is checked out: config has its core.worktree. */
static int32_t protect_pointer(struct scan *s, const char *dir)
{
    const char *path = join(s, dir, "config");
    const char *text = path ? read_text(s, path, GIT_MAX_CONFIG) : NULL;
    const char *key = text ? strcasestr(text, "worktree") : NULL;
    struct resolved tree;

    /* The first that is a key; core.worktree is the only one of that name. */
    while (key && key[8 + strspn(key + 8, " \t")] != '=')
        key = strcasestr(key + 8, "worktree");
    if (!key)
        return ABX_OK;
    key = strchr(key, '=') + 1;
    char *value = unquote(s->arena, key + strspn(key, " \t"));
    if (!value)
        return err_nomem(s->err);
    int32_t r = value[0] ? look(s, dir, value, &tree) : ABX_OK;
    if (r != ABX_OK || !value[0] || !tree.exists || !tree.is_dir)
        return r;
    return protect(s, tree.path, ".git", RULE_IF_PRESENT);
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
        if (is_there(s, dir, signs[i].name, signs[i].is_dir))
            return true;
    return false;
}

static int32_t protect_module(struct scan *s, const char *dir, void *data, unsigned depth)
{
    if (is_closed(s, dir))
        return refuse_closed(s, dir);
    if (!is_there(s, dir, ".", true) || depth >= GIT_MAX_NESTING)
        return ABX_OK;
    if (!looks_like_gitdir(s, dir)) /* a module's name may have slashes */
        return each_directory(s, dir, protect_module, data, depth + 1);
    int32_t r = protect_dir(s, dir, true);
    if (r == ABX_OK)
        r = protect_pointer(s, dir);
    const char *inner = join(s, dir, "modules");
    if (r == ABX_OK && !inner)
        r = err_nomem(s->err);
    return r == ABX_OK ? each_directory(s, inner, protect_module, data, depth + 1) : r;
}

static int32_t protect_repo(struct scan *s, const struct repo *repo)
{
    uint32_t config_flags = reads_worktree_config(s, repo->common) ? 0 : RULE_IF_PRESENT;
    const char *worktrees = join(s, repo->common, "worktrees");
    const char *modules[] = { join(s, repo->common, "modules"), join(s, repo->gitdir, "modules") };
    int32_t r = protect_dir(s, repo->common, true);

    if (!worktrees || !modules[0] || !modules[1])
        return r == ABX_OK ? err_nomem(s->err) : r;
    if (r == ABX_OK)
        r = protect(s, repo->common, "config.worktree", config_flags);
    if (r == ABX_OK && repo->gitdir != repo->common)
        r = protect_dir(s, repo->gitdir, false);
    if (r == ABX_OK && repo->gitdir != repo->common)
        r = protect(s, repo->gitdir, "config.worktree", config_flags);
    if (r == ABX_OK && (!repo->dotgit.is_dir || repo->dotgit.pin_count))
        r = protect(s, repo->top, repo->dotgit.is_dir ? ".git/hooks" : ".git", RULE_IF_PRESENT);
    if (r == ABX_OK)
        r = each_directory(s, worktrees, protect_worktree, &config_flags, 0);
    for (size_t i = 0; i < (repo->gitdir != repo->common ? 2u : 1u) && r == ABX_OK; i++)
        r = each_directory(s, modules[i], protect_module, NULL, 0);
    return r;
}

/* @git-strict: every branch but the current one, tags and packed refs. */
static int32_t protect_ref(struct scan *s, const char *path, void *data, unsigned depth)
{
    const char *current = data;

    if (current && str_eq(path, current))
        return ABX_OK;
    if (is_there(s, path, ".", true))
        return depth < SCAN_MAX_DEPTH ? each_directory(s, path, protect_ref, data, depth + 1)
                                      : ABX_OK;
    return scan_add_path(s, ACCESS_RO, RULE_PROTECT | RULE_IF_PRESENT, GIT_STRICT, path, NULL);
}

static int32_t protect_refs(struct scan *s, const struct repo *repo)
{
    const char *head_path = join(s, repo->gitdir, "HEAD");
    const char *head = head_path ? read_text(s, head_path, GIT_MAX_POINTER) : NULL;
    const char *heads = join(s, repo->common, "refs/heads");
    char *current = NULL;

    if (head && str_has_prefix(head, "ref: refs/heads/"))
        current = path_clean(s->arena, repo->common, head + strlen("ref: "));
    if (!heads)
        return err_nomem(s->err);
    int32_t r = each_directory(s, heads, protect_ref, current, 0);
    if (r == ABX_OK)
        r = protect(s, repo->common, "refs/tags", RULE_IF_PRESENT);
    if (r == ABX_OK)
        r = protect(s, repo->common, "packed-refs", RULE_IF_PRESENT);
    return r;
}

int32_t scan_git(struct scan *s)
{
    struct repo repo;
    bool found;

    if (!(s->policy->presets & (PRESET_GIT | PRESET_GIT_STRICT)))
        return ABX_OK;
    int32_t r = find_repo(s, s->facts->cwd, 0, &repo, &found);
    if (r != ABX_OK || !found)
        return r;
    if (repo.consents && (s->policy->presets & PRESET_BASE)) {
        r = grant(s, repo.common);
        if (r == ABX_OK && !path_is_beneath(repo.gitdir, repo.common))
            r = grant(s, repo.gitdir);
    }
    if (r == ABX_OK)
        r = protect_repo(s, &repo);
    if (r == ABX_OK && (s->policy->presets & PRESET_GIT_STRICT))
        r = protect_refs(s, &repo);
    return r;
}
