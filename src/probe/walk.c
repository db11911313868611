/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk. Directories only are opened, with O_NOFOLLOW and O_NONBLOCK; files are not even looked
 * at unless their name says so. A symlink that a pattern matches is resolved like a path that was
 * written, any other is left alone, so there are no loops. A match is not entered for its rule,
 * which speaks about all below it, unless another rule says otherwise there: then a match further
 * down must win over that.
 *
 * The tree is the adversary's. Refuses rather than skips: more entries or seconds than
 * the budget, or more than SCAN_MAX_DEPTH levels, are an error that names the search and the
 * directory. A directory that cannot be read counts as a match of a rule that denies, since nobody
 * knows what it holds and its owner may open it at any time; below a writable root it is protected
 * as a whole if it is ours, and as the root itself it is refused. /dev, /proc, /run and /sys, which
 * every run gets anew, are not entered, nor what else the kernel shows of itself (kernelfs.h).
 *
 * A directory is read to its end before its subdirectories are entered, so that one buffer serves
 * all levels.
 */
#include "probe/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/glob.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/precedence.h"
#include "probe/kernelfs.h"
#include "probe/protect.h"

#define WALK_BUFFER      ((size_t)16 << 10)
#define WALK_MAX_PENDING ((size_t)256 << 20) /* names of subdirectories of one directory */
#define WALK_CLOCK_EVERY 1024u               /* entries, each for every search in its directory */

/* A search in one directory: states of its pattern, or the levels that are left, plus one. */
struct walk_state {
    struct walk_search *search;
    uint64_t states;
};

struct walk {
    struct scan *scan;
    struct walk_search *searches; /* sorted by where they start */
    size_t search_count, waiting;
    struct walk_state *states; /* a stack: those of each open directory */
    size_t state_count, state_room;
    struct {
        const char **paths; /* of rules with this access, sorted */
        size_t count;
        bool pattern; /* there is a pattern with it, too */
    } others[ACCESS_RW + 1];
    struct buf path; /* of the current directory; "" is "/" */
    char *buffer;
    int64_t deadline;
    size_t looks; /* left until the clock is asked */
};

/* The current directory: its searches are states[first … end). */
struct walk_dir {
    int fd;
    unsigned depth; /* below where the walk began */
    size_t first, end;
    struct protect_dir names; /* what the protected names' search has seen */
    struct buf pending;       /* subdirectories to enter, each with its NUL */
};

static const char *search_name(const struct walk_search *search)
{
    return search->rule ? search->rule->text : "protected names";
}

static const char *dir_path(const struct walk *w)
{
    return w->path.len ? w->path.data : "/";
}

/* ---- entries ---- */

static int32_t refuse_size(struct walk *w, const struct walk_dir *d, const char *what, unsigned max)
{
    const struct walk_search *search = w->states[d->first].search;
    size_t others = d->end - d->first - 1;
    int32_t r = err_new(w->scan->err, ABX_E_CONFIG,
                        "look for '%s'%s below '%s': more than %u %s, in '%s'", search_name(search),
                        others ? " and more" : "", search->start.path, max, what, dir_path(w));

    err_subject(w->scan->err, dir_path(w));
    if (search->rule)
        err_hint(w->scan->err, "start patterns at a deeper directory, or use fewer '**'");
    else
        err_hint(w->scan->err, "start in a deeper directory, or grant less with --rw");
    return r;
}

static int32_t count_entry(struct walk *w, const struct walk_dir *d)
{
    uint32_t n = w->scan->entries++;

    if (n >= w->scan->budget->entries)
        return refuse_size(w, d, "directory entries", w->scan->budget->entries);
    if (w->looks > d->end - d->first) {
        w->looks -= d->end - d->first;
        return ABX_OK;
    }
    w->looks = WALK_CLOCK_EVERY;
    if (scan_seconds() > w->deadline)
        return refuse_size(w, d, "seconds", (unsigned)MAX_OF(w->scan->budget->seconds, 0));
    return ABX_OK;
}

static int32_t look_failed(struct walk *w, const char *name, int error)
{
    if (error == ENOENT)
        return ABX_OK; /* gone since it was listed */
    return err_sys(w->scan->err, ABX_E_IO, -error, "look at '%s/%s'",
                   w->path.len ? dir_path(w) : "", name);
}

static int32_t add_match(struct walk *w, int dirfd, const char *name,
                         const struct walk_search *search)
{
    struct scan *s = w->scan;
    struct stat st;

    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
        return look_failed(w, name, errno);
    struct resolved where = {
        .path = path_join(s->arena, dir_path(w), name),
        .exists = true,
        .is_dir = S_ISDIR(st.st_mode),
        .dev = (uint64_t)st.st_dev,
        .ino = (uint64_t)st.st_ino,
        .pins = search->start.pins,
        .pin_count = search->start.pin_count,
    };
    if (!where.path)
        return err_nomem(s->err);
    if (!S_ISLNK(st.st_mode))
        return scan_add(s, search->rule, &where);
    int32_t r = resolve_path(s->arena, &s->root, where.path, &where, s->err);
    return r == ABX_OK ? scan_add(s, search->rule, &where) : r;
}

/* The first of n sorted paths that is not before path. */
static size_t lower_bound(const char *const *paths, size_t n, const char *path)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (precedence_path_order(paths[middle], path) < 0) {
            low = middle + 1;
        } else {
            n = middle;
        }
    }
    return low;
}

/* May another rule decide something inside a match, the entry name of the current directory? */
static bool is_contested(struct walk *w, const struct walk_search *search, const char *name)
{
    size_t before = w->path.len;
    bool found;

    (void)buf_putc(&w->path, '/');
    (void)buf_puts(&w->path, name);
    found = w->path.failed;
    for (uint32_t access = 0; access < ARRAY_LEN(w->others) && !found; access++) {
        size_t n = w->others[access].count;
        if (access == search->rule->access)
            continue;
        size_t i = lower_bound(w->others[access].paths, n, w->path.data);
        found = w->others[access].pattern ||
                (i < n && path_is_beneath(w->others[access].paths[i], w->path.data));
    }
    w->path.len = before;
    w->path.data[before] = '\0';
    return found;
}

/* The states of a pattern below name; 0: it need not be entered. */
static uint64_t pattern_states(struct walk *w, const struct walk_state *state, const char *name,
                               size_t len, bool *ret_match)
{
    uint64_t next = glob_advance(&state->search->parts, state->states, name, len, ret_match);

    return next && *ret_match && !is_contested(w, state->search, name) ? 0 : next;
}

static bool names_enter(const struct walk *w, const struct walk_state *state, const char *name)
{
    return state->states > 1 && !protect_skips(w->scan, dir_path(w), name);
}

static int32_t visit_entry(struct walk *w, struct walk_dir *d, const struct dirent64 *entry)
{
    const char *name = entry->d_name;
    size_t len = strlen(name);
    bool maybe_dir = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN, enter = false;
    int32_t r = count_entry(w, d);

    for (size_t i = d->first; i < d->end && r == ABX_OK; i++) {
        const struct walk_state *state = &w->states[i];
        bool match = false;

        if (!state->search->rule) {
            d->names.path = dir_path(w); /* the buffer may have moved */
            r = protect_see(w->scan, &d->names, name, entry->d_type);
            enter = enter || (maybe_dir && names_enter(w, state, name));
            continue;
        }
        enter = pattern_states(w, state, name, len, &match) || enter;
        if (match)
            r = add_match(w, d->fd, name, state->search);
    }
    if (r == ABX_OK && enter && maybe_dir && buf_append(&d->pending, name, len + 1) < 0)
        return err_nomem(w->scan->err);
    return r;
}

static int32_t read_entries(struct walk *w, struct walk_dir *d)
{
    for (;;) {
        ssize_t len = getdents64(d->fd, w->buffer, WALK_BUFFER);

        if (len < 0 && errno != ENOENT) /* ENOENT: removed while it was open */
            return err_sys(w->scan->err, ABX_E_IO, -errno, "read directory '%s'", dir_path(w));
        if (len <= 0)
            return ABX_OK;
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(w->buffer + at);
            const char *name = entry->d_name;

            at += entry->d_reclen;
            if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
                continue;
            int32_t r = visit_entry(w, d, entry);
            if (r != ABX_OK)
                return r;
        }
    }
}

/* ---- directories ---- */

static int32_t push_state(struct walk *w, struct walk_search *search, uint64_t states)
{
    if (w->state_count == w->state_room) {
        size_t room = w->state_room ? 2 * w->state_room : 256;
        struct walk_state *grown = reallocarray(w->states, room, sizeof *grown);
        if (!grown)
            return err_nomem(w->scan->err);
        w->states = grown;
        w->state_room = room;
    }
    w->states[w->state_count++] = (struct walk_state){ search, states };
    return ABX_OK;
}

/* The first search that starts at path or behind it in the order. */
static size_t find_search(const struct walk *w, const char *path)
{
    size_t low = 0, high = w->search_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (precedence_path_order(w->searches[middle].start.path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of two roots of names the inner one counts: it has all its levels before it. */
static void drop_names(struct walk *w, size_t first)
{
    for (size_t i = first; i < w->state_count; i++)
        if (!w->states[i].search->rule) {
            w->states[i] = w->states[--w->state_count];
            return;
        }
}

/* Searches that start in the current directory. first: where its states begin. */
static int32_t start_searches(struct walk *w, size_t first)
{
    if (!w->waiting)
        return ABX_OK;
    for (size_t i = find_search(w, dir_path(w));
         i < w->search_count && str_eq(w->searches[i].start.path, dir_path(w)); i++) {
        struct walk_search *search = &w->searches[i];

        if (search->started)
            continue;
        search->started = true;
        w->waiting--;
        if (!search->rule)
            drop_names(w, first);
        int32_t r = push_state(w, search,
                               search->rule ? glob_begin(&search->parts)
                                            : w->scan->policy->name_depth + UINT64_C(1));
        if (r != ABX_OK)
            return r;
    }
    return ABX_OK;
}

/* The states of subdirectory name, on top of the stack; d is its parent, still the current one. */
static int32_t push_states(struct walk *w, const struct walk_dir *d, const char *name)
{
    size_t len = strlen(name);
    int32_t r = ABX_OK;

    for (size_t i = d->first; i < d->end && r == ABX_OK; i++) {
        const struct walk_state state = w->states[i];
        bool match = false;

        if (!state.search->rule) {
            if (names_enter(w, &state, name))
                r = push_state(w, state.search, state.states - 1);
            continue;
        }
        uint64_t next = pattern_states(w, &state, name, len, &match);
        if (next)
            r = push_state(w, state.search, next);
    }
    return r;
}

/* The subdirectory name of the current directory cannot be opened. */
static int32_t visit_unreadable(struct walk *w, const struct walk_dir *parent, const char *name,
                                size_t first, int error)
{
    int32_t r = ABX_OK;

    if (error == ENOENT || error == ENOTDIR || error == ELOOP)
        return ABX_OK; /* gone, replaced, or never a directory */
    if (error != EACCES && error != EPERM)
        return err_sys(w->scan->err, ABX_E_IO, -error, "read directory '%s/%s'",
                       w->path.len ? dir_path(w) : "", name);
    for (size_t i = first; i < w->state_count && r == ABX_OK; i++) {
        const struct walk_search *search = w->states[i].search;
        if (!search->rule)
            r = protect_unreadable(w->scan, parent->fd, dir_path(w), name, search->start.path);
        else if (search->rule->access != ACCESS_RW)
            r = add_match(w, parent->fd, name, search);
    }
    return r;
}

static int32_t walk_directory(struct walk *w, int fd, unsigned depth, size_t first);

static int32_t enter(struct walk *w, const struct walk_dir *d, const char *name)
{
    size_t first = w->state_count, before = w->path.len;
    int32_t r = push_states(w, d, name);

    if (r == ABX_OK) {
        _fd_ int fd = openat(d->fd, name,
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) {
            r = visit_unreadable(w, d, name, first, errno);
        } else {
            (void)buf_putc(&w->path, '/');
            (void)buf_puts(&w->path, name);
            if (w->path.failed)
                r = err_nomem(w->scan->err);
            else if (!walk_is_system(w->scan, dir_path(w)))
                r = walk_directory(w, fd, d->depth + 1, first);
            w->path.len = before;
            w->path.data[before] = '\0';
        }
    }
    w->state_count = first;
    return r;
}

/* fd is the current directory; its searches are on top of the stack, from first on. */
static int32_t walk_directory(struct walk *w, int fd, unsigned depth, size_t first)
{
    struct walk_dir d = { .fd = fd, .depth = depth, .first = first };
    int32_t r = start_searches(w, first);

    d.end = w->state_count;
    if (r != ABX_OK || d.first == d.end)
        return r;
    if (depth > SCAN_MAX_DEPTH)
        return refuse_size(w, &d, "levels", SCAN_MAX_DEPTH);
    for (size_t i = d.first; i < d.end; i++)
        if (!w->states[i].search->rule)
            d.names = (struct protect_dir){ .fd = fd, .root = w->states[i].search->start.path };
    buf_init(&d.pending, WALK_MAX_PENDING);
    r = read_entries(w, &d);
    d.names.path = dir_path(w);
    if (r == ABX_OK && d.names.root)
        r = protect_seen(w->scan, &d.names);
    for (size_t at = 0; r == ABX_OK && at < d.pending.len; at += strlen(d.pending.data + at) + 1)
        r = enter(w, &d, d.pending.data + at);
    buf_done(&d.pending);
    return r;
}

/* Where searches start cannot be listed: what is asked for there cannot be found. */
static int32_t start_unreadable(struct walk *w, const char *path)
{
    struct scan *s = w->scan;

    for (size_t i = find_search(w, path);
         i < w->search_count && str_eq(w->searches[i].start.path, path); i++) {
        const struct walk_search *search = &w->searches[i];
        int32_t r = ABX_OK;

        if (search->rule && search->rule->access == ACCESS_RW)
            continue;
        if (!search->rule) {
            r = err_sys(s->err, ABX_E_IO, -EACCES, "look for protected names: list '%s'", path);
            err_subject(s->err, path);
            err_hint(s->err, "chmod u+rx it, grant it only for reading with --ro, or start "
                             "elsewhere: what must not be changed in it cannot be found");
        } else if (search->rule->origin == ORIGIN_BUILTIN) {
            r = scan_add(s, search->rule, &search->start);
        } else {
            r = err_sys(s->err, ABX_E_IO, -EACCES, "%s %s: list '%s'", search->rule->source,
                        search->rule->text, path);
            err_subject(s->err, path);
            err_hint(s->err, "name the paths without a pattern, or the directory itself");
        }
        if (r != ABX_OK)
            return r;
    }
    return ABX_OK;
}

static int32_t walk_from(struct walk *w, const char *path)
{
    _fd_ int at = fd_open_path(AT_FDCWD, path);
    _fd_ int fd = at < 0 ? at : openat(at, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    int error = at < 0 ? -at : errno;

    if (kernelfs_holds(w->scan, path))
        return ABX_OK; /* hidden as a whole */
    w->path.len = 0;
    if (path[1])
        (void)buf_puts(&w->path, path);
    if (w->path.failed)
        return err_nomem(w->scan->err);
    if (fd >= 0)
        return walk_directory(w, fd, 0, 0);
    if (error == EACCES || error == EPERM)
        return start_unreadable(w, path);
    return error == ENOENT || error == ENOTDIR || error == ELOOP
               ? ABX_OK
               : err_sys(w->scan->err, ABX_E_IO, -error, "read directory '%s'", path);
}

static int compare_searches(const void *left, const void *right)
{
    const struct walk_search *a = left, *b = right;

    return precedence_path_order(a->start.path, b->start.path);
}

static int compare_paths(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;

    return precedence_path_order(*a, *b);
}

/* Rules that may say otherwise inside a match. Those that only narrow do not count. */
static int32_t find_others(struct walk *w)
{
    const struct scan *s = w->scan;

    for (uint32_t access = 0; access < ARRAY_LEN(w->others); access++) {
        const char **paths = arena_alloc(s->arena, s->count, sizeof *paths);
        size_t n = 0;
        if (!paths)
            return err_nomem(s->err);
        for (size_t i = 0; i < s->count; i++)
            if (s->paths[i].rule->access == access &&
                !(s->paths[i].rule->flags & (RULE_PROTECT | RULE_FINAL)))
                paths[n++] = s->paths[i].path;
        qsort(paths, n, sizeof *paths, compare_paths);
        w->others[access].paths = paths;
        w->others[access].count = n;
    }
    for (size_t i = 0; i < w->search_count; i++) {
        const struct policy_rule *rule = w->searches[i].rule;
        if (rule && !(rule->flags & RULE_PROTECT))
            w->others[rule->access].pattern = true;
    }
    return ABX_OK;
}

static void walk_done(struct walk *w)
{
    free(w->states);
    buf_done(&w->path);
}

int32_t walk_run(struct scan *s)
{
    _Alignas(struct dirent64) char buffer[WALK_BUFFER];
    __attribute__((cleanup(walk_done))) struct walk w = {
        .scan = s,
        .searches = s->searches,
        .search_count = s->search_count,
        .waiting = s->search_count,
        .buffer = buffer,
        .deadline = scan_seconds() + s->budget->seconds,
    };
    int32_t r = ABX_OK;

    buf_init(&w.path, RESOLVE_MAX_PATH);
    if (!w.search_count)
        return ABX_OK;
    qsort(w.searches, w.search_count, sizeof *w.searches, compare_searches);
    r = find_others(&w);
    for (size_t i = 0; i < w.search_count && r == ABX_OK; i++)
        if (!w.searches[i].started) {
            w.state_count = 0;
            r = walk_from(&w, w.searches[i].start.path);
            w.searches[i].started = true;
        }
    s->search_count = s->search_room = 0;
    s->searches = NULL;
    return r;
}
