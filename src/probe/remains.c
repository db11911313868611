/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/remains.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/git.h"
#include "probe/gitindex.h"
#include "probe/remains_repo.h"

#define MAX_ENTRIES 300000u
#define MAX_DEPTH   64u
#define MAX_INDEX   ((size_t)128 << 20) /* of a million files */
#define MAX_TODO    ((size_t)1 << 20)
#define MAX_HEAD    4096

struct remains_repo {
    const char *top, *gitdir, *common; /* top NULL: bare */
    bool valid;
};

struct remains {
    struct remains_before before;
    const char *cwd;                         /* NULL: a bare repository that was there */
    struct remains_repo repos[GIT_MAX_HELD]; /* beyond that they are read-only as a whole */
    size_t repo_count;
    struct remains_known known[]; /* then the texts */
};

/* One look. */
struct look {
    const struct remains_before *before;
    struct arena *arena;
    struct remains_find *finds;
    size_t count;
    uint32_t entries;  /* of directories and indices, so far */
    const char *top;   /* whose index is looked at */
    const char *store; /* the git directory that is looked at */
};

/* ---- before ---- */

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *put_text(char **at, const char *text)
{
    const size_t len = text_bytes(text);
    char *copy = *at;

    if (!text)
        return NULL;
    memcpy(copy, text, len);
    *at += len;
    return copy;
}

static void put_repos(struct remains *r, const struct facts *facts, char *text)
{
    r->before.known = r->known;
    r->cwd = put_text(&text, facts->cwd);
    for (const struct repo_fact *f = facts->repos; f; f = f->next) {
        if (!f->top && str_eq(f->gitdir, facts->cwd))
            r->cwd = NULL;
        r->known[r->before.known_count++] = (struct remains_known){ f->dev, f->ino };
        if (!f->gitdir || r->repo_count == GIT_MAX_HELD)
            continue;
        r->repos[r->repo_count++] = (struct remains_repo){ put_text(&text, f->top),
                                                           put_text(&text, f->gitdir),
                                                           put_text(&text, f->common), f->valid };
    }
}

struct remains *remains_expect(const struct facts *facts)
{
    size_t count = 0, bytes = text_bytes(facts->cwd);

    for (const struct repo_fact *f = facts->repos; f; f = f->next, count++)
        bytes += text_bytes(f->top) + text_bytes(f->gitdir) + text_bytes(f->common);
    struct remains *r = calloc(1, sizeof *r + count * sizeof r->known[0] + bytes);
    if (!r || clock_gettime(CLOCK_REALTIME_COARSE, &r->before.time) < 0) {
        free(r);
        return NULL;
    }
    put_repos(r, facts, (char *)&r->known[count]);
    return r;
}

/* ---- after ---- */

static void add(struct look *l, enum remains_kind kind, const char *path, const char *what)
{
    if (l->count < REMAINS_MAX && path)
        l->finds[l->count] = (struct remains_find){ kind, path, what };
    l->count += path != NULL;
}

/* Whether there may be one more. The limit is a find of its own: there is no hiding behind it. */
static bool spend(struct look *l)
{
    if (l->entries > MAX_ENTRIES)
        return false;
    if (++l->entries > MAX_ENTRIES)
        add(l, REMAINS_UNREAD, l->store, NULL);
    return l->entries <= MAX_ENTRIES;
}

/* As git asks: a HEAD that reads like one, objects and refs. */
static bool is_valid(const struct remains_repo *r)
{
    _buf_ struct buf head = { .limit = MAX_HEAD };
    _fd_ int gitdir = fd_open_path(AT_FDCWD, r->gitdir);
    _fd_ int common = fd_open_path(AT_FDCWD, r->common);
    char link[8] = "";
    const bool symbolic = readlinkat(gitdir, "HEAD", link, sizeof link - 1) > 0;

    if (symbolic ? !str_has_prefix(link, "refs/")
                 : io_read_file(gitdir, "HEAD", &head) < 0 || !head.data ||
                       (!str_has_prefix(head.data, "ref:") &&
                        strspn(head.data, "0123456789abcdef") < 40))
        return false;
    return faccessat(common, "objects", X_OK, 0) == 0 && faccessat(common, "refs", X_OK, 0) == 0;
}

/* As git takes it from the index, which it does not check: any directory, from the top on. */
static const char *place_of_link(const struct look *l, const char *path)
{
    return path[0] == '/' ? arena_strdup(l->arena, path) : arena_join(l->arena, l->top, "/", path);
}

/* Repositories that git enters from the outer one, since they are in its index. */
static void look_at_links(struct look *l, const char *bytes, size_t len, size_t hash)
{
    struct gitindex index;
    const char *path;

    gitindex_init(&index, bytes, len, hash);
    while ((path = gitindex_next_link(&index)) && spend(l)) {
        const char *inner = place_of_link(l, path);
        const char *runs = inner ? remains_runs(l->before, inner, false, l->arena) : NULL;

        if (runs)
            add(l, REMAINS_REPOSITORY, inner, runs);
    }
    gitindex_done(&index);
}

static void look_at_index(struct look *l, int dirfd, const char *name)
{
    _buf_ struct buf bytes = { .limit = MAX_INDEX };
    struct stat st;
    const bool fits = fstatat(dirfd, name, &st, 0) == 0 && st.st_size <= (off_t)MAX_INDEX;

    if (!fits || io_read_file(dirfd, name, &bytes) < 0) {
        add(l, REMAINS_UNREAD, path_join(l->arena, l->store, name), NULL);
        return;
    }
    const char *data = bytes.data ? bytes.data : "";
    look_at_links(l, data, bytes.len, 20);
    look_at_links(l, data, bytes.len, 32); /* of the other kind nothing comes out */
}

static bool has_exec(const char *text)
{
    for (; text; text = strchr(text, '\n')) {
        text += *text == '\n';
        text += strspn(text, " \t");
        if (str_has_prefix(text, "exec ") || str_has_prefix(text, "x "))
            return true;
    }
    return false;
}

static void look_at_todo(struct look *l, int dirfd, const char *name, const char *path)
{
    _buf_ struct buf todo = { .limit = MAX_TODO };
    struct stat st;

    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && remains_is_newer(l->before, &st) &&
        (io_read_file(dirfd, name, &todo) < 0 || has_exec(todo.data)))
        add(l, REMAINS_REBASE, path, NULL);
}

static void look_at_link(struct look *l, int dirfd, const char *name, const char *path, bool moved)
{
    char target[256];
    struct stat st;
    const ssize_t len = readlinkat(dirfd, name, target, sizeof target);

    if (len >= 0 && fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (moved || remains_is_newer(l->before, &st)))
        add(l, REMAINS_LINK, path, arena_strndup(l->arena, target, (size_t)len));
}

static unsigned char type_of(int dirfd, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN || fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return entry->d_type;
    return S_ISLNK(st.st_mode) ? DT_LNK : S_ISDIR(st.st_mode) ? DT_DIR : DT_REG;
}

/*
 * A directory of objects: git writes what no command chooses, and there are many. Not so a branch
 * of that name.
 */
static bool is_store(const struct look *l, const char *path)
{
    const char *rest = path + strlen(l->store);

    return str_eq(path_basename(path), "objects") && !strstr(rest, "/logs/") &&
           !strstr(rest, "/refs/");
}

static DIR *open_directory(int parent, const char *name)
{
    _fd_ int fd = openat(parent, name,
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);

    if (stream)
        (void)TAKE_FD(fd);
    return stream;
}

static void look_at_directory(struct look *l, int parent, const char *name, const char *path,
                              unsigned depth)
{
    DIR *stream = open_directory(parent, name);
    const int dir = stream ? dirfd(stream) : -1;
    const struct dirent *entry;
    struct stat st;

    if (!stream)
        return;
    /* What was moved in with its directory is as old as it was. */
    const bool moved = depth > 0 && fstat(dir, &st) == 0 && remains_is_newer(l->before, &st);
    while ((entry = readdir(stream)) && spend(l)) {
        const char *own = entry->d_name;
        const unsigned char type = type_of(dir, entry);
        const bool todo = type == DT_REG && str_eq(own, "git-rebase-todo");

        if (str_eq(own, ".") || str_eq(own, "..") || (type != DT_LNK && type != DT_DIR && !todo))
            continue;
        const char *inner = path_join(l->arena, path, own);
        if (!inner)
            continue;
        if (type == DT_LNK)
            look_at_link(l, dir, own, inner, moved);
        else if (todo)
            look_at_todo(l, dir, own, inner);
        else if (depth == MAX_DEPTH)
            add(l, REMAINS_UNREAD, inner, NULL);
        else if (!is_store(l, inner))
            look_at_directory(l, dir, own, inner, depth + 1);
    }
    (void)closedir(stream);
}

/* ---- repositories ---- */

static void look_at_indices(struct look *l)
{
    DIR *stream = open_directory(AT_FDCWD, l->store);
    const struct dirent *entry;

    if (!stream)
        return;
    while ((entry = readdir(stream)) && spend(l))
        if (str_eq(entry->d_name, "index") || str_has_prefix(entry->d_name, "sharedindex."))
            look_at_index(l, dirfd(stream), entry->d_name);
    (void)closedir(stream);
}

/* Whether the walk of an earlier one, the main one mostly, came by. */
static bool is_seen(const struct remains *r, size_t at, const char *dir)
{
    for (size_t i = 0; i < at; i++)
        if (path_is_beneath(dir, r->repos[i].common))
            return true;
    return false;
}

static void look_at_repo(struct look *l, const struct remains *r, size_t at)
{
    const struct remains_repo *repo = &r->repos[at];
    const char *const stores[] = { repo->common, repo->gitdir };

    if (repo->valid && !is_valid(repo))
        add(l, REMAINS_BROKEN, repo->gitdir, repo->top);
    for (size_t i = 0; i < ARRAY_LEN(stores); i++) {
        l->store = stores[i];
        if (!is_seen(r, at + i, stores[i]))
            look_at_directory(l, AT_FDCWD, l->store, l->store, 0);
    }
    l->top = repo->top;
    if (l->top)
        look_at_indices(l); /* of the last store */
}

size_t remains_look(const struct remains *r, struct arena *arena,
                    struct remains_find ret[REMAINS_MAX])
{
    struct look l = { .before = &r->before, .arena = arena, .finds = ret };
    const char *runs = r->cwd ? remains_runs(l.before, r->cwd, true, arena) : NULL;

    if (runs)
        add(&l, REMAINS_REPOSITORY, r->cwd, runs);
    for (size_t i = 0; i < r->repo_count; i++)
        look_at_repo(&l, r, i);
    return l.count;
}
