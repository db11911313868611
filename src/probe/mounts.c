/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mounts of this process, found out before anything is looked for in the tree: a walk must not
 * enter what the kernel shows of itself (kernelfs.h), and second mounts (alias.c) are for later.
 *
 * Mostly no file system is mounted twice, and the kernel's own are where they always are. Newer
 * kernels say so without the text of mountinfo, which costs them several times as much, and nearly
 * without names of types and places, which cost them three times as much as numbers. Whatever is
 * not plain by these numbers is looked up in the text.
 *
 * Trusts the kernel's text, but not its length: a line that does not parse is skipped.
 */
#include "probe/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/inside.h"
#include "probe/kernelfs.h"

#define MOUNTS_MAX_FILE   ((size_t)16 << 20)
#define MOUNTS_MAX_LISTED 256u /* mounts that are looked at one by one */

/* A field of mountinfo: up to the next space; \040 and the like are decoded where they stand. The
 * byte at end, which is behind the line, may be written. */
static const char *take_field(char **line, char *end)
{
    char *field = *line, *to = field;
    char *stop = memchr(field, ' ', (size_t)(end - field));

    stop = stop ? stop : end;
    *line = stop < end ? stop + 1 : end;
    for (const char *p = field; p < stop; p++) {
        if (*p == '\\' && stop - p > 3 && p[1] >= '0' && p[1] <= '3') {
            *to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
            p += 3;
        } else {
            *to++ = *p;
        }
    }
    *to = '\0';
    return field;
}

static bool parse_line(char *line, char *end, struct mount_line *ret)
{
    const char *fields[6], *type;

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        fields[i] = take_field(&line, end);
    do /* optional fields, and a '-' behind them */
        type = take_field(&line, end);
    while (line < end && !str_eq(type, "-"));
    *ret = (struct mount_line){ .device = fields[2],
                                .point = fields[4],
                                .type = take_field(&line, end),
                                .point_len = strlen(fields[4]) };
    if (path_is_clean(fields[3]))
        ret->root = fields[3];
    return str_to_u64(fields[0], UINT64_MAX, &ret->id) &&
           str_to_u64(fields[1], UINT64_MAX, &ret->parent_id) && path_is_clean(ret->point);
}

/* The kernel ends every line; what has no end is none. */
size_t mounts_parse(char *text, size_t len, struct mount_line *lines, size_t room)
{
    size_t count = 0;

    for (size_t i = 0; i < len && count < room;) {
        char *line = text + i, *end = memchr(line, '\n', len - i);

        if (!end)
            break;
        i += (size_t)(end - line) + 1;
        count += parse_line(line, end, &lines[count]);
    }
    return count;
}

/*
 * The mount that path lies on, from one to the next as the kernel goes. The deepest may be none of
 * them, nor the last of those in one place: others cover what lies below them, or were moved there.
 */
const struct mount_line *mounts_find(const struct mount_table *t, const char *path)
{
    const struct mount_line *at = NULL, *next = NULL;
    const size_t len = strlen(path);

    do {
        at = next;
        next = NULL;
        for (size_t i = 0; i < t->count; i++) {
            const struct mount_line *m = &t->lines[i];
            /* Asked for every path and mount: most are told apart by one byte. */
            if (m->parent != at || m->point_len > len ||
                (m->point[1] && path[m->point_len] && path[m->point_len] != '/'))
                continue;
            /* What covers the root is not seen by who has that for a root. */
            if ((m->point[1] || !at) && (!next || m->point_len < next->point_len) &&
                path_is_beneath(path, m->point))
                next = m;
        }
    } while (next);
    return at;
}

struct line_ref {
    struct mount_line *line;
};

static int compare_ids(const void *left, const void *right)
{
    const struct line_ref *a = left, *b = right;

    return (a->line->id > b->line->id) - (a->line->id < b->line->id);
}

static int compare_devices(const void *left, const void *right)
{
    const struct line_ref *a = left, *b = right;

    return strcmp(a->line->device, b->line->device);
}

static void find_parents(const struct mount_table *t, struct line_ref *sorted)
{
    qsort(sorted, t->count, sizeof *sorted, compare_ids);
    for (size_t i = 0; i < t->count; i++) {
        struct mount_line *line = &t->lines[i], wanted = { .id = line->parent_id };
        const struct line_ref *found = bsearch(&(struct line_ref){ &wanted }, sorted, t->count,
                                               sizeof *sorted, compare_ids);
        line->parent = found && found->line != line ? found->line : NULL;
    }
}

/* Numbers the file systems, and joins the mounts. False when out of memory. */
static bool mark_shared(struct arena *arena, const struct mount_table *t, bool *ret_any)
{
    struct line_ref *sorted = arena_alloc(arena, t->count, sizeof *sorted);

    if (!sorted)
        return false;
    for (size_t i = 0; i < t->count; i++)
        sorted[i].line = &t->lines[i];
    find_parents(t, sorted);
    qsort(sorted, t->count, sizeof *sorted, compare_devices);
    *ret_any = false;
    for (size_t i = 1; i < t->count; i++) {
        struct mount_line *before = sorted[i - 1].line, *line = sorted[i].line;

        line->file_system = before->file_system + 1;
        if (compare_devices(&sorted[i - 1], &sorted[i]) != 0)
            continue;
        line->file_system = before->file_system;
        *ret_any = before->shared = line->shared = true;
    }
    return true;
}

/* ---- listmount(2) and statmount(2): Linux 6.8; not in every libc's headers yet ---- */

#ifndef SYS_statmount
#define SYS_statmount 457
#define SYS_listmount 458
#endif
#define MOUNTS_OF_ROOT       UINT64_MAX
#define STATMOUNT_NUMBERS    0x03u /* device and magic; ids */
#define STATMOUNT_NAMES      0x30u /* where it is, and its type */
#define STATMOUNT_BYTES      512   /* as the first kernels with it want; names lie behind them */
#define MOUNTS_MAX_NAMES     8192
#define DEVICE(major, minor) ((uint64_t)(major) << 32 | (minor))

struct mount_request {
    uint32_t size, spare;
    uint64_t id, param;
};

struct mount_status {
    uint32_t size, options;
    uint64_t mask;
    uint32_t major, minor;
    uint64_t magic;
    uint32_t flags, type; /* type, point: where in names */
    uint64_t id, parent;
    uint64_t unused[6];
    uint32_t root, point;
    uint64_t rest[50];
    char names[MOUNTS_MAX_NAMES];
};
_Static_assert(offsetof(struct mount_status, names) == STATMOUNT_BYTES, "the kernel's layout");

/* A mount, by its numbers. */
struct listed {
    uint64_t id, parent, device, magic;
    bool home; /* at a usual place of the kernel's own, or in one that is */
};

struct list {
    struct listed mounts[MOUNTS_MAX_LISTED];
    size_t count;
    bool devtmpfs_seen;
};

static bool ask(uint64_t id, uint64_t what, struct mount_status *ret)
{
    const struct mount_request request = { sizeof request, 0, id, what };
    const size_t size = what & STATMOUNT_NAMES ? sizeof *ret : STATMOUNT_BYTES;

    return syscall(SYS_statmount, &request, ret, size, 0) == 0 && (ret->mask & what) == what;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* False also when the kernel does not say. */
static bool each_mounted_once(struct list *l)
{
    const struct mount_request request = { .size = sizeof request, .id = MOUNTS_OF_ROOT };
    uint64_t numbers[MOUNTS_MAX_LISTED];
    const long count = syscall(SYS_listmount, &request, numbers, ARRAY_LEN(numbers), 0);

    if (count <= 0 || count == (long)ARRAY_LEN(numbers))
        return false;
    l->count = (size_t)count;
    for (size_t i = 0; i < l->count; i++) {
        struct mount_status status;

        if (!ask(numbers[i], STATMOUNT_NUMBERS, &status))
            return false;
        numbers[i] = DEVICE(status.major, status.minor);
        l->mounts[i] = (struct listed){
            .id = status.id, .parent = status.parent, .device = numbers[i], .magic = status.magic
        };
    }
    qsort(numbers, l->count, sizeof *numbers, compare_numbers);
    for (size_t i = 1; i < l->count; i++)
        if (numbers[i] == numbers[i - 1])
            return false;
    return true;
}

/*
 * The one mount of what lies at /proc, or at /sys: as no other shows that file system, it is there.
 * (Nothing but "/" is above them; what is somewhere else by a link is asked for its name.)
 */
static bool is_at_home(const struct scan *s, const struct listed *m)
{
    static const struct {
        enum place place;
        const char *path;
        uint64_t magic;
    } homes[] = { { PLACE_PROC, "/proc", PROC_SUPER_MAGIC }, { PLACE_SYS, "/sys", SYSFS_MAGIC } };

    for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
        const char *place = s->facts->places[homes[i].place];
        const uint64_t dev = s->place_devs[homes[i].place];

        if (m->magic == homes[i].magic && place && str_eq(place, homes[i].path) &&
            m->device == DEVICE(major(dev), minor(dev)))
            return true;
    }
    return false;
}

/* Whether all that is mounted in it is at home, too: not in /dev/shm, which rules may let in. */
static bool is_closed(const struct scan *s, const struct listed *m)
{
    const uint64_t shm = s->place_devs[PLACE_SHM];

    return m->home && m->device != DEVICE(major(shm), minor(shm));
}

static const struct listed *find_listed(const struct list *l, uint64_t id)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->mounts[i].id == id)
            return &l->mounts[i];
    return NULL;
}

/* A mount whose type, or place, its numbers do not say. False: the kernel does not either. */
static bool see_named(struct scan *s, struct list *l, struct listed *m, int32_t *ret)
{
    struct mount_status status;

    if (!ask(m->id, STATMOUNT_NAMES, &status))
        return false;
    const char *type = status.names + status.type, *point = status.names + status.point;
    l->devtmpfs_seen = l->devtmpfs_seen || str_eq(type, "devtmpfs");
    if (!path_is_clean(point))
        return false;
    m->home = kernelfs_is_home(s->facts, point);
    *ret = kernelfs_see(s, type, point, makedev((uint32_t)(m->device >> 32), (uint32_t)m->device));
    return true;
}

/*
 * By numbers alone, if possible. There is one devtmpfs, however often it is mounted: once it was
 * seen, none of the others that have the number of a tmpfs is one.
 */
static bool see_listed(struct scan *s, struct list *l, int32_t *ret)
{
    for (size_t i = 0; i < l->count && *ret == ABX_OK; i++) {
        struct listed *m = &l->mounts[i];
        const struct listed *parent = find_listed(l, m->parent);

        m->home = (parent && parent != m && is_closed(s, parent)) || is_at_home(s, m);
        if (!m->home &&
            (kernelfs_has_magic(m->magic) || (kernelfs_has_twin(m->magic) && !l->devtmpfs_seen)) &&
            !see_named(s, l, m, ret))
            return false;
    }
    return true;
}

/* ---- the text ---- */

static uint64_t device_of(const struct mount_line *line)
{
    char *end;
    const unsigned long high = strtoul(line->device, &end, 10);
    const unsigned long low = *end == ':' ? strtoul(end + 1, NULL, 10) : 0;

    return makedev((unsigned)high, (unsigned)low);
}

static int32_t read_text(struct scan *s, struct buf *file)
{
    int e = io_read_file(AT_FDCWD, "/proc/self/mountinfo", file);

    if (e >= 0)
        return ABX_OK;
    int32_t r = err_sys(s->err, ABX_E_IO, e, "read '/proc/self/mountinfo'");
    if (e == -ENOENT)
        err_hint(s->err, "agentbox needs /proc, which is not there: mount -t proc proc /proc");
    return r;
}

static int32_t read_mounts(struct scan *s)
{
    _buf_ struct buf file = { 0 };
    struct mount_table *t = arena_alloc(s->arena, 1, sizeof *t);
    size_t room = 0;

    buf_init(&file, MOUNTS_MAX_FILE);
    if (!t)
        return err_nomem(s->err);
    int32_t r = read_text(s, &file);
    if (r != ABX_OK)
        return r;
    for (size_t i = 0; i < file.len; i++)
        room += file.data[i] == '\n';
    char *text = arena_strndup(s->arena, file.data ? file.data : "", file.len);
    t->lines = arena_alloc(s->arena, room, sizeof *t->lines);
    if (!text || !t->lines)
        return err_nomem(s->err);
    t->count = mounts_parse(text, file.len, t->lines, room);
    if (!mark_shared(s->arena, t, &t->any_shared))
        return err_nomem(s->err);
    t->outer = t->any_shared && inside_sandbox() ? mounts_find(t, "/run") : NULL;
    s->mounts = t;
    for (size_t i = 0; i < t->count && r == ABX_OK; i++)
        r = kernelfs_see(s, t->lines[i].type, t->lines[i].point, device_of(&t->lines[i]));
    return r;
}

int32_t scan_mounts(struct scan *s)
{
    struct list list = { .count = 0 };
    int32_t r = ABX_OK;

    /* Without /proc nothing runs: then the text is asked for, and its error says why. */
    if (each_mounted_once(&list) && see_listed(s, &list, &r) &&
        (r != ABX_OK || faccessat(AT_FDCWD, "/proc/self", F_OK, AT_SYMLINK_NOFOLLOW) == 0))
        return r;
    return read_mounts(s);
}
