/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which repositories there are, and which of them are made writable.
 *
 * The one around the working directory is found as git finds it: ".git" here or in a directory
 * above, up to the home directory; a directory, a symlink, or a file that points elsewhere
 * (worktree, submodule). Where it lies outside the working directory it is made writable, so that
 * git works. Those that lie deeper, and bare ones, the walk finds (protect.c); they get no grants.
 *
 * Trusts no pointer: ".git" may come with a downloaded tree and name any directory. What lies
 * outside is granted only if it points back (a worktree's gitdir file, a submodule below the
 * modules of a repository above) and looks like a repository. An explicit rule of the user is never
 * overridden.
 *
 * Not held: repositories that the command makes anew.
 */
#include "probe/git.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/nodes.h"
#include "policy/precedence.h"
#include "policy/presets.h"

static const char *join(struct scan *s, const char *dir, const char *name)
{
    return path_join(s->arena, dir, name);
}

int32_t git_look(struct scan *s, const char *dir, const char *name, struct resolved *ret)
{
    const char *path = name[0] == '/' ? name : join(s, dir, name);

    if (!path)
        return err_nomem(s->err);
    return scan_resolve(s, path, ret);
}

bool git_looks(struct scan *s, const char *dir, const char *name, struct resolved *ret)
{
    _err_ abx_error *ignored = NULL;
    struct scan quiet = *s;

    quiet.err = &ignored;
    return git_look(&quiet, dir, name, ret) == ABX_OK;
}

bool git_is_there(struct scan *s, const char *dir, const char *name, bool directory)
{
    struct resolved r = { 0 };

    return git_looks(s, dir, name, &r) && r.exists && !r.denied && r.is_dir == directory;
}

char *git_read_text(struct scan *s, const char *path, size_t limit)
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

bool git_follow(struct scan *s, const char *dir, const char *name, const char *prefix,
                struct resolved *ret)
{
    const char *path = join(s, dir, name);
    const char *text = path ? git_read_text(s, path, GIT_MAX_POINTER) : NULL;
    struct scan quiet = *s;
    _err_ abx_error *ignored = NULL;

    if (!text || !str_has_prefix(text, prefix))
        return false;
    text += strlen(prefix);
    text += strspn(text, " \t");
    quiet.err = &ignored;
    *ret = (struct resolved){ 0 };
    return text[0] && git_look(&quiet, dir, text, ret) == ABX_OK && ret->exists && !ret->denied;
}

static int32_t find_repo(struct scan *s, const char *start, unsigned nesting, struct repo *ret,
                         bool *ret_found);

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
           git_follow(s, r->gitdir, "gitdir", "", &back) && back.dev == r->dotgit.dev &&
           back.ino == r->dotgit.ino;
}

/* Fills gitdir, common and valid of r, whose top and dotgit are known. */
static int32_t open_repo(struct scan *s, struct repo *r, unsigned nesting)
{
    struct resolved where;
    bool linked = r->dotgit.pin_count > 0;

    if (r->dotgit.is_dir)
        r->gitdir = r->dotgit.path;
    else if (git_follow(s, r->top, ".git", "gitdir:", &where) && where.is_dir)
        r->gitdir = where.path;
    else
        return ABX_OK;
    if (!r->dotgit.is_dir)
        r->pointers[0] = where;
    r->common = r->gitdir;
    if (git_follow(s, r->gitdir, "commondir", "", &where) && where.is_dir) {
        r->common = where.path;
        r->pointers[1] = where;
    }
    r->valid = git_is_there(s, r->gitdir, "HEAD", false) &&
               git_is_there(s, r->common, "objects", true) &&
               git_is_there(s, r->common, "refs", true);
    if (!r->valid)
        return ABX_OK;

    r->consents = (r->dotgit.is_dir && !linked && r->common == r->gitdir) ||
                  (path_is_beneath(r->gitdir, r->top) && path_is_beneath(r->common, r->top)) ||
                  is_worktree(s, r);
    if (r->consents || r->common != r->gitdir)
        return ABX_OK;
    return check_submodule(s, r, nesting);
}

static int32_t find_repo(struct scan *s, const char *start, unsigned nesting, struct repo *ret,
                         bool *ret_found)
{
    const char *home = s->facts->home;

    *ret_found = false;
    for (const char *dir = start;;) {
        struct repo r = { .top = dir };

        if (home && dir != start && str_eq(dir, home))
            return ABX_OK;
        int32_t code = git_look(s, dir, ".git", &r.dotgit);
        if (code == ABX_OK && r.dotgit.exists && !r.dotgit.denied)
            code = open_repo(s, &r, nesting);
        if (code != ABX_OK)
            return code;
        if (r.valid) {
            *ret = r;
            *ret_found = true;
            return ABX_OK;
        }
        if (nesting == 0 && r.dotgit.exists && !r.dotgit.denied)
            code = git_protect_broken(s, &r);
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

/* Whatever it is: git asks only whether it may be executed, and a link may lead it elsewhere. */
static bool is_taken_name(struct scan *s, const char *dir, const char *name)
{
    struct resolved r = { 0 };

    return git_looks(s, dir, name, &r) && (r.exists || r.pin_count > 0);
}

/* Itself, not what a link leads to: that may go away. */
static bool is_own(struct scan *s, const struct repo *r, const char *name, bool directory)
{
    struct resolved where = { 0 };

    return git_is_there(s, r->gitdir, name, directory) && git_looks(s, r->gitdir, name, &where) &&
           where.pin_count == 0;
}

/* As git asks: a HEAD that reads like one, objects and refs, none of them in another directory. */
static bool is_taken_by_git(struct scan *s, const struct repo *r)
{
    const char *path = join(s, r->gitdir, "HEAD");
    const char *head = path ? git_read_text(s, path, GIT_MAX_POINTER) : NULL;

    return head && (str_has_prefix(head, "ref: refs/") || strspn(head, "0123456789abcdef") >= 40) &&
           is_own(s, r, "HEAD", false) && is_own(s, r, "objects/.", true) &&
           is_own(s, r, "refs/.", true) && !is_taken_name(s, r->gitdir, "commondir");
}

/* What counts as absent and is on the disk: a run that goes on holds it. */
static bool is_held_name(struct scan *s, const char *dir, const char *name)
{
    const char *path = join(s, dir, name);
    struct stat st;

    return !path || lstat(path, &st) == 0;
}

/* Ours, so that a command could open it, but nothing can be made in it now. */
static bool is_shut(const char *dir)
{
    struct stat st;

    return faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) < 0 && errno == EACCES &&
           stat(dir, &st) == 0 && st.st_uid == geteuid();
}

/*
 * Git takes a directory for a bare repository as soon as its ".git" is none, and a command can
 * bring that about: HEAD must stay writable. A bare one has objects and refs, or a commondir that
 * leads to some. Only a name that is not there can be kept so: a file or a link in the place of
 * refs is as good to git. HEAD is held last, because git calls a file of that name ambiguous.
 *
 * One is enough, if all runs that go on hold the same one: where they do not, each takes away what
 * the other holds.
 *
 * Only for @git-strict: these names are in every listing and in what "*" matches, and whoever may
 * make repositories below and put them into the index has another way (threat-model.md).
 */
int32_t git_keep_work_tree(struct scan *s, const struct repo *repo)
{
    static const char *const needed[] = { "refs", "objects", "HEAD" };
    int32_t r = ABX_OK;
    bool held = false;

    if (!(s->policy->presets & PRESET_GIT_STRICT))
        return ABX_OK;
    if (is_shut(repo->top))
        return git_protect_closed(s, repo->top);
    if (s->git_trees++ >= GIT_MAX_HELD) /* a ".git" that git takes stays one, if it is closed */
        return git_protect_closed(s, is_taken_by_git(s, repo) ? repo->gitdir : repo->top);
    for (size_t i = 0; i < ARRAY_LEN(needed) && r == ABX_OK; i++) {
        bool here = is_taken_name(s, repo->top, needed[i]);
        bool last = i + 1 == ARRAY_LEN(needed);

        if (here ? held || !last : held && !is_held_name(s, repo->top, needed[i]))
            continue;
        held = true;
        r = git_protect_name(s, repo->top, needed[i], 0);
    }
    return r == ABX_OK ? git_protect_name(s, repo->top, "commondir", 0) : r;
}

int32_t git_found(struct scan *s, const char *dir, bool bare)
{
    struct git_place *place = arena_alloc(s->arena, 1, sizeof *place);

    if (!place)
        return err_nomem(s->err);
    *place = (struct git_place){ s->git_places, dir, bare };
    s->git_places = place;
    return ABX_OK;
}

static int32_t protect_place(struct scan *s, const struct git_place *place)
{
    struct repo r = { .top = place->dir, .bare = place->bare };

    if (place->bare) {
        r.gitdir = r.common = place->dir;
        return git_protect_repo(s, &r);
    }
    int32_t code = git_look(s, place->dir, ".git", &r.dotgit);
    if (code == ABX_OK && r.dotgit.exists && !r.dotgit.denied)
        code = open_repo(s, &r, GIT_MAX_NESTING);
    if (code != ABX_OK || !r.dotgit.exists)
        return code;
    return r.valid ? git_protect_repo(s, &r) : git_protect_broken(s, &r);
}

static int32_t protect_around(struct scan *s)
{
    struct repo repo;
    bool found;
    int32_t r = find_repo(s, s->facts->cwd, 0, &repo, &found);

    if (r != ABX_OK || !found)
        return r;
    if (repo.consents && (s->policy->presets & PRESET_BASE)) {
        r = grant(s, repo.common);
        if (r == ABX_OK && !path_is_beneath(repo.gitdir, repo.common))
            r = grant(s, repo.gitdir);
    }
    if (r == ABX_OK)
        r = git_protect_repo(s, &repo);
    if (r == ABX_OK && (s->policy->presets & PRESET_GIT_STRICT))
        r = git_protect_refs(s, &repo);
    return r;
}

int32_t scan_git(struct scan *s)
{
    if (!(s->policy->presets & (PRESET_GIT | PRESET_GIT_STRICT)))
        return ABX_OK;
    s->deadline = scan_seconds() + s->budget->seconds;
    int32_t r = protect_around(s);
    for (const struct git_place *p = s->git_places; p && r == ABX_OK; p = p->next) {
        r = scan_count(s, p->dir);
        if (r == ABX_OK)
            r = protect_place(s, p);
    }
    s->deadline = 0;
    return r;
}
