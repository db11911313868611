/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Will the view of files refuse a call? Asked of the mount that a name leads to: is it read-only,
 * or closed? Which rule that is, is for the host to say.
 *
 * Nearly every call passes, so what passes must be found out by one system call: each costs the
 * caller a microsecond or two. A name that is to be made or removed follows no symlink, so its
 * directory answers, unless a mount of the plan stands on that very name; of all their last names
 * there is a set of bits. It may say yes for no reason, never no. What a file is opened for must be
 * found by its whole name, for there may be a symlink.
 */
#include <linux/stat.h>

#include "launcher/watch.h"

#define O_ACCMODE_BITS 03u
#define O_TMPFILE_BIT  020000000u
#define NAME_BITS      4096u

SMALL_STATE static struct {
    uint64_t names[NAME_BITS / 64]; /* hashes of the mounts' last names */
    bool learn;
} judge;

static uint32_t hash_name(const char *name)
{
    uint32_t hash = UINT32_C(0x811c9dc5);

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * UINT32_C(0x01000193);
    return (hash ^ hash >> 16) % NAME_BITS;
}

void judge_begin(const struct plan *p)
{
    judge.learn = p->watch == WATCH_LEARN;
    known_begin(p->watch >= WATCH_FULL);
    for (uint32_t i = 0; i < p->mount_count; i++) {
        const char *name = p->mounts[i].path;

        for (const char *s = name; *s; s++)
            if (*s == '/')
                name = s + 1;
        uint32_t bit = hash_name(name);
        judge.names[bit / 64] |= UINT64_C(1) << bit % 64;
    }
}

/* False: no mount of the plan stands on the name, whatever directory it is in. */
static bool may_be_mount(const struct look *l)
{
    const char *name = l->text + l->name_at;
    const bool dots = name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
    uint32_t bit = hash_name(name);

    return dots || !name[0] || judge.names[bit / 64] >> bit % 64 & 1;
}

enum found { FOUND_WRITABLE, FOUND_READ_ONLY, FOUND_NOTHING, FOUND_CLOSED };

/* The mount that a name leads to, symlinks followed. */
static enum found find_mount(const char *text)
{
    struct statfs_kernel fs;
    long r = TRY2(__NR_statfs, text, &fs);

    if (r == 0)
        return fs.flags & SYS_ST_RDONLY ? FOUND_READ_ONLY : FOUND_WRITABLE;
    return r == -EACCES ? FOUND_CLOSED : FOUND_NOTHING;
}

static long try_stat(const char *text, bool follow, struct statx *ret)
{
    const unsigned mask = STATX_TYPE | STATX_MODE | STATX_SIZE | STATX_NLINK;

    return TRY5(__NR_statx, SYS_AT_FDCWD, text, follow ? 0 : SYS_AT_NOFOLLOW, mask, ret);
}

static bool stat_name(const char *text, bool follow, struct statx *ret)
{
    return try_stat(text, follow, ret) == 0;
}

static bool is_mount_root(const struct statx *st)
{
    return st->stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Devices and pipes are written whatever the mount says. */
static bool is_stream(const struct statx *st)
{
    const unsigned type = st->stx_mode & S_IFMT;

    return type == S_IFCHR || type == S_IFBLK || type == S_IFIFO;
}

bool judge_is_writable(const char *text)
{
    return find_mount(text) == FOUND_WRITABLE;
}

static bool parent_refuses(const struct look *l)
{
    if (known_named(l))
        return false;
    enum found parent = find_mount(look_parent(l));

    if (parent == FOUND_WRITABLE)
        known_keep_named(l);
    return parent == FOUND_READ_ONLY || parent == FOUND_CLOSED;
}

/* Learning: a mask has no permission bits, and hides what is below. */
static bool read_is_refused(const struct look *l)
{
    struct statx st;
    long r = TRY5(__NR_statx, SYS_AT_FDCWD, l->text, 0, STATX_TYPE | STATX_MODE, &st);

    return r == -EACCES || (r == 0 && (st.stx_mode & 0777) == 0);
}

/* A name on a read-only mount that is there already. */
static bool existing_is_refused(const struct look *l, bool changes)
{
    const uint32_t f = l->open_flags;
    struct statx st;

    if (!stat_name(l->text, true, &st) || is_stream(&st))
        return false;
    if ((f & SYS_O_CREAT) && (f & SYS_O_EXCL)) /* it exists, and that is the answer */
        return hold_is_shaped(st.stx_mode, st.stx_size);
    return changes && !((st.stx_mode & S_IFMT) == S_IFDIR && !(f & O_TMPFILE_BIT));
}

bool judge_open(struct look *l)
{
    const uint32_t f = l->open_flags;
    const bool changes = f & (O_ACCMODE_BITS | SYS_O_TRUNC | O_TMPFILE_BIT);
    const bool makes = (f & SYS_O_CREAT) && (f & SYS_O_EXCL);
    struct statx st;

    if (!changes && !(f & SYS_O_CREAT)) {
        l->flags |= WATCH_READ;
        return judge.learn && read_is_refused(l);
    }
    if (text_has_prefix(l->text, "/dev/") && !text_has_prefix(l->text, "/dev/shm/"))
        return false;
    if (makes && !may_be_mount(l) && !parent_refuses(l))
        return false;
    switch (find_mount(l->text)) {
    case FOUND_WRITABLE:
        return false;
    case FOUND_READ_ONLY:
        return existing_is_refused(l, changes);
    case FOUND_CLOSED:
        return true;
    default:
        /* A symlink that leads nowhere: the name to be made is another one. */
        return (f & SYS_O_CREAT) && parent_refuses(l) && !stat_name(l->text, false, &st);
    }
}

bool judge_make(const struct look *l)
{
    struct statx st;

    if (!may_be_mount(l) && !parent_refuses(l))
        return false;
    if (stat_name(l->text, false, &st)) /* it exists; so does a placeholder */
        return hold_is_shaped(st.stx_mode, st.stx_size) && is_mount_root(&st);
    return parent_refuses(l);
}

/* Nobody removes a directory that has others in it. git tries, up to its own, after each stash. */
static bool is_kept_by_content(const struct look *l, const struct statx *st)
{
    return l->call->kind == WATCH_REMOVE && (st->stx_mode & S_IFMT) == S_IFDIR && st->stx_nlink > 2;
}

bool judge_remove(struct look *l, bool replace)
{
    struct statx st;

    if (!may_be_mount(l)) {
        if (known_held(l))
            return false;
        if (!parent_refuses(l)) {
            known_keep_held(l);
            return false;
        }
    }
    long r = try_stat(l->text, false, &st);
    bool there = r == 0 || r == -EACCES; /* hidden: there for all that the caller knows */
    if (r == 0 && is_kept_by_content(l, &st))
        return false;
    if (r == 0 && is_mount_root(&st)) {
        l->flags |= WATCH_ROOT;
        return true;
    }
    return (there || replace) && parent_refuses(l);
}

bool judge_change(const struct look *l)
{
    struct statx st;

    switch (find_mount(l->follow ? l->text : look_parent(l))) {
    case FOUND_READ_ONLY:
        return stat_name(l->text, l->follow, &st);
    case FOUND_CLOSED:
        return true;
    default:
        return false;
    }
}
