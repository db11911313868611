/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is protected in places where people work. The walk (walk.c) shows each entry once; what
 * counts is its name, not whether it looks as a program would expect it: a command could make it
 * look otherwise in one run and put it right in the next.
 *
 * A directory is left out of the search only for reasons that no command can forge: its name, when
 * the host runs what lies below anyway (node_modules), or another rule. Directories of ours that
 * cannot be listed are protected as a whole, or chmod would be a way to hide them from us.
 */
#include "probe/protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/nodes.h"
#include "policy/precedence.h"
#include "policy/presets.h"
#include "probe/git.h"
#include "probe/gitconfig.h"
#include "probe/walk.h"

#define PROTECT_MAX_SKIPS 64 /* a rule beyond that costs time only */

/* One row in one directory; root is the writable root that it lies in. */
static int32_t add_name(struct scan *s, const struct resolve_base *dir, const char *root,
                        const struct name_row *row, bool absent, bool *parent_exists)
{
    struct resolved where;
    bool inside = row->when == NAME_INSIDE, parent = row->when == NAME_PARENT;

    if (inside && !*parent_exists)
        return ABX_OK;
    int32_t r = resolve_path(s->arena, dir, row->name, &where, s->err);
    if (r != ABX_OK)
        return r;
    if (parent)
        *parent_exists = where.exists && where.is_dir;
    if (parent && *parent_exists)
        return ABX_OK;
    if (!where.exists && !where.pin_count && !absent)
        return ABX_OK;
    const struct policy_rule *rule = scan_derive(
        s, ACCESS_RO, RULE_PROTECT | RULE_NAME | (absent ? 0 : RULE_IF_PRESENT), "protected",
        row->name);
    r = rule ? scan_add(s, rule, &where) : err_nomem(s->err);
    if (r == ABX_OK)
        s->paths[s->count - 1].name_root = root;
    return r;
}

static int32_t add_top_names(struct scan *s, const struct path_fact *f, bool hold)
{
    bool workdir = f->rule->flags & RULE_WORKDIR, parent_exists = false;
    bool is_home = s->home.path && str_eq(s->home.path, f->path);
    _fd_ int fd = workdir ? -1 : fd_open_path(AT_FDCWD, f->path);
    const struct name_row *row;

    if (!workdir && fd < 0)
        return err_sys(s->err, ABX_E_IO, fd, "open '%s'", f->path);
    const struct resolve_base dir = { workdir ? s->cwd.fd : fd, f->path,
                                      workdir ? s->cwd.names : names_read(s->arena, fd) };
    for (size_t i = 0; (row = name_row(i)); i++) {
        if (row->when == NAME_SKIPPED)
            continue;
        int32_t r = add_name(s, &dir, f->path, row, hold && (row->when != NAME_PRESENT || is_home),
                             &parent_exists);
        if (r != ABX_OK)
            return r;
    }
    return ABX_OK;
}

/* ---- roots ---- */

static bool is_root_fact(const struct scan *s, const struct path_fact *f)
{
    return f->rule->access == ACCESS_RW && f->exists && f->is_dir &&
           !(f->rule->flags & RULE_STORE) &&
           !((f->rule->flags & RULE_WORKDIR) && nodes_cwd_refusal(s->policy, s->facts));
}

/* The facts that take part in a verdict. NULL when out of memory. */
static struct access_claim *make_claims(struct scan *s, size_t *ret_count)
{
    struct access_claim *claims = arena_alloc(s->arena, s->count, sizeof *claims);
    size_t n = 0;

    for (size_t i = 0; claims && i < s->count; i++) {
        const struct path_fact *f = &s->paths[i];
        if ((f->exists || !(f->rule->flags & RULE_IF_PRESENT)) &&
            (f->rule->access != ACCESS_RW || is_root_fact(s, f) || !f->is_dir ||
             (f->rule->flags & RULE_STORE)))
            claims[n++] = (struct access_claim){ f->path, f->rule };
    }
    *ret_count = n;
    return claims;
}

/* Does the search leave path out, on its way down from root? */
static bool is_left_out(const struct scan *s, const char *root, const char *path)
{
    for (size_t i = 0; i < s->skip_count; i++)
        if (path_is_beneath(path, s->skips[i]) && path_is_beneath(s->skips[i], root) &&
            !str_eq(s->skips[i], root))
            return true;
    return false;
}

static bool is_searched(const struct scan *s, const char *path)
{
    for (size_t i = 0; i < s->root_count; i++)
        if (path_is_beneath(path, s->roots[i]) && !is_left_out(s, s->roots[i], path))
            return true;
    return false;
}

/* Directories inside the roots that are not places to work: hidden, read-only, a program's data. */
static void find_skips(struct scan *s, const struct access_claim *claims, size_t claim_count)
{
    for (size_t i = 0; i < s->count && s->skip_count < PROTECT_MAX_SKIPS; i++) {
        const struct path_fact *f = &s->paths[i];
        const struct policy_rule *decides;

        if (!f->exists || !f->is_dir || (f->rule->flags & (RULE_NAME | RULE_PROTECT)) ||
            (f->rule->access == ACCESS_RW && !(f->rule->flags & RULE_STORE)) ||
            !is_searched(s, f->path))
            continue;
        if (precedence_verdict(claims, claim_count, f->path, &decides) != ACCESS_RW ||
            (decides && (decides->flags & RULE_STORE)))
            s->skips[s->skip_count++] = f->path;
    }
}

static int32_t add_root(struct scan *s, const struct path_fact *f)
{
    bool glob = f->rule->flags & RULE_GLOB;
    bool hold = !glob && s->root_count < SCAN_MAX_NAME_ROOTS;

    if (s->policy->protect_names) {
        int32_t r = add_top_names(s, f, hold);
        if (r != ABX_OK)
            return r;
    }
    if (glob && is_searched(s, f->path))
        return ABX_OK;
    s->roots[s->root_count++] = f->path;
    return walk_add_names(s, f->path);
}

int32_t protect_roots(struct scan *s, size_t first)
{
    size_t end = s->count, claim_count;
    const struct policy_rule *decides;

    if (!s->policy->protect_names && !(s->policy->presets & (PRESET_GIT | PRESET_GIT_STRICT)))
        return ABX_OK;
    const struct access_claim *claims = make_claims(s, &claim_count);
    const char **roots = arena_alloc(s->arena, s->root_count + end - first, sizeof *roots);
    if (!s->skips)
        s->skips = arena_alloc(s->arena, PROTECT_MAX_SKIPS, sizeof *s->skips);
    if (!claims || !roots || !s->skips)
        return err_nomem(s->err);
    if (s->root_count)
        memcpy(roots, s->roots, s->root_count * sizeof *roots);
    s->roots = roots;
    for (size_t i = first; i < end; i++) {
        const struct path_fact f = s->paths[i];
        if (!is_root_fact(s, &f) ||
            precedence_verdict(claims, claim_count, f.path, &decides) != ACCESS_RW)
            continue;
        int32_t r = add_root(s, &f);
        if (r != ABX_OK)
            return r;
    }
    find_skips(s, claims, claim_count);
    return ABX_OK;
}

/* ---- the search ---- */

bool protect_skips(const struct scan *s, const char *dir, const char *name)
{
    const struct name_row *row;
    size_t len = dir[1] ? strlen(dir) : 0;

    if (str_eq(name, ".git"))
        return true;
    for (size_t i = 0; (row = name_row(i)); i++)
        if (row->when == NAME_SKIPPED && str_eq(row->name, name))
            return true;
    for (size_t i = 0; i < s->skip_count; i++) {
        const char *skip = s->skips[i];
        if (strncmp(skip, dir, len) == 0 && skip[len] == '/' && str_eq(skip + len + 1, name))
            return true;
    }
    return false;
}

/* Is name the first component of a row? */
static bool row_begins_with(const struct name_row *row, const char *name)
{
    size_t len = strlen(name);

    return strncmp(row->name, name, len) == 0 && (!row->name[len] || row->name[len] == '/');
}

static int32_t see_name(struct scan *s, const struct protect_dir *d, const char *name)
{
    bool parent_exists = false;
    const struct resolve_base dir = { d->fd, NULL, NULL };
    struct resolve_base base = dir;
    const struct name_row *row;

    for (size_t i = 0; (row = name_row(i)); i++) {
        if (row->when == NAME_SKIPPED || row->name[0] != name[0] || !row_begins_with(row, name))
            continue;
        if (!base.path)
            base.path = arena_strdup(s->arena, d->path);
        int32_t r = base.path ? add_name(s, &base, d->root, row, false, &parent_exists)
                              : err_nomem(s->err);
        if (r != ABX_OK)
            return r;
    }
    return ABX_OK;
}

/* What a bare repository has at its top. */
enum bare_sign { BARE_HEAD = 1, BARE_OBJECTS = 2, BARE_REFS = 4, BARE_CONFIG = 8 };

static unsigned bare_sign(const char *name, unsigned type)
{
    static const struct {
        const char *name;
        unsigned sign;
        bool is_dir;
    } signs[] = {
        { "HEAD", BARE_HEAD, false },
        { "config", BARE_CONFIG, false },
        { "objects", BARE_OBJECTS, true },
        { "refs", BARE_REFS, true },
    };

    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (name[0] == signs[i].name[0] && str_eq(name, signs[i].name))
            return type == DT_UNKNOWN || type == DT_LNK || (type == DT_DIR) == signs[i].is_dir
                       ? signs[i].sign
                       : 0;
    return 0;
}

/* One sign may be missing: taking it away for a while must not open the rest. */
static bool is_bare(unsigned signs)
{
    if (signs & BARE_HEAD)
        return signs & (BARE_OBJECTS | BARE_REFS);
    return (signs & BARE_OBJECTS) && (signs & BARE_REFS) && (signs & BARE_CONFIG);
}

/*
 * What git writes into the config of every repository. All other signs a command can take away in
 * one run and put back after the next; the config it cannot: it is protected as long as they are
 * there.
 */
static bool has_repo_config(int dir)
{
    _arena_ struct arena arena = { 0 };
    _buf_ struct buf text = { 0 };
    struct gitconfig parser;
    struct gitconfig_entry entry;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    buf_init(&text, GIT_MAX_CONFIG);
    if (io_read_file(dir, "config", &text) < 0)
        return false;
    gitconfig_init(&parser, &arena, text.data ? text.data : "", text.len);
    while (gitconfig_next(&parser, &entry))
        if (str_eq(entry.section, "core") &&
            (str_eq(entry.key, "repositoryformatversion") || str_eq(entry.key, "bare")))
            return true;
    return parser.failed;
}

int32_t protect_see(struct scan *s, struct protect_dir *d, const char *name, unsigned type)
{
    bool top = str_eq(d->path, d->root);

    if (str_eq(name, ".git"))
        d->has_git = true;
    d->signs |= bare_sign(name, type);
    return !top && s->policy->protect_names ? see_name(s, d, name) : ABX_OK;
}

int32_t protect_seen(struct scan *s, const struct protect_dir *d)
{
    if (!(s->policy->presets & (PRESET_GIT | PRESET_GIT_STRICT)))
        return ABX_OK;
    bool bare = is_bare(d->signs) || ((d->signs & BARE_CONFIG) && has_repo_config(d->fd));
    if (!d->has_git && !bare)
        return ABX_OK;
    const char *path = arena_strdup(s->arena, d->path);
    if (!path)
        return err_nomem(s->err);
    int32_t r = ABX_OK;
    if (d->has_git && !str_eq(path, s->facts->cwd)) /* that one is found anyway */
        r = git_found(s, path, false);
    return r == ABX_OK && bare ? git_found(s, path, true) : r;
}

/* By the last fact: of a directory that cannot be searched each entry would say the same. */
static bool is_said(const struct scan *s, const char *path)
{
    const struct path_fact *last = s->count ? &s->paths[s->count - 1] : NULL;

    return last && last->rule->access == ACCESS_RO && (last->rule->flags & RULE_PROTECT) &&
           str_eq(last->path, path);
}

int32_t protect_unreadable(struct scan *s, int fd, const char *dir, const char *name,
                           const char *root)
{
    const char *path = path_join(s->arena, dir, name);
    struct resolved where;
    struct stat st;

    if (!path)
        return err_nomem(s->err);
    int r = fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
    if (r < 0 && errno == EACCES)
        r = fstat(fd, &st); /* it is dir that can be listed but not searched */
    if (r < 0 || st.st_uid != s->facts->uid)
        return ABX_OK;
    int32_t code = scan_resolve(s, path, &where);
    if (code != ABX_OK || is_said(s, where.path))
        return code;
    const struct policy_rule *rule = scan_derive(
        s, ACCESS_RO, RULE_PROTECT | RULE_NAME | RULE_IF_PRESENT,
        "protected, cannot be listed:", path_basename(where.path));
    code = rule ? scan_add(s, rule, &where) : err_nomem(s->err);
    if (code == ABX_OK)
        s->paths[s->count - 1].name_root = root;
    return code;
}
