/* SPDX-License-Identifier: Apache-2.0 */
/*
 * @git-strict: the branches of a repository, but for the current one, its tags and its packed refs.
 * Names come from the repository, which is the adversary's: what leads out of refs/heads is not
 * taken, and what cannot be read is refused.
 */
#include "probe/git.h"

#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/str.h"

#define GIT_MAX_PACKED ((size_t)16 << 20)
#define GIT_STRICT     "@git-strict"

static int32_t protect_ref(struct scan *s, const char *path, void *data, unsigned depth)
{
    const char *current = data;

    if (current && str_eq(path, current))
        return ABX_OK;
    if (git_is_there(s, path, ".", true))
        return depth < SCAN_MAX_DEPTH
                   ? git_each_entry(s, path, GIT_DONE_REFS, protect_ref, data, depth + 1)
                   : ABX_OK;
    return scan_add_path(s, ACCESS_RO, RULE_PROTECT | RULE_IF_PRESENT, GIT_STRICT, path, NULL);
}

/* An absent directory that the current branch needs, too, cannot be held. */
static bool current_needs(struct scan *s, const char *path, const char *heads, const char *current)
{
    for (const char *at = path; at && !str_eq(at, heads); at = path_parent(s->arena, at))
        if (current && path_is_beneath(current, at))
            return !git_is_there(s, at, ".", true);
    return false;
}

/* Branches that have no file of their own: one that is made would count more than packed-refs. */
static int32_t protect_packed(struct scan *s, const char *file, const char *heads,
                              const char *current)
{
    char *text = git_read_text(s, file, GIT_MAX_PACKED), *rest = text;
    int32_t r = ABX_OK;

    struct stat st;

    if (!text)
        return lstat(file, &st) == 0 && st.st_size > 1
                   ? git_refuse_config(s, file,
                                       "it cannot be read as text, or is larger than 16 MiB")
                   : ABX_OK;
    for (char *line; r == ABX_OK && (line = strsep(&rest, "\n"));) {
        const char *name = strchr(line, ' ');
        if (line[0] == '#' || !name || !str_has_prefix(name + 1, "refs/heads/"))
            continue;
        const char *path = path_clean(s->arena, heads, name + 1 + strlen("refs/heads/"));
        if (!path)
            return err_nomem(s->err);
        if (!path_is_beneath(path, heads) || str_eq(path, heads) ||
            (current && str_eq(path, current)) || current_needs(s, path, heads, current))
            continue;
        r = scan_add_path(s, ACCESS_RO, RULE_PROTECT, GIT_STRICT, path, NULL);
    }
    return r;
}

int32_t git_protect_refs(struct scan *s, const struct repo *repo)
{
    const char *head_path = path_join(s->arena, repo->gitdir, "HEAD");
    const char *head = head_path ? git_read_text(s, head_path, GIT_MAX_POINTER) : NULL;
    const char *heads = path_join(s->arena, repo->common, "refs/heads");
    char *current = NULL;

    if (head && str_has_prefix(head, "ref: refs/heads/"))
        current = path_clean(s->arena, repo->common, head + strlen("ref: "));
    const char *packed = path_join(s->arena, repo->common, "packed-refs");
    if (!heads || !packed)
        return err_nomem(s->err);
    int32_t r = git_each_entry(s, heads, GIT_DONE_REFS, protect_ref, current, 0);
    if (r == ABX_OK)
        r = protect_packed(s, packed, heads, current);
    if (r == ABX_OK)
        r = git_protect_name(s, repo->common, "refs/tags", RULE_IF_PRESENT);
    if (r == ABX_OK)
        r = git_protect_name(s, repo->common, "packed-refs", RULE_IF_PRESENT);
    return r;
}
