/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mount view, in place: no new root, so nothing has to be unmounted.
 *
 *   1. copies of what stays writable, and of what a later cover would hide, are taken (detached);
 *   2. one recursive mount_setattr turns everything read-only, nosuid, nodev and private;
 *   3. the plan's operations are applied from top to bottom, each on the entry as it is seen then;
 *   4. tmpfs covers are sealed;
 *   5. each operation is looked up again by its name and must lead to the mount that was put there.
 *
 * The tree may be written by others at this moment (the host, another sandbox in the same
 * directory), so nothing is believed for longer than a descriptor: an entry must be the (device,
 * inode) that was planned when it is opened, a symlink anywhere in a path is an error, and (5)
 * catches an entry that was renamed between being opened and being covered, and a mount that went
 * elsewhere. Any surprise ends the run before it starts.
 */
#include <linux/mount.h>
#include <linux/resource.h>
#include <linux/stat.h>

#include "linux/launch.h"

#define TREE_NONE     (-1)
#define TREE_ATTACHED (-2) /* and closed: there may be more of them than descriptors */
#define TREE_COPIED   (-3) /* from the sibling's, by names */

#define MS_BIND_FLAG 4096
#define VIEW_ATTRS   (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

struct view {
    struct launch *l;
    const char *parent; /* of the path looked at last: its neighbours come next */
    size_t parent_len;
    int parent_fd;
    struct file_id plain[MASK_KINDS]; /* masks */
    int *trees; /* per operation: the detached copy, later the mount; or one of TREE_* */
    int mask_fd;
    const char *sibling; /* a mask or placeholder in parent, by its name there; NULL: none … */
    uint32_t sibling_kind;
    bool sibling_tells;
    uint64_t sibling_ino; /* of a placeholder */
    bool entered;         /* … and we are in parent */
    int cwd;              /* where we were before */
    bool holds_made;      /* the host has made the placeholders */
    struct seen seen;
    struct file_id cover; /* of the placeholder that was looked up last and is no copy */
};

static bool op_is_bind(const struct mount_op *op)
{
    return op->kind == MOUNT_BIND_RW || op->kind == MOUNT_BIND_RO || op->kind == MOUNT_PIN ||
           op->kind == MOUNT_COPY || op->kind == MOUNT_WRAP;
}

static bool op_is_mask(const struct mount_op *op)
{
    return op->kind == MOUNT_MASK_DIR || op->kind == MOUNT_MASK_FILE;
}

/* The mask is one of those that tell who looked. */
static bool mask_tells(const struct view *v, const struct mount_op *op)
{
    return (op->flags & MOUNT_TELLS) && v->l->tellers[mask_kind(op)].device >= 0;
}

/* fd, if it is what was planned. An op without an inode (a placeholder, our own tmpfs) takes
 * anything. */
static long check_entry(const struct mount_op *op, long fd)
{
    struct file_id id;

    if (fd < 0 || !op->ino)
        return fd;
    long r = file_identify((int)fd, &id);
    if (r >= 0 && (op->dev != id.dev || op->ino != id.ino))
        r = -ESTALE;
    if (r < 0) {
        file_close((int)fd);
        return r;
    }
    return fd;
}

/* The directory that path lies in, as it is seen now, and path's own name. Not to be closed. */
static long view_parent(struct view *v, const char *path, const char **ret_name)
{
    size_t len = text_len(path);

    while (len > 1 && path[len - 1] != '/')
        len--;
    if (v->parent_fd >= 0 && v->parent_len == len && memcmp(v->parent, path, len) == 0) {
        *ret_name = path + len;
        return v->parent_fd;
    }
    long fd = file_open_parent(path, ret_name);
    if (fd < 0)
        return fd;
    v->parent = path;
    v->parent_len = len;
    v->parent_fd = (int)fd;
    v->sibling = NULL;
    v->entered = false;
    return fd;
}

/* Something was mounted on path: a directory at or below it that was opened before lies underneath.
 */
static void view_changed(struct view *v, const char *path)
{
    if (v->parent_fd >= 0 && v->parent_len >= text_len(path) && text_has_prefix(v->parent, path)) {
        v->parent_fd = -1;
        v->sibling = NULL;
    }
}

static long view_open(struct view *v, const char *path)
{
    const char *name;
    long parent = view_parent(v, path, &name);

    return parent < 0 ? parent : file_open_at((int)parent, *name ? name : ".");
}

static long open_entry(struct view *v, const struct mount_op *op)
{
    return check_entry(op, view_open(v, op->kind == MOUNT_COPY ? op->text : op->path));
}

static bool op_may_miss(const struct mount_op *op, long r)
{
    return (op->flags & MOUNT_OPTIONAL) && (r == -ENOENT || r == -ENOTDIR || r == -EACCES);
}

/* The launcher's own working directory: reachable even where its parents are not. */
static long open_cwd(const struct view *v, const struct mount_op *op)
{
    return check_entry(
        op, SYS4(__NR_openat, v->cwd, ".", SYS_O_PATH | SYS_O_DIRECTORY | SYS_O_CLOEXEC, 0));
}

/* (1) */
static long take_copies(struct view *v)
{
    const struct plan *p = &v->l->plan;

    for (uint32_t i = 0; i < p->mount_count; i++) {
        const struct mount_op *op = &p->mounts[i];

        v->trees[i] = TREE_NONE;
        v->l->object = op->path;
        if (!op_is_bind(op) || (op->kind != MOUNT_BIND_RW && !(op->flags & MOUNT_EARLY)))
            continue;

        long fd = op->flags & MOUNT_CWD ? open_cwd(v, op) : open_entry(v, op);
        if (op_may_miss(op, fd))
            continue;
        if (fd < 0)
            return fd;
        long tree = mountapi_clone((int)fd);
        file_close((int)fd);
        if (tree < 0)
            return tree;
        v->trees[i] = (int)tree;

        uint64_t set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
        if (op->kind == MOUNT_BIND_RO || op->kind == MOUNT_COPY)
            set |= MOUNT_ATTR_RDONLY;
        long r = mountapi_set((int)tree, set, true);
        if (r < 0)
            return r;
    }
    return 0;
}

/*
 * One tmpfs is the source of everything that is ours and read-only in the end: an empty directory
 * "d" and an empty file "f" without any permission for masks, and a directory for each sealed cover
 * and /dev. It has to lie somewhere in the view to be copied from: below the new /dev. Masks are
 * copied from a second, read-only mount of it, or from what is mounted on them (masks.c).
 */
static long attach_source(struct view *v)
{
    int source = v->l->source_fd;

    v->l->object = "tmpfs";
    long dev = file_open_path("/dev");
    if (dev < 0)
        return dev;
    long r = mountapi_attach(source, (int)dev);
    long mask = r < 0 ? r : mountapi_clone(source);
    if (mask < 0)
        return mask;
    v->mask_fd = (int)mask;
    r = mountapi_set((int)mask, VIEW_ATTRS | MOUNT_ATTR_NOEXEC, false);
    if (r >= 0)
        r = file_identify_at((int)mask, MASK_DIR_NAME, &v->plain[0]);
    if (r >= 0)
        r = file_identify_at((int)mask, MASK_FILE_NAME, &v->plain[1]);
    if (r >= 0)
        r = masks_attach(v->l);
    return r < 0 ? r : mountapi_attach((int)mask, (int)dev);
}

/* The tree to put on `target`, made now unless it was taken in (1). */
static long tree_for(struct view *v, uint32_t i, int target)
{
    const struct mount_op *op = &v->l->plan.mounts[i];

    if (v->trees[i] >= 0)
        return v->trees[i];
    if (op->kind == MOUNT_WRAP)
        return wrap_make(v->l, op, i);

    long tree = mountapi_clone(target);
    if (tree < 0 || op->kind == MOUNT_PIN)
        return tree; /* nosuid and nodev since (2), as what it is copied from */
    long r = mountapi_set((int)tree, MOUNT_ATTR_RDONLY, true);
    return r < 0 ? r : tree;
}

/* The host makes placeholders while everything that comes before them is mounted. */
static long await_holds(struct view *v)
{
    struct deliver_msg msg = { 0 };

    if (v->holds_made)
        return 0;
    long n = SYS3(__NR_read, LAUNCH_FD_STATUS, &msg, sizeof msg);
    if (n < 0)
        return n;
    if (n != (long)sizeof msg || msg.kind != DELIVER_HOLDS_MADE)
        return -ECANCELED; /* the host gave up, and knows why */
    v->holds_made = true;
    return 0;
}

/* Into the directory of the masks, where their names alone lead to them. */
static bool enter_parent(struct view *v)
{
    if (v->cwd == SYS_AT_FDCWD) {
        long fd = TRY4(__NR_openat, SYS_AT_FDCWD, ".", SYS_O_PATH | SYS_O_CLOEXEC, 0);
        if (fd < 0)
            return false;
        v->cwd = (int)fd;
    }
    v->entered = v->entered || TRY1(__NR_fchdir, v->parent_fd) == 0;
    return v->entered;
}

/* 0: none that is known. */
static uint64_t inode_of(int parent, const char *name)
{
    struct statx st;

    return TRY5(__NR_statx, parent, name, SYS_AT_NOFOLLOW, STATX_INO, &st) == 0 ? st.stx_ino : 0;
}

/* A mask of the same kind, or a placeholder that is a hard link to the same socket. */
static bool is_like_sibling(const struct view *v, const struct mount_op *op, const char *name)
{
    if (!v->sibling || v->sibling_kind != op->kind)
        return false;
    if (op_is_mask(op))
        return v->sibling_tells == mask_tells(v, op);
    return v->sibling_ino && inode_of(v->parent_fd, name) == v->sibling_ino;
}

/*
 * What covers a name is a copy of what covers the one before it, if that is the same: one old call
 * in place of up to four new ones. Both names are followed anew, also if they are links, so either
 * may lead anywhere by now: then (5) ends the run. Whatever else fails here is tried again, and
 * told, the long way.
 */
static bool cover_from_sibling(struct view *v, const struct mount_op *op, const char *name)
{
    return is_like_sibling(v, op, name) && enter_parent(v) &&
           TRY5(__NR_mount, v->sibling, name, 0, MS_BIND_FLAG, 0) == 0;
}

static void remember_sibling(struct view *v, const struct mount_op *op, const char *name)
{
    if (v->parent_fd < 0)
        return;
    v->sibling = name;
    v->sibling_kind = op->kind;
    v->sibling_tells = mask_tells(v, op);
    v->sibling_ino = op_is_mask(op) ? 0 : inode_of(v->parent_fd, name);
}

static long clone_mask(const struct view *v, const struct mount_op *op)
{
    return mountapi_clone_at(mask_tells(v, op) ? v->l->source_fd : v->mask_fd,
                             op->kind == MOUNT_MASK_DIR ? MASK_DIR_NAME : MASK_FILE_NAME);
}

/*
 * Masks and placeholders go by name, without opening what is there: whatever it is, it is to be
 * covered, and (5) makes sure that the name leads to the cover.
 */
static long apply_on_name(struct view *v, uint32_t i)
{
    const struct mount_op *op = &v->l->plan.mounts[i];
    const char *name;
    long parent = op->flags & MOUNT_HELD ? await_holds(v) : 0;

    if (parent >= 0)
        parent = view_parent(v, op->path, &name);
    if (op_may_miss(op, parent))
        return 0;
    if (parent < 0)
        return parent;
    if (cover_from_sibling(v, op, name)) {
        v->trees[i] = TREE_COPIED;
        return 0;
    }
    bool mask = op_is_mask(op);
    long tree = mask ? clone_mask(v, op) : mountapi_clone_at((int)parent, name);
    long r = tree < 0 || mask ? tree : mountapi_set((int)tree, MOUNT_ATTR_RDONLY, false);
    if (r >= 0) {
        r = mountapi_attach_at((int)tree, (int)parent, name);
        v->trees[i] = TREE_ATTACHED;
    }
    view_changed(v, op->path);
    if (r >= 0)
        remember_sibling(v, op, name);
    if (tree >= 0)
        file_close((int)tree);
    if (r < 0 && (op_may_miss(op, r) ||
                  (r == -ENOENT && mount_is_unmakeable(&v->l->plan, op, (int)parent)))) {
        v->trees[i] = TREE_NONE;
        return 0;
    }
    return r;
}

static long apply_on_entry(struct view *v, uint32_t i)
{
    const struct mount_op *op = &v->l->plan.mounts[i];
    bool early = op->flags & MOUNT_EARLY;

    if (op_is_mask(op) || (op->flags & MOUNT_HELD))
        return apply_on_name(v, i);

    if ((op->kind == MOUNT_BIND_RW || early) && v->trees[i] < 0)
        return 0; /* optional, and not there */

    long target = early ? view_open(v, op->path) : open_entry(v, op);
    if (target == -EACCES && (op->flags & MOUNT_CWD))
        target = open_cwd(v, op);
    if (op_may_miss(op, target))
        return 0;
    if (target < 0)
        return target;

    long tree = tree_for(v, i, (int)target); /* target is closed with all others at the end */
    if (tree < 0)
        return tree;
    v->trees[i] = (int)tree;
    view_changed(v, op->path);
    return mountapi_attach((int)tree, (int)target);
}

/* A new tmpfs for what the command may write; a directory of the common one for what is sealed. */
static long make_cover(struct view *v, uint32_t i)
{
    const struct mount_op *op = &v->l->plan.mounts[i];
    char text[32] = "", mode[8] = "";

    if (op->flags & MOUNT_SEAL) {
        text_append_u64(text, sizeof text, i);
        long r = SYS3(__NR_mkdirat, v->l->source_fd, text, op->mode & 07777);
        long tree = r < 0 ? r : mountapi_clone_at(v->l->source_fd, text);
        r = tree < 0 ? tree : mountapi_set((int)tree, MOUNT_ATTR_NODEV, false);
        return r < 0 ? r : tree;
    }
    for (int shift = 9; shift >= 0; shift -= 3) {
        char digit[2] = { (char)('0' + (op->mode >> shift & 7)), '\0' };
        text_append(mode, sizeof mode, digit);
    }
    return mountapi_tmpfs(op->size, mode, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

static long apply_cover(struct view *v, uint32_t i)
{
    long tree = make_cover(v, i);
    if (tree < 0)
        return tree;
    v->trees[i] = (int)tree;
    const char *path = v->l->plan.mounts[i].path;
    long target = file_open_path(path);
    view_changed(v, path);
    return target < 0 ? target : mountapi_attach((int)tree, (int)target);
}

static long apply_entry(const struct mount_op *op)
{
    const char *name;
    long parent = file_open_parent(op->path, &name);

    if (parent < 0)
        return parent;
    long r = -EINVAL;
    if (op->kind == MOUNT_DIR)
        r = SYS3(__NR_mkdirat, parent, name, op->mode);
    else if (op->kind == MOUNT_FILE)
        r = SYS4(__NR_mknodat, parent, name, S_IFREG | op->mode, 0);
    else if (op->kind == MOUNT_LINK)
        r = SYS3(__NR_symlinkat, op->text, parent, name);
    file_close((int)parent);
    return r == -EEXIST && op->kind == MOUNT_DIR ? 0 : r;
}

/* (3) */
static long apply_op(struct view *v, uint32_t i)
{
    const struct mount_op *op = &v->l->plan.mounts[i];

    v->l->object = op->path;
    if (op_is_bind(op) || op_is_mask(op))
        return apply_on_entry(v, i);
    if (op->kind == MOUNT_TMPFS)
        return apply_cover(v, i);
    if (op->kind == MOUNT_PROC || op->kind == MOUNT_DEV)
        view_changed(v, op->path);
    if (op->kind == MOUNT_PROC)
        return proc_mount(v->l, op);
    if (op->kind == MOUNT_DEV)
        return dev_mount(v->l, op);
    return apply_entry(op);
}

/* (4) */
static long seal_covers(struct view *v)
{
    const struct plan *p = &v->l->plan;

    for (uint32_t i = 0; i < p->mount_count; i++) {
        const struct mount_op *op = &p->mounts[i];
        if (op->kind != MOUNT_TMPFS || !(op->flags & MOUNT_SEAL))
            continue;
        v->l->object = op->path;
        long r = mountapi_set(v->trees[i], MOUNT_ATTR_RDONLY, false);
        if (r < 0)
            return r;
    }
    return 0;
}

/*
 * (5) What lies at the name is the mount that was put there. Only needed where somebody else may
 * write meanwhile: a mask, an entry that was planned by its inode, or a placeholder: a mount that
 * nobody but us made, and if it is a copy, of what the sibling's is one.
 */
static long verify_want(const struct view *v, uint32_t i, struct file_id *ret)
{
    const struct mount_op *op = &v->l->plan.mounts[i];

    if (op_is_mask(op)) {
        *ret = mask_tells(v, op) ? v->l->tellers[mask_kind(op)].id : v->plain[mask_kind(op)];
        ret->mount = 0; /* each mask is a mount of its own */
        return 0;
    }
    if (!(op->flags & MOUNT_HELD))
        return file_identify(v->trees[i], ret);
    if (v->trees[i] == TREE_COPIED)
        *ret = v->cover;
    return 0;
}

static long verify_op(struct view *v, uint32_t i)
{
    const struct mount_op *op = &v->l->plan.mounts[i];
    const bool held = op->flags & MOUNT_HELD;
    struct file_id want = { 0 }, got;

    if (v->trees[i] == TREE_NONE || !(op_is_mask(op) || held || (op_is_bind(op) && op->ino)))
        return 0;
    v->l->object = op->path;
    long r = verify_want(v, i, &want);
    const char *name;
    long parent = r < 0 ? r : view_parent(v, op->path, &name);
    if (parent >= 0 && mask_tells(v, op))
        r = file_identify_cached_at((int)parent, name, &got);
    else
        r = parent < 0 ? parent : file_identify_at((int)parent, name, &got);
    if (r == -EACCES && (op->flags & MOUNT_CWD))
        return 0; /* cannot be looked up by name at all, so cannot be swapped by name either */
    if (r < 0)
        return r == -ENOENT || r == -ELOOP ? -ESTALE : r;
    if (!got.mount_root || (want.mount && want.mount != got.mount) ||
        seen_before(&v->seen, got.mount))
        return -ESTALE;
    if (held && v->trees[i] != TREE_COPIED) {
        v->cover = got;
        v->cover.mount = 0; /* a copy is a mount of its own */
        return 0;
    }
    return want.ino == got.ino && want.dev == got.dev ? 0 : -ESTALE;
}

/* The command starts where the view now leads, not in the directory below the mounts. */
static long open_start(struct view *v)
{
    const struct plan *p = &v->l->plan;

    v->l->object = p->cwd;
    long fd = file_open_path(p->cwd);
    for (uint32_t i = 0; fd == -EACCES && i < p->mount_count; i++)
        if ((p->mounts[i].flags & MOUNT_CWD) && v->trees[i] >= 0)
            fd = v->trees[i]; /* a parent cannot be searched */
    if (fd < 0)
        return fd;
    v->l->cwd_fd = (int)fd;
    return 0;
}

/*
 * All at once: there may be thousands. Only the start directory, the caller's input and the devices
 * of masks stay, in places of their own. Not part of mount_view, because the network's helper may
 * still be using descriptors of its own then.
 */
long mount_close(struct launch *l)
{
    l->object = "descriptors";
    if (l->cwd_fd != LAUNCH_FD_CWD) {
        long r = SYS3(__NR_dup3, l->cwd_fd, LAUNCH_FD_CWD, SYS_O_CLOEXEC);
        if (r < 0)
            return r;
        l->cwd_fd = LAUNCH_FD_CWD;
    }
    if (l->input_fd >= 0) {
        long r = SYS3(__NR_dup3, l->input_fd, LAUNCH_FD_INPUT, SYS_O_CLOEXEC);
        if (r < 0)
            return r;
        l->input_fd = LAUNCH_FD_INPUT;
    }
    long r = masks_keep(l);
    return r < 0 ? r : SYS3(__NR_close_range, LAUNCH_FD_CWD + 1, ~0u, 0);
}

/*
 * Two descriptors an operation: a long plan needs more than the usual soft limit, and a table of
 * our own to put them in.
 */
static long allow_descriptors(struct launch *l)
{
    const uint32_t usual = (NETNS_SHARED_FDS - 40) / 2;
    struct rlimit limit;

    if (l->plan.mount_count < usual)
        return 0;
    long r = netns_join(l);
    if (r < 0)
        return r;
    r = SYS4(__NR_prlimit64, 0, RLIMIT_NOFILE, 0, &limit);
    limit.rlim_cur = limit.rlim_max;
    return r < 0 ? r : SYS4(__NR_prlimit64, 0, RLIMIT_NOFILE, &limit, 0);
}

long mount_view(struct launch *l)
{
    struct view v = { .l = l, .mask_fd = -1, .parent_fd = -1, .cwd = SYS_AT_FDCWD };
    const struct plan *p = &l->plan;

    v.trees = launch_alloc(l, p->mount_count + 1, sizeof *v.trees);
    if (!v.trees)
        return -ENOMEM;

    long r = seen_init(l, &v.seen);
    if (r >= 0)
        r = allow_descriptors(l);
    if (r >= 0)
        r = take_copies(&v);
    view_changed(&v, "/");
    if (r >= 0)
        r = masks_open(l);
    if (r >= 0) {
        l->object = "/";
        r = mountapi_close_view(); /* (2) */
    }
    if (r >= 0)
        r = attach_source(&v);
    for (uint32_t i = 0; i < p->mount_count && r >= 0; i++)
        r = apply_op(&v, i);
    if (r >= 0)
        r = seal_covers(&v);
    for (uint32_t i = 0; i < p->mount_count && r >= 0; i++)
        r = verify_op(&v, i);
    if (r >= 0)
        r = open_start(&v);
    return r;
}
