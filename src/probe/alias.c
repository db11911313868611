/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second mounts. A file system may be mounted in several places, so what a rule hides or protects
 * at one path may be seen at another. /proc/self/mountinfo tells which part of which file system
 * lies where; for each restriction every other place that shows the same thing, or a part of it,
 * gets the same rule. Trusts the kernel's text, but not its length: a line that does not parse is
 * skipped, and a second path counts only if it leads to the same inode, or to the same directory
 * for what is not there yet.
 *
 * Mostly no file system is mounted twice. Newer kernels say so without that text, which costs them
 * several times as much.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/inside.h"
#include "probe/scan_state.h"

#define ALIAS_MAX_FILE   ((size_t)16 << 20)
#define ALIAS_MAX_LISTED 256u /* mounts that are looked at one by one */

struct mount_line {
    uint64_t id, parent_id;
    const struct mount_line *parent; /* NULL: not in the table, as of the root's own */
    const char *device;              /* "8:1" */
    const char *root;                /* in the file system; NULL: no path, as of one removed */
    const char *point;
    size_t point_len;
    size_t file_system; /* the same number for all lines of one device */
    bool shared;        /* another mount shows the same file system */
};

struct mount_table {
    struct mount_line *lines;
    size_t count;
    const struct mount_line *outer; /* in a run inside another: what the outer one put there */
};

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
    const char *fields[5];

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        fields[i] = take_field(&line, end);
    *ret = (struct mount_line){ .device = fields[2],
                                .point = fields[4],
                                .point_len = strlen(fields[4]) };
    if (path_is_clean(fields[3]))
        ret->root = fields[3];
    return str_to_u64(fields[0], UINT64_MAX, &ret->id) &&
           str_to_u64(fields[1], UINT64_MAX, &ret->parent_id) && path_is_clean(ret->point);
}

/* The kernel ends every line; what has no end is none. */
static size_t parse_mounts(struct buf *file, struct mount_line *lines, size_t room)
{
    size_t count = 0;

    for (size_t i = 0; i < file->len && count < room;) {
        char *line = file->data + i, *end = memchr(line, '\n', file->len - i);

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
static const struct mount_line *mount_of(const struct mount_table *t, const char *path)
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
    const struct mount_line *own = mount_of(t, fact.path);

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
#define MOUNTS_OF_ROOT  UINT64_MAX
#define STATMOUNT_BASIC 1u /* the device */

struct mount_request {
    uint32_t size, spare;
    uint64_t id, param;
};

struct mount_status {
    uint32_t size, options;
    uint64_t mask;
    uint32_t major, minor;
    uint64_t rest[61]; /* 512 bytes, as the first kernels with it want */
};

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* False also when the kernel does not say. */
static bool each_mounted_once(void)
{
    struct mount_request request = { .size = sizeof request, .id = MOUNTS_OF_ROOT };
    uint64_t ids[ALIAS_MAX_LISTED];
    const long count = syscall(SYS_listmount, &request, ids, ARRAY_LEN(ids), 0);

    if (count <= 0 || count == (long)ARRAY_LEN(ids))
        return false;
    for (long i = 0; i < count; i++) {
        struct mount_status status;

        request = (struct mount_request){ sizeof request, 0, ids[i], STATMOUNT_BASIC };
        if (syscall(SYS_statmount, &request, &status, sizeof status, 0) != 0 ||
            !(status.mask & STATMOUNT_BASIC))
            return false;
        ids[i] = (uint64_t)status.major << 32 | status.minor;
    }
    qsort(ids, (size_t)count, sizeof *ids, compare_numbers);
    for (long i = 1; i < count; i++)
        if (ids[i] == ids[i - 1])
            return false;
    return true;
}

int32_t scan_aliases(struct scan *s)
{
    _buf_ struct buf file = { 0 };
    size_t room = 0, facts = s->count;

    /* Without /proc nothing runs: then the text is asked for, and its error says why. */
    if (each_mounted_once() && faccessat(AT_FDCWD, "/proc/self", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return ABX_OK;
    buf_init(&file, ALIAS_MAX_FILE);
    int e = io_read_file(AT_FDCWD, "/proc/self/mountinfo", &file);
    if (e < 0) {
        int32_t r = err_sys(s->err, ABX_E_IO, e, "read '/proc/self/mountinfo'");
        if (e == -ENOENT)
            err_hint(s->err, "agentbox needs /proc, which is not there: mount -t proc proc /proc");
        return r;
    }
    for (size_t i = 0; i < file.len; i++)
        room += file.data[i] == '\n';
    struct mount_table table = { .lines = arena_alloc(s->arena, room, sizeof *table.lines) };
    if (!table.lines)
        return err_nomem(s->err);
    table.count = parse_mounts(&file, table.lines, room);
    bool any;
    if (!mark_shared(s->arena, &table, &any))
        return err_nomem(s->err);
    table.outer = any && inside_sandbox() ? mount_of(&table, "/run") : NULL;
    for (size_t i = 0; any && i < facts; i++) {
        const struct path_fact *f = &s->paths[i];
        if (f->rule->access == ACCESS_RW || (f->rule->flags & RULE_SOCKET) ||
            (!f->exists && (!f->ancestor || (f->rule->flags & RULE_IF_PRESENT))))
            continue;
        const struct path_fact fact = *f; /* s->paths may move */
        int32_t r = aliases_of(s, &table, fact);
        if (r == ABX_OK)
            r = aliases_below(s, &table, fact);
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
