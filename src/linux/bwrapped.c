/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view that bubblewrap has made, held against the plan. bubblewrap goes by names, follows links,
 * and may be of a version that we never saw; the tree may be written by others while it works. So
 * each operation of the plan is looked up without following a link, and must be a mount of its own
 * that leads to what was planned (device and inode; a placeholder, which has none yet, to something
 * that holds nothing), as writable as planned; and no mount at all is writable but those that are
 * to be. Any surprise ends the run before it starts.
 */
#include <linux/magic.h>
#include <linux/stat.h>

#include "linux/launch.h"

#define PATH_BYTES 8192 /* a mount point, as it is unescaped */

struct entry {
    int fd; /* O_PATH */
    struct file_id id;
    long type, flags;
};

static long look(int parent, const char *name, struct entry *ret)
{
    struct statfs_kernel fs;
    long r = file_identify_at(parent, name, &ret->id);

    if (r < 0)
        return r;
    long fd = SYS4(__NR_openat, parent, name, SYS_O_PATH | SYS_O_NOFOLLOW | SYS_O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    ret->fd = (int)fd;
    struct file_id again = { 0 };
    r = file_identify((int)fd, &again);
    if (r >= 0 && (again.mount != ret->id.mount || again.ino != ret->id.ino))
        r = -ESTALE;
    if (r >= 0)
        r = SYS2(__NR_fstatfs, fd, &fs);
    if (r < 0)
        return r;
    ret->type = fs.type;
    ret->flags = fs.flags;
    return 0;
}

static bool is_planned(const struct mount_op *op, const struct entry *e)
{
    return !op->ino || (e->id.dev == op->dev && e->id.ino == op->ino);
}

/* Also where its bits are not kept (FAT). What may not be listed must at least look like it. */
static bool is_empty_directory(const struct entry *e)
{
    const long dots = 2L * 24; /* "." and "..", as getdents64 tells them */
    char entries[512];
    long fd = SYS4(__NR_openat, e->fd, ".", SYS_O_DIRECTORY | SYS_O_CLOEXEC, 0);

    if (fd < 0)
        return hold_is_shaped(e->id.mode, e->id.size);
    long n = SYS3(__NR_getdents64, fd, entries, sizeof entries);
    file_close((int)fd);
    return n >= 0 && n <= dots;
}

/*
 * A placeholder, and not what bubblewrap may have found behind a link, past all masks: it is on the
 * directory's own kind of file system (on others sizes may say nothing), and there is nothing in
 * it. A real entry that came meanwhile is for the next plan.
 */
static bool holds_nothing(int parent, const struct entry *e)
{
    const uint32_t type = e->id.mode & S_IFMT;
    struct statfs_kernel fs;

    if (SYS2(__NR_fstatfs, parent, &fs) < 0 || fs.type != e->type)
        return false;
    if (type == S_IFREG)
        return e->id.size <= HOLD_FILE_MAX;
    return type == S_IFDIR ? is_empty_directory(e) : hold_is_shaped(e->id.mode, e->id.size);
}

/* A wrapper: nobody may read it, so its looks must do. */
static bool is_wrapper(const struct launch *l, const struct entry *e)
{
    struct file_id id;

    return e->id.mode == (S_IFREG | WRAP_MODE) && e->type == TMPFS_MAGIC &&
           file_identify(l->wrapper_fd, &id) >= 0 && e->id.size == id.size;
}

/* Whether what lies there is what the operation says. */
static bool fits(const struct launch *l, const struct mount_op *op, const struct entry *e)
{
    const bool closed = e->flags & SYS_ST_RDONLY;
    const uint32_t type = e->id.mode & S_IFMT;

    if (!e->id.mount_root)
        return false;
    switch (op->kind) {
    case MOUNT_BIND_RW:
    case MOUNT_PIN:
        return is_planned(op, e);
    case MOUNT_BIND_RO:
    case MOUNT_COPY:
        return is_planned(op, e) && closed;
    case MOUNT_MASK_DIR:
        return type == S_IFDIR && (e->id.mode & 07777) == 0 && e->type == TMPFS_MAGIC && closed;
    case MOUNT_MASK_FILE: /* a device that cannot be opened */
        return type == S_IFCHR && closed && (e->flags & SYS_ST_NODEV);
    case MOUNT_TMPFS:
        return e->type == TMPFS_MAGIC && closed == ((op->flags & MOUNT_SEAL) != 0);
    case MOUNT_PROC:
        return e->type == PROC_SUPER_MAGIC && closed == !(op->flags & MOUNT_WRITABLE);
    case MOUNT_DEV:
        return e->type == TMPFS_MAGIC && closed;
    case MOUNT_WRAP:
        return closed && is_wrapper(l, e);
    default:
        return false;
    }
}

static bool is_checked(const struct mount_op *op)
{
    return op->kind != MOUNT_DIR && op->kind != MOUNT_FILE && op->kind != MOUNT_LINK &&
           !(op->flags & MOUNT_LINKED);
}

static bool is_in_place(const struct launch *l, struct seen *seen, const struct mount_op *op,
                        int parent, const struct entry *e)
{
    const bool readonly = e->flags & SYS_ST_RDONLY;

    /* What was not there to be bound: its mount point in a cover, or read-only like all else. */
    if (!fits(l, op, e))
        return (op->flags & MOUNT_OPTIONAL) && op->kind == MOUNT_BIND_RW && readonly;
    return !seen_before(seen, e->id.mount) &&
           (!(op->flags & MOUNT_HELD) || holds_nothing(parent, e));
}

static long check_op(const struct launch *l, struct seen *seen, const struct mount_op *op)
{
    const bool optional = op->flags & MOUNT_OPTIONAL;
    struct entry e = { .fd = -1 };
    const char *name;

    long parent = file_open_parent(op->path, &name);
    if (parent < 0)
        return optional && (parent == -ENOENT || parent == -ENOTDIR) ? 0 : parent;
    long r = look((int)parent, name, &e);
    if (r >= 0)
        r = is_in_place(l, seen, op, (int)parent, &e) ? 0 : -ESTALE;
    else if (r == -ENOENT && (optional || mount_is_unmakeable(&l->plan, op, (int)parent)))
        r = 0;
    else if (r == -ENOENT || r == -ELOOP)
        r = -ESTALE;
    file_close(e.fd);
    file_close((int)parent);
    return r;
}

/* ---- all mounts there are ---- */

static bool lies_below(const char *path, const char *dir)
{
    size_t len = text_len(dir);

    return text_has_prefix(path, dir) && (path[len] == '\0' || path[len] == '/');
}

/* Whether the deepest operation at or above path lets it be written. */
static bool may_be_writable(const struct plan *p, const char *path)
{
    const struct mount_op *best = NULL;
    size_t longest = 0;

    for (uint32_t i = 0; i < p->mount_count; i++) {
        const struct mount_op *op = &p->mounts[i];
        size_t len = text_len(op->path);

        if (is_checked(op) && len >= longest && lies_below(path, op->path)) {
            best = op;
            longest = len;
        }
    }
    if (!best)
        return false;
    if (best->kind == MOUNT_TMPFS)
        return !(best->flags & MOUNT_SEAL);
    if (best->kind == MOUNT_PROC)
        return best->flags & MOUNT_WRITABLE;
    return best->kind == MOUNT_BIND_RW || best->kind == MOUNT_PIN || best->kind == MOUNT_DEV;
}

/* A line of mountinfo, as far as it was read. */
struct line {
    uint32_t field;       /* from 0, parted by spaces */
    uint64_t mount;       /* field 0 */
    uint32_t octal, left; /* of an escaped byte: its value, its digits that are missing */
    size_t len, options;  /* bytes of the fields 4 and 5 */
    char first[2];        /* of the options: "ro" or "rw" */
    char path[PATH_BYTES];
};

static long put_path(struct line *at, char c)
{
    if (at->len + 1 >= sizeof at->path)
        return -ENAMETOOLONG;
    if (at->left) {
        at->octal = at->octal * 8 + (uint32_t)(c - '0');
        if (--at->left)
            return 0;
        c = (char)at->octal;
    } else if (c == '\\') {
        at->octal = 0;
        at->left = 3;
        return 0;
    }
    at->path[at->len++] = c;
    at->path[at->len] = '\0';
    return 0;
}

/* Another mount lies over it, or over a directory above it: nobody gets there. */
static bool is_covered(const struct line *at)
{
    struct file_id id;
    long fd = file_open_path(at->path);

    if (fd < 0)
        return fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES || fd == -ELOOP;
    long r = file_identify((int)fd, &id);
    file_close((int)fd);
    return r >= 0 && id.mount && id.mount != at->mount;
}

static long end_line(const struct plan *p, struct line *at)
{
    const bool closed = at->options >= 2 && at->first[0] == 'r' && at->first[1] == 'o';
    const bool right = at->len > 0 && (closed || may_be_writable(p, at->path) || is_covered(at));

    at->field = at->left = 0;
    at->mount = 0;
    at->len = at->options = 0;
    return right ? 0 : -EPROTO;
}

static long read_byte(const struct plan *p, struct line *at, char c)
{
    if (c == '\n')
        return end_line(p, at);
    if (c == ' ')
        at->field++;
    else if (at->field == 0)
        at->mount = at->mount * 10 + (uint64_t)(c - '0');
    else if (at->field == 4)
        return put_path(at, c);
    else if (at->field == 5 && at->options++ < ARRAY_LEN(at->first))
        at->first[at->options - 1] = c;
    return 0;
}

static long check_mounts(struct launch *l)
{
    static char bytes[16384];
    static struct line at;
    long n, r = 0;

    l->object = "/proc/self/mountinfo";
    long fd = SYS4(__NR_openat, SYS_AT_FDCWD, l->object, SYS_O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    while (r >= 0 && (n = SYS3(__NR_read, fd, bytes, sizeof bytes)) != 0) {
        r = n;
        for (long i = 0; i < n && r >= 0; i++)
            r = read_byte(&l->plan, &at, bytes[i]);
    }
    file_close((int)fd);
    if (r == -EPROTO)
        l->object = at.path;
    return r;
}

long bwrapped_view(struct launch *l)
{
    const struct plan *p = &l->plan;
    struct seen seen;
    long r = seen_init(l, &seen);

    for (uint32_t i = 0; i < p->mount_count && r >= 0; i++) {
        l->object = p->mounts[i].path;
        if (is_checked(&p->mounts[i]))
            r = check_op(l, &seen, &p->mounts[i]);
    }
    if (r >= 0)
        r = check_mounts(l);
    if (r < 0)
        return r;
    l->object = p->cwd;
    long fd = file_open_path(p->cwd);
    l->cwd_fd = (int)fd;
    return fd < 0 ? fd : 0;
}
