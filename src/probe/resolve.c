/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Path resolution.
 *
 * The kernel resolves one component at a time, relative to a descriptor, and never a symlink: links
 * are read and walked here, so that each one on the way is known (it must be pinned where the
 * command could replace it) and so that no path is too long. Nothing is opened for reading;
 * devices, pipes and automounts are not touched.
 *
 * Trusts the kernel only. The tree may change while it is walked: the result is what was seen, with
 * device and inode, and the launcher refuses anything else that it finds there later.
 */
#include "probe/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "probe/held.h"

struct resolver {
    struct arena *arena;
    struct buf path; /* "" is "/" */
    int fd; /* the directory at path; while components are missing, their deepest ancestor */
    bool owned;
    const char *rest;
    size_t missing;      /* components of path that do not exist */
    size_t ancestor_len; /* of path, while some are missing */
    struct pin_fact pins[RESOLVE_MAX_LINKS + 1];
    uint32_t pin_count;
    bool impossible; /* what is asked for cannot come to exist as long as the pins hold */
    bool denied;
    bool done; /* st is the result */
    struct stat st;
};

static void resolver_done(struct resolver *s)
{
    if (s->owned)
        fd_close(s->fd);
    buf_done(&s->path);
}

static void replace_fd(struct resolver *s, int fd)
{
    if (s->owned)
        fd_close(s->fd);
    s->fd = fd;
    s->owned = true;
}

/* The next component, which points into rest; 0 at the end. */
static size_t next_component(struct resolver *s, const char **ret)
{
    s->rest += strspn(s->rest, "/");
    size_t len = strcspn(s->rest, "/");
    *ret = s->rest;
    s->rest += len;
    return len;
}

static bool is_last(const struct resolver *s)
{
    return s->rest[strspn(s->rest, "/")] == '\0';
}

static int append(struct resolver *s, const char *name)
{
    int r = buf_putc(&s->path, '/');

    return r < 0 ? r : buf_puts(&s->path, name);
}

static void drop_last(struct resolver *s)
{
    while (s->path.len && s->path.data[--s->path.len] != '/')
        ;
    if (s->path.data)
        s->path.data[s->path.len] = '\0';
}

static int go_up(struct resolver *s)
{
    if (s->missing) {
        s->missing--;
        drop_last(s);
        return 0;
    }
    if (!s->path.len)
        return 0;
    int fd = openat(s->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    replace_fd(s, fd);
    drop_last(s);
    return 0;
}

static int add_missing(struct resolver *s, const char *name)
{
    if (!s->missing)
        s->ancestor_len = s->path.len;
    s->missing++;
    return append(s, name);
}

static int add_pin(struct resolver *s, const char *name, const struct stat *st)
{
    const char *path = arena_join(s->arena, s->path.len ? s->path.data : "", "/", name);

    bool loose = faccessat(s->fd, ".", W_OK, AT_EACCESS) == 0;

    if (!path)
        return -ENOMEM;
    s->pins[s->pin_count++] = (struct pin_fact){ path, (uint64_t)st->st_dev, (uint64_t)st->st_ino,
                                                 S_ISLNK(st->st_mode), loose };
    return 0;
}

static int follow_link(struct resolver *s, const char *name, const struct stat *st)
{
    char target[PATH_MAX];

    if (s->pin_count == RESOLVE_MAX_LINKS) {
        s->impossible = s->done = true;
        return append(s, name);
    }
    int r = add_pin(s, name, st);
    if (r < 0)
        return r;
    ssize_t n = readlinkat(s->fd, name, target, sizeof target - 1);
    if (n < 0)
        return -errno;
    if (n == (ssize_t)sizeof target - 1)
        return -ENAMETOOLONG;
    target[n] = '\0';
    s->rest = arena_join(s->arena, target, "/", s->rest);
    if (!s->rest)
        return -ENOMEM;
    if (target[0] != '/')
        return 0;
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    replace_fd(s, fd);
    s->path.len = 0;
    return 0;
}

/* What name is that cannot simply be entered: a symlink, a file, the last component. */
static int enter_other(struct resolver *s, const char *name)
{
    struct stat st;

    if (fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode))
        return follow_link(s, name, &st);
    if (held_counts_as_absent(s->fd, &st))
        return -ENOENT;
    if (is_last(s)) {
        s->st = st;
        s->done = true;
        return append(s, name);
    }
    int r = add_pin(s, name, &st); /* a file where a directory is meant */
    s->impossible = true;
    return r < 0 ? r : add_missing(s, name);
}

static int enter(struct resolver *s, const char *name)
{
    if (s->missing)
        return add_missing(s, name);
    if (is_last(s))
        return enter_other(s, name);
    int fd = openat(s->fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOTDIR || errno == ELOOP ? enter_other(s, name) : -errno;
    replace_fd(s, fd);
    int r = append(s, name);
    return r < 0 ? r : fd_real_path(fd, &s->path);
}

static int step(struct resolver *s, const char *text, size_t len)
{
    const char *name = arena_strndup(s->arena, text, len);
    char room[FD_NAME_ROOM];
    int r;

    if (!name)
        return -ENOMEM;
    if (len == 1 && name[0] == '.')
        return 0;
    if (len == 2 && name[0] == '.' && name[1] == '.')
        return go_up(s);
    if (!s->missing)
        name = fd_entry_name(s->fd, name, room);
    r = enter(s, name);
    if (r == -ENOENT)
        return add_missing(s, name);
    if (r == -ENAMETOOLONG && len > NAME_MAX) {
        s->impossible = true;
        return add_missing(s, name);
    }
    if (r == -EACCES || r == -EPERM) {
        s->denied = s->done = true;
        return 0;
    }
    return r;
}

static int walk(struct resolver *s)
{
    const char *component;
    size_t len;

    while (!s->done && (len = next_component(s, &component)) > 0) {
        int r = step(s, component, len);
        if (r < 0)
            return r;
    }
    if ((!s->done || s->denied) && !s->missing && fstat(s->fd, &s->st) < 0)
        return -errno;
    return s->path.failed ? -ENOMEM : 0;
}

static int finish(struct resolver *s, struct resolved *ret)
{
    struct resolved result = { .denied = s->denied, .pin_count = s->pin_count };
    struct pin_fact *pins = arena_alloc(s->arena, s->pin_count, sizeof *pins);

    result.path = s->path.len ? arena_strndup(s->arena, s->path.data, s->path.len) : "/";
    if (!pins || !result.path)
        return -ENOMEM;
    if (s->pin_count)
        memcpy(pins, s->pins, s->pin_count * sizeof *pins);
    result.pins = pins;
    result.exists = !s->missing && !s->impossible;
    if (result.exists) {
        result.is_dir = S_ISDIR(s->st.st_mode);
        result.dev = (uint64_t)s->st.st_dev;
        result.ino = (uint64_t)s->st.st_ino;
    } else if (!s->impossible) {
        result.ancestor = s->ancestor_len ? arena_strndup(s->arena, s->path.data, s->ancestor_len)
                                          : "/";
        if (!result.ancestor)
            return -ENOMEM;
    }
    *ret = result;
    return 0;
}

bool resolve_is_absent(const struct resolve_base *base, const char *text)
{
    struct stat st;

    if (text[0] != '/' && !names_may_hold(base->names, text))
        return true;
    return text[0] != '/' &&
           fstatat(base->fd, text, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0 &&
           (errno == ENOENT || errno == ENOTDIR);
}

/* One component below base that is no symlink, or absent: most of what is ever asked for. */
static bool resolve_name(struct arena *arena, const struct resolve_base *base, const char *name,
                         struct resolved *ret)
{
    char room[FD_NAME_ROOM];
    struct stat st;

    if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
        return false;
    bool exists = names_may_hold(base->names, name);
    if (exists && fstatat(base->fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0) {
        if (errno != ENOENT)
            return false;
        exists = false;
    }
    if (exists && S_ISLNK(st.st_mode))
        return false;
    exists = exists && !held_counts_as_absent(base->fd, &st);
    if (exists)
        name = fd_entry_name(base->fd, name, room);
    struct resolved found = { .path = path_join(arena, base->path, name), .exists = exists };
    if (exists) {
        found.is_dir = S_ISDIR(st.st_mode);
        found.dev = (uint64_t)st.st_dev;
        found.ino = (uint64_t)st.st_ino;
    } else {
        found.ancestor = base->path;
    }
    *ret = found;
    return found.path != NULL;
}

/* Several components of which the first is known to be missing. */
static bool resolve_missing(struct arena *arena, const struct resolve_base *base, const char *text,
                            struct resolved *ret)
{
    if (names_may_hold(base->names, text) || strstr(text, "//") || strstr(text, "/.") ||
        text[strlen(text) - 1] == '/')
        return false; /* may exist, or needs cleaning */
    ret->path = path_join(arena, base->path, text);
    ret->ancestor = base->path;
    return ret->path != NULL;
}

static int start(struct resolver *s, const struct resolve_base *base)
{
    if (s->rest[0] != '/') {
        s->fd = base->fd;
        return base->path[1] ? buf_puts(&s->path, base->path) : 0;
    }
    if (!base->path[1]) {
        s->fd = base->fd;
        return 0;
    }
    s->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    s->owned = s->fd >= 0;
    return s->fd < 0 ? -errno : 0;
}

int32_t resolve_path(struct arena *arena, const struct resolve_base *base, const char *text,
                     struct resolved *ret, abx_error **err)
{
    __attribute__((cleanup(resolver_done))) struct resolver s = { .arena = arena, .rest = text };

    if (text[0] && text[0] != '/') {
        struct resolved found = { 0 };
        if (strchr(text, '/') ? resolve_missing(arena, base, text, &found)
                              : resolve_name(arena, base, text, &found)) {
            *ret = found;
            return ABX_OK;
        }
    }
    buf_init(&s.path, RESOLVE_MAX_PATH);
    int r = start(&s, base);
    if (r == 0)
        r = walk(&s);
    if (r == 0)
        r = finish(&s, ret);
    if (r == -ENOMEM)
        return err_nomem(err);
    if (r < 0) {
        int32_t code = err_sys(err, ABX_E_IO, r, "look up '%s'", text);
        err_subject(err, text);
        return code;
    }
    return ABX_OK;
}
