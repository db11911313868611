/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which mounts of the kernel's own are hidden. Trusts what the kernel says is mounted where, but
 * looks whether the path leads there: other mounts may lie over it, and then it is they who are
 * seen. A place that we may not enter hides the directory that stops us: its owner may open it.
 *
 * /sys counts as a usual place as a whole: it is hidden by default, and whoever grants a part of it
 * means sysfs. /run does not: what is granted in it may hold a chroot as well as anything else.
 */
#include "probe/kernelfs.h"

#include <linux/magic.h>

#include "base/path.h"
#include "base/str.h"

#define KERNELFS_SOURCE "kernel's"

static const struct {
    const char *type;
    uint64_t magic; /* 0: that of a tmpfs, or of a ramfs where the kernel has no tmpfs */
} table[] = {
#define KERNELFS(type, magic) { type, magic },
#include "probe/kernelfs.def"
#undef KERNELFS
};

bool kernelfs_has_magic(uint64_t magic)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].magic && table[i].magic == magic)
            return true;
    return false;
}

bool kernelfs_has_twin(uint64_t magic)
{
    return magic == TMPFS_MAGIC || magic == RAMFS_MAGIC;
}

bool kernelfs_is_home(const struct facts *facts, const char *point)
{
    static const enum place homes[] = { PLACE_DEV, PLACE_PROC, PLACE_SYS };
    const char *shm = facts->places[PLACE_SHM];

    /* A rule can let in what is in there. */
    if (shm && path_is_beneath(point, shm) && !str_eq(point, shm))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
        const char *place = facts->places[homes[i]];
        if (place && path_is_beneath(point, place))
            return true;
    }
    return false;
}

bool kernelfs_is_stray(const struct facts *facts, const char *type, const char *point)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_eq(table[i].type, type))
            return !kernelfs_is_home(facts, point);
    return false;
}

bool kernelfs_holds(const struct scan *s, const char *path)
{
    for (size_t i = 0; i < s->kernelfs_count; i++)
        if (path_is_beneath(path, s->kernelfs[i]))
            return true;
    return false;
}

static int32_t refuse_cwd(struct scan *s, const char *type, const char *point)
{
    int32_t r = err_new(s->err, ABX_E_INVALID,
                        "working directory '%s': the kernel's '%s' at '%s' is hidden in every run",
                        s->facts->cwd, type, point);

    err_subject(s->err, s->facts->cwd);
    err_hint(s->err, "start elsewhere with -C DIR, or unmount it");
    return r;
}

static int32_t hide(struct scan *s, const char *type, const struct resolved *where)
{
    const char **paths = arena_grow(s->arena, s->kernelfs, s->kernelfs_count, sizeof *paths, 16,
                                    &s->kernelfs_room);
    const char *text = arena_strdup(s->arena, type);
    const struct policy_rule *rule = text ? scan_derive(s, ACCESS_EXCLUDE, RULE_FINAL | RULE_KERNEL,
                                                        KERNELFS_SOURCE, text)
                                          : NULL;

    if (!paths || !rule)
        return err_nomem(s->err);
    s->kernelfs = paths;
    s->kernelfs[s->kernelfs_count++] = where->path;
    return scan_add(s, rule, where);
}

int32_t kernelfs_see(struct scan *s, const char *type, const char *point, uint64_t device)
{
    struct resolved where;

    if (!kernelfs_is_stray(s->facts, type, point) || kernelfs_holds(s, point))
        return ABX_OK;
    const char *path = arena_strdup(s->arena, point);
    if (!path)
        return err_nomem(s->err);
    int32_t r = scan_resolve(s, path, &where);
    if (r != ABX_OK)
        return r;
    if (!where.denied && (!where.exists || where.dev != device || !str_eq(where.path, path)))
        return ABX_OK;
    if (path_is_beneath(s->facts->cwd, where.path))
        return refuse_cwd(s, type, path);
    return hide(s, type, &where);
}
