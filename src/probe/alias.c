/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second mounts. A file system may be mounted in several places, so what a rule hides or protects
 * at one path may be seen at another. The table of mounts (mounts.h) tells which part of which file
 * system lies where; for each restriction every other place that shows the same thing, or a part of
 * it, gets the same rule. A second path counts only if it leads to the same inode, or to the same
 * directory for what is not there yet.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/mounts.h"

/* a, then what of path lies below base. */
static const char *transplant(struct arena *arena, const char *a, const char *path,
                              const char *base)
{
    const char *rest = base[1] ? path + strlen(base) : path;

    if (!a[1] && !base[1])
        return path; /* nearly always: it lies on the root's own file system */
    if (!rest[0] || str_eq(rest, "/"))
        return arena_strdup(arena, a);
    return arena_printf(arena, "%s%s", a[1] ? a : "", rest);
}

/* Whether what is not there yet would come to be in both places at once. */
static bool have_one_ancestor(const char *a, const char *b)
{
    struct stat one, two;

    return a && b && lstat(a, &one) == 0 && lstat(b, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

static int32_t add_alias(struct scan *s, const struct path_fact *fact, const char *path, bool same)
{
    struct resolved where;
    int32_t r = resolve_path(s->arena, &s->root, path, &where, s->err);

    if (r != ABX_OK)
        return r;
    if (where.exists != fact->exists || where.denied || where.pin_count ||
        !str_eq(where.path, path))
        return ABX_OK;
    if (same && (fact->exists ? where.ino != fact->ino
                              : !have_one_ancestor(where.ancestor, fact->ancestor)))
        return ABX_OK; /* covered by yet another mount */
    /* What may be read at one place does not open what another rule hides at the second. */
    const uint32_t narrows = fact->rule->access == ACCESS_RO ? RULE_PROTECT : 0;
    struct policy_rule *rule = scan_derive(s, fact->rule->access, fact->rule->flags | narrows,
                                           fact->rule->source, fact->rule->text);
    if (!rule)
        return err_nomem(s->err);
    rule->origin = fact->rule->origin;
    return scan_add(s, rule, &where);
}

static int32_t aliases_of(struct scan *s, const struct mount_table *t, struct path_fact fact)
{
    const struct mount_line *own = mounts_find(t, fact.path);

    if (!own || !own->shared || !own->root ||
        (t->outer && t->outer->file_system == own->file_system))
        return ABX_OK; /* all masks of an outer run are one file */
    const char *inside = transplant(s->arena, own->root, fact.path, own->point);
    if (!inside)
        return err_nomem(s->err);
    for (size_t i = 0; i < t->count; i++) {
        const struct mount_line *m = &t->lines[i];
        int32_t r = ABX_OK;

        if (m == own || !m->root || m->file_system != own->file_system)
            continue;
        if (path_is_beneath(inside, m->root)) {
            const char *path = transplant(s->arena, m->point, inside, m->root);
            if (!path)
                return err_nomem(s->err);
            if (!str_eq(path, fact.path))
                r = add_alias(s, &fact, path, true);
        } else if (fact.exists && path_is_beneath(m->root, inside) &&
                   !path_is_beneath(m->point, fact.path)) {
            r = add_alias(s, &fact, m->point, false);
        }
        if (r != ABX_OK)
            return r;
    }
    return ABX_OK;
}

/* What is mounted below the path is restricted with it, and may be mounted elsewhere, too. */
static int32_t aliases_below(struct scan *s, const struct mount_table *t, struct path_fact fact)
{
    const char *top = fact.path;
    int32_t r = ABX_OK;

    for (size_t i = 0; i < t->count && r == ABX_OK; i++) {
        const struct mount_line *m = &t->lines[i];
        struct stat st;

        if (!m->shared || str_eq(m->point, top) || !path_is_beneath(m->point, top) ||
            lstat(m->point, &st) < 0)
            continue;
        fact.path = m->point;
        fact.ino = st.st_ino;
        r = aliases_of(s, t, fact);
    }
    return r;
}

int32_t scan_aliases(struct scan *s)
{
    const struct mount_table *t = s->mounts;
    const size_t facts = s->count;

    for (size_t i = 0; t && t->any_shared && i < facts; i++) {
        const struct path_fact *f = &s->paths[i];
        /* Each mount of the kernel's own has its rule already, and /sys must not get one. */
        if (f->rule->access == ACCESS_RW || (f->rule->flags & (RULE_SOCKET | RULE_KERNEL)) ||
            (!f->exists && (!f->ancestor || (f->rule->flags & RULE_IF_PRESENT))))
            continue;
        const struct path_fact fact = *f; /* s->paths may move */
        int32_t r = aliases_of(s, t, fact);
        if (r == ABX_OK)
            r = aliases_below(s, t, fact);
        if (r != ABX_OK)
            return r;
    }
    return ABX_OK;
}

bool scan_has_spellings(const char *dir)
{
    _arena_ struct arena arena = { 0 };
    char link[32], real[PATH_MAX] = "";
    struct stat one, two;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    char *other = arena_strdup(&arena, dir);
    for (char *c = other ? strrchr(other, '/') : NULL; c && *c; c++)
        if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z'))
            *c ^= 'a' ^ 'A';
    if (!other || str_eq(other, dir))
        return false;
    _fd_ int fd = open(other, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &two) < 0)
        return false;
    /* FAT and casefold: the kernel itself knows that these are one name, and tells the first. */
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t len = readlink(link, real, sizeof real - 1);
    /* Only now: some call a directory as it was last looked up. */
    return len > 0 && !str_eq(real, dir) && lstat(dir, &one) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}
