/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns: the part before the first special character is resolved like any path, below it the
 * tree is walked. Directories only are opened, with O_NOFOLLOW and O_NONBLOCK; a symlink that
 * matches is resolved like a path that was written, one that does not is left alone. A match is not
 * entered: its rule speaks about all below it.
 *
 * Refuses rather than skips: more than SCAN_MAX_ENTRIES entries or SCAN_MAX_DEPTH levels are an
 * error. A directory that cannot be read counts as a match of a rule that denies, since nobody
 * knows what it holds and its owner may open it at any time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/glob.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/scan_state.h"

struct pattern_walk {
    struct scan *scan;
    const struct policy_rule *rule;
    const struct resolved *start;
    const char *pattern; /* relative to start, clean */
    size_t pattern_len;
    struct buf path; /* relative to start */
};

static void closedirp(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

static bool is_system_place(const struct pattern_walk *w, const char *path)
{
    static const enum place skipped[] = { PLACE_DEV, PLACE_PROC, PLACE_RUN, PLACE_SYS };

    for (size_t i = 0; i < ARRAY_LEN(skipped); i++) {
        const char *place = w->scan->facts->places[skipped[i]];
        if (place && str_eq(place, path))
            return true;
    }
    return false;
}

static char *full_path(const struct pattern_walk *w)
{
    const char *start = w->start->path[1] ? w->start->path : "";

    return arena_printf(w->scan->arena, "%s/%s", start, w->path.data);
}

static int32_t add_match(struct pattern_walk *w, const struct stat *st)
{
    struct resolved where = {
        .path = full_path(w),
        .exists = true,
        .is_dir = S_ISDIR(st->st_mode),
        .dev = (uint64_t)st->st_dev,
        .ino = (uint64_t)st->st_ino,
        .pins = w->start->pins,
        .pin_count = w->start->pin_count,
    };

    if (!where.path)
        return err_nomem(w->scan->err);
    if (!S_ISLNK(st->st_mode))
        return scan_add(w->scan, w->rule, &where);
    int32_t r = resolve_path(w->scan->arena, &w->scan->root, where.path, &where, w->scan->err);
    return r == ABX_OK ? scan_add(w->scan, w->rule, &where) : r;
}

static int32_t walk_directory(struct pattern_walk *w, int dirfd, const char *name, unsigned depth);

static int32_t visit_entry(struct pattern_walk *w, int dirfd, const struct dirent *entry,
                           unsigned depth)
{
    struct stat st;
    bool known_file = entry->d_type != DT_UNKNOWN && entry->d_type != DT_DIR;
    const char *path = w->path.data;
    bool matches = glob_match(w->pattern, w->pattern_len, path, w->path.len);

    if (!matches &&
        (known_file || !glob_may_match_below(w->pattern, w->pattern_len, path, w->path.len)))
        return ABX_OK;
    if (fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? ABX_OK
                               : err_sys(w->scan->err, ABX_E_IO, -errno, "look at '%s/%s'",
                                         w->start->path, path);
    if (matches)
        return add_match(w, &st);
    if (!S_ISDIR(st.st_mode))
        return ABX_OK;
    const char *full = full_path(w);
    if (!full)
        return err_nomem(w->scan->err);
    if (is_system_place(w, full))
        return ABX_OK;
    return walk_directory(w, dirfd, entry->d_name, depth + 1);
}

static int32_t walk_unreadable(struct pattern_walk *w, int dirfd, const char *name, int error)
{
    struct stat st;

    if (error == ENOENT || error == ENOTDIR || error == ELOOP)
        return ABX_OK; /* gone, or replaced, since it was listed */
    if (error != EACCES && error != EPERM)
        return err_sys(w->scan->err, ABX_E_IO, -error, "read directory '%s/%s'", w->start->path,
                       w->path.len ? w->path.data : "");
    if (w->rule->access == ACCESS_RW || !w->path.len ||
        fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return ABX_OK;
    return add_match(w, &st);
}

static int32_t walk_directory(struct pattern_walk *w, int dirfd, const char *name, unsigned depth)
{
    _fd_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const struct dirent *entry;

    if (fd < 0)
        return walk_unreadable(w, dirfd, name, errno);
    if (depth > SCAN_MAX_DEPTH)
        return err_new(w->scan->err, ABX_E_CONFIG, "pattern '%s': more than %u levels below '%s'",
                       w->rule->text, SCAN_MAX_DEPTH, w->start->path);
    __attribute__((cleanup(closedirp))) DIR *dir = fdopendir(fd);
    if (!dir)
        return err_nomem(w->scan->err);
    int own = TAKE_FD(fd);

    while ((errno = 0, entry = readdir(dir))) {
        if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, ".."))
            continue;
        int32_t r = scan_count(w->scan, w->rule->text);
        if (r != ABX_OK)
            return r;
        size_t before = w->path.len;
        if (before)
            (void)buf_putc(&w->path, '/');
        (void)buf_puts(&w->path, entry->d_name);
        r = w->path.failed ? err_nomem(w->scan->err) : visit_entry(w, own, entry, depth);
        w->path.len = before;
        if (w->path.data)
            w->path.data[before] = '\0';
        if (r != ABX_OK)
            return r;
    }
    return errno ? err_sys(w->scan->err, ABX_E_IO, -errno, "read directory '%s'", w->start->path)
                 : ABX_OK;
}

/* Length of the part of text that holds no special character, up to and with a '/'. */
static size_t fixed_length(const char *text)
{
    size_t n = strcspn(text, "*?[\\");

    while (n > 0 && text[n - 1] != '/')
        n--;
    return n;
}

int32_t scan_pattern(struct scan *s, const struct policy_rule *rule,
                     const struct resolve_base *base, const char *text)
{
    struct resolved start;
    size_t fixed = fixed_length(text);
    const char *prefix = arena_strndup(s->arena, text, fixed);
    const char *pattern = path_clean(s->arena, "/", text + fixed);

    if (!prefix || !pattern)
        return err_nomem(s->err);
    int32_t r = resolve_path(s->arena, base, prefix, &start, s->err);
    if (r != ABX_OK)
        return r;
    if (start.denied)
        return scan_add(s, rule, &start);
    if (!start.exists || !start.is_dir ||
        is_system_place(&(struct pattern_walk){ .scan = s }, start.path))
        return ABX_OK;

    struct pattern_walk w = { .scan = s,
                              .rule = rule,
                              .start = &start,
                              .pattern = pattern + 1,
                              .pattern_len = strlen(pattern + 1) };
    _fd_ int fd = fd_open_path(AT_FDCWD, start.path);
    if (fd < 0)
        return err_sys(s->err, ABX_E_IO, fd, "open '%s'", start.path);
    buf_init(&w.path, RESOLVE_MAX_PATH);
    r = walk_directory(&w, fd, ".", 0);
    buf_done(&w.path);
    return r;
}
