/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and reads configuration files.
 *
 *   system   /etc/agentbox/config.{json,jsonc,yaml}: always counts
 *   global   $XDG_CONFIG_HOME/agentbox/config.*, else ~/.config/agentbox/config.*
 *   project  .agentbox.{json,jsonc,yaml} in the working directory or, inside a git repository, in
 *            the nearest directory up to the top of the outermost one
 *
 * The search goes upwards only through directories that belong to the user, or to root if others
 * cannot write them, and never above the home directory: nobody else may slip a file in. Since a
 * command can make a repository and a file below the project's own, the outermost repository is
 * what counts, and a file that takes the place of another says of which.
 *
 * A file must be a plain one, of the user or root, that nobody else can write; anything else is
 * refused by name, never passed over, for a file that silently does not count is a hole where it
 * narrows. So is one that is called .yml. Two files in one place are refused. Placeholders of a run
 * that is going on count as absent.
 */
#include "probe/configfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/held.h"
#include "probe/resolve.h"
#include "probe/scan_state.h"

static const char *const system_names[] = { "config.json", "config.jsonc", "config.yaml" };
static const char *const project_names[] = { ".agentbox.json", ".agentbox.jsonc",
                                             ".agentbox.yaml" };
#define NAME_COUNT       ARRAY_LEN(project_names)
#define NAME_YAML        2 /* what is written .yml by many */
#define SYSTEM_DIRECTORY "/etc/agentbox"

const char *configfiles_home(struct arena *arena)
{
    const char *home = getenv("HOME");

    return home && home[0] == '/' ? home : account_home(arena, NULL, 0, (uint32_t)geteuid());
}

/* ---- one file ---- */

/* In a user namespace without root, root is whoever owns "/". */
static bool owner_is_root(uid_t uid)
{
    struct stat root;

    return uid == 0 || (stat("/", &root) == 0 && root.st_uid == uid);
}

static int32_t refuse(const char *path, const char *problem, const char *hint, abx_error **err)
{
    int32_t r = err_new(err, ABX_E_CONFIG, "read configuration '%s': %s", path, problem);

    err_subject(err, path);
    err_hint(err, "%s", hint);
    return r;
}

static int32_t check_file(const char *path, const struct stat *st, enum origin origin,
                          abx_error **err)
{
    /* A group of one's own, as many systems have it, is nobody else. */
    bool own_group = st->st_gid == getegid() && st->st_gid == geteuid();
    bool ours = origin != ORIGIN_SYSTEM && st->st_uid == geteuid();

    if (!S_ISREG(st->st_mode))
        return refuse(path, "it is not a plain file", "remove it, or use --no-config", err);
    if (!ours && !owner_is_root(st->st_uid))
        return refuse(path, "it belongs to another user",
                      origin == ORIGIN_SYSTEM
                          ? "the system's configuration must belong to root"
                          : "look at it, then make it yours: chown; or use --no-config",
                      err);
    if ((st->st_mode & 002) || ((st->st_mode & 020) && !own_group))
        return refuse(path, "others can write it", "chmod go-w it, after a look at what it says",
                      err);
    return ABX_OK;
}

static int32_t read_file(int dir, const char *name, struct arena *arena, struct configfile *file,
                         abx_error **err)
{
    _fd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    _buf_ struct buf b = { .limit = CONFIGFILES_MAX_BYTES };
    struct stat st;

    if (fd < 0 && errno == ELOOP)
        return refuse(file->path, "it is a symbolic link",
                      "put the file itself there, or name its target with --config", err);
    if (fd < 0 || fstat(fd, &st) < 0) {
        int32_t r = err_sys(err, ABX_E_CONFIG, -errno, "read configuration '%s'", file->path);
        err_subject(err, file->path);
        return r;
    }
    int32_t code = check_file(file->path, &st, file->origin, err);
    if (code != ABX_OK)
        return code;
    int r = io_read_fd(fd, &b);
    if (r == -E2BIG)
        return refuse(file->path, "it is larger than 1 MiB", "a configuration is a page of text",
                      err);
    if (r < 0)
        return err_sys(err, r == -ENOMEM ? ABX_E_NOMEM : ABX_E_CONFIG, r, "read configuration '%s'",
                       file->path);
    char *text = arena_alloc(arena, b.len + 1, 1);
    if (!text)
        return err_nomem(err);
    if (b.len)
        memcpy(text, b.data, b.len);
    file->text = text;
    file->len = b.len;
    sha256(text, b.len, file->digest);
    return ABX_OK;
}

/* ---- one place ---- */

static bool entry_exists(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
           !held_is_placeholder(dir, &st);
}

/* ".agentbox.yml" for ".agentbox.yaml": it looks as if it counted. */
static int32_t refuse_misnamed(int dir, const char *directory, const char *right,
                               struct arena *arena, abx_error **err)
{
    char name[32], hint[96];

    (void)snprintf(name, sizeof name, "%.*syml", (int)(strlen(right) - strlen("yaml")), right);
    if (!entry_exists(dir, name))
        return ABX_OK;
    const char *path = path_join(arena, directory, name);
    (void)snprintf(hint, sizeof hint, "call it %s if it is yours, or remove it", right);
    return path ? refuse(path, "a file of that name would not be read", hint, err) : err_nomem(err);
}

/* Reads the one of the names that is in the directory; file->text stays NULL if none is. */
static int32_t read_place(int dir, const char *directory, const char *const *names,
                          struct arena *arena, struct configfile *file, abx_error **err)
{
    const char *found = NULL;

    for (size_t i = 0; i < NAME_COUNT; i++) {
        if (!entry_exists(dir, names[i]))
            continue;
        if (found) {
            int32_t r = err_new(err, ABX_E_CONFIG, "find the configuration in '%s': both %s and %s",
                                directory, found, names[i]);
            err_subject(err, directory);
            err_hint(err, "keep one of them");
            return r;
        }
        found = names[i];
    }
    int32_t code = refuse_misnamed(dir, directory, names[NAME_YAML], arena, err);
    if (code != ABX_OK || !found)
        return code;
    file->directory = directory;
    file->path = path_join(arena, directory, found);
    return file->path ? read_file(dir, found, arena, file, err) : err_nomem(err);
}

static int32_t resolve_absolute(struct arena *arena, const char *path, struct resolved *ret,
                                abx_error **err)
{
    _fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (root < 0)
        return err_sys(err, ABX_E_IO, -errno, "open '/'");
    return resolve_path(arena, &(struct resolve_base){ .fd = root, .path = "/" }, path, ret, err);
}

/* text relative to cwd, and that to the process's own. ret->path is NULL if there is none. */
static int32_t resolve_below(const char *cwd, const char *text, struct arena *arena,
                             struct resolved *ret, abx_error **err)
{
    *ret = (struct resolved){ 0 };
    if (text[0] != '/') {
        text = arena_printf(arena, "%s/%s", cwd ? cwd : ".", text);
        if (!text)
            return err_nomem(err);
    }
    if (text[0] != '/') {
        char *own = getcwd(NULL, 0);
        bool known = own && own[0] == '/';
        text = known ? arena_printf(arena, "%s/%s", own, text) : NULL;
        free(own);
        if (!text)
            return known ? err_nomem(err) : ABX_OK;
    }
    return resolve_absolute(arena, text, ret, err);
}

static int32_t cannot_look(const char *directory, int error, abx_error **err)
{
    int32_t r = err_sys(err, ABX_E_CONFIG, error, "look for configuration in '%s'", directory);

    err_subject(err, directory);
    return r;
}

static int32_t read_directory(const char *directory, const char *const *names, struct arena *arena,
                              struct configfile *file, abx_error **err)
{
    struct resolved where = { 0 };

    file->path = arena_printf(arena, "%s/config.*", directory);
    if (!file->path)
        return err_nomem(err);
    if (access(directory, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return ABX_OK; /* as in most runs: one call is enough */
    int32_t r = resolve_absolute(arena, directory, &where, err);
    if (r != ABX_OK || !where.exists || !where.is_dir)
        return r;
    _fd_ int dir = fd_open_path(AT_FDCWD, where.path);
    if (dir < 0 || where.denied)
        return cannot_look(directory, dir < 0 ? dir : -EACCES, err);
    return read_place(dir, where.path, names, arena, file, err);
}

/* *ret is NULL if there is no home. */
static int32_t global_directory(struct arena *arena, const char **ret, abx_error **err)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = configfiles_home(arena);

    *ret = NULL;
    if (xdg && xdg[0] == '/')
        *ret = arena_printf(arena, "%s/agentbox", xdg);
    else if (home)
        *ret = arena_printf(arena, "%s/.config/agentbox", home[1] ? home : "");
    else
        return ABX_OK;
    return *ret ? ABX_OK : err_nomem(err);
}

static int32_t find_global(struct arena *arena, struct configfile *file, abx_error **err)
{
    const char *directory;
    int32_t r = global_directory(arena, &directory, err);

    file->path = "(no home directory)";
    if (r != ABX_OK || !directory)
        return r;
    return read_directory(directory, system_names, arena, file, err);
}

/* ---- the project ---- */

/* The directories that a project's file counts in, the nearest first. */
struct reach {
    const char *dirs[CONFIGFILES_MAX_DEPTH];
    size_t count;
    bool in_git; /* the last one is the top of the outermost repository */
};

/*
 * Nobody but the user and root owns it, and nobody else can put something there; but a command can
 * let others write the user's own directories, and must not gain by it: a file of somebody else's
 * is refused there. Where root is the user, /tmp is still everybody's.
 */
static bool directory_is_safe(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return false;
    bool shared = st.st_uid == 0 && (st.st_mode & S_ISVTX);
    return (st.st_uid == geteuid() && !shared) || (owner_is_root(st.st_uid) && !(st.st_mode & 002));
}

static int32_t is_git_top(const char *path, struct arena *arena, bool *ret, abx_error **err)
{
    const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
    const char *git = path_join(arena, path, ".git");
    struct stat st;

    *ret = false;
    if (!git)
        return err_nomem(err);
    int r = fstatat(AT_FDCWD, git, &st, flags);
    if (r < 0 && errno != ENAMETOOLONG)
        return errno == ENOENT ? ABX_OK : cannot_look(path, -errno, err);
    _fd_ int dir = fd_open_path(AT_FDCWD, path);
    if (dir < 0)
        return cannot_look(path, dir, err);
    if (r < 0 && fstatat(dir, ".git", &st, flags) < 0) /* only the whole name is too long */
        return errno == ENOENT ? ABX_OK : cannot_look(path, -errno, err);
    *ret = !held_is_placeholder(dir, &st);
    return ABX_OK;
}

/* One look a directory up to the end; whose they are is asked up to the repository only. */
static int32_t find_reach(const char *start, struct arena *arena, struct reach *ret,
                          abx_error **err)
{
    const char *home = configfiles_home(arena), *path = start;

    *ret = (struct reach){ .count = 1 };
    for (size_t depth = 0, safe = 1; depth < CONFIGFILES_MAX_DEPTH; depth++) {
        bool is_top;
        int32_t r = is_git_top(path, arena, &is_top, err);
        if (r != ABX_OK)
            return r;
        ret->dirs[depth] = path;
        for (; is_top && safe <= depth; safe++)
            if (!directory_is_safe(ret->dirs[safe]))
                return ABX_OK;
        if (is_top) {
            ret->count = depth + 1;
            ret->in_git = true;
        }
        if (!path[1] || (home && str_eq(path, home)))
            return ABX_OK;
        path = path_parent(arena, path);
        if (!path)
            return err_nomem(err);
    }
    int32_t r = err_new(err, ABX_E_CONFIG,
                        "look for configuration in '%s': it lies more than %d directories deep",
                        start, CONFIGFILES_MAX_DEPTH);
    err_subject(err, start);
    err_hint(err, "name the file with --config, or use --no-config");
    return r;
}

/* file->hides: what would have been found without the file, which lies in the directory at. */
static int32_t find_hidden(const struct reach *reach, size_t at, struct arena *arena,
                           struct configfile *file, abx_error **err)
{
    while (++at < reach->count) {
        _fd_ int dir = fd_open_path(AT_FDCWD, reach->dirs[at]);
        if (dir < 0)
            return cannot_look(reach->dirs[at], dir, err);
        for (size_t i = 0; i < NAME_COUNT; i++) {
            if (!entry_exists(dir, project_names[i]))
                continue;
            file->hides = path_join(arena, reach->dirs[at], project_names[i]);
            return file->hides ? ABX_OK : err_nomem(err);
        }
    }
    return ABX_OK;
}

/* The canonical path of the working directory; NULL: there is none. */
static int32_t find_start(const char *cwd, struct arena *arena, const char **ret, abx_error **err)
{
    struct resolved where = { 0 };

    *ret = NULL;
    if (!cwd) {
        char *own = getcwd(NULL, 0); /* the kernel's: canonical */
        bool known = own && own[0] == '/';
        *ret = known ? arena_strdup(arena, own) : NULL;
        free(own);
        return known && !*ret ? err_nomem(err) : ABX_OK;
    }
    int32_t r = resolve_below(cwd, ".", arena, &where, err);
    if (r == ABX_OK && where.exists && where.is_dir)
        *ret = where.path;
    return r;
}

static int32_t find_project(const char *cwd, struct arena *arena, struct configfile *file,
                            abx_error **err)
{
    const char *start = NULL;
    struct reach reach;
    int32_t r = find_start(cwd, arena, &start, err);

    file->path = ".agentbox.*";
    if (r != ABX_OK || !start)
        return r; /* there is no such directory: whoever enters it will say so */
    r = find_reach(start, arena, &reach, err);
    for (size_t i = 0; r == ABX_OK && i < reach.count; i++) {
        _fd_ int dir = fd_open_path(AT_FDCWD, reach.dirs[i]);
        if (dir < 0)
            return cannot_look(reach.dirs[i], dir, err);
        r = read_place(dir, reach.dirs[i], project_names, arena, file, err);
        if (r == ABX_OK && file->text)
            return find_hidden(&reach, i, arena, file, err);
    }
    if (r == ABX_OK)
        file->path = arena_printf(arena, "%s/.agentbox.*%s", start[1] ? start : "",
                                  reach.in_git ? ", and upwards to the top of the repository" : "");
    return r == ABX_OK && !file->path ? err_nomem(err) : r;
}

/* The directory that file lies in, and its name there. */
static int32_t split_file(const char *cwd, const char *file, struct arena *arena,
                          struct resolved *ret_above, const char **ret_name, abx_error **err)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    const char *above = !slash          ? "."
                        : slash == file ? "/"
                                        : arena_strndup(arena, file, (size_t)(slash - file));

    if (!above)
        return err_nomem(err);
    if (!name[0] || str_eq(name, ".") || str_eq(name, ".."))
        return refuse(file, "it is a directory", "name the file in it", err);
    *ret_name = name;
    return resolve_below(cwd, above, arena, ret_above, err);
}

static int32_t leads_to(const char *directory, const char *path, struct arena *arena, bool *ret,
                        abx_error **err)
{
    struct resolved where = { 0 };
    int32_t r = resolve_absolute(arena, directory, &where, err);

    *ret = r == ABX_OK && where.path && str_eq(where.path, path);
    return r;
}

int32_t configfiles_origin(const char *cwd, const char *file, struct arena *arena, enum origin *ret,
                           abx_error **err)
{
    struct resolved above = { 0 };
    const char *name = NULL, *global = NULL;
    bool is_system = false, is_global = false;
    int32_t r = split_file(cwd, file, arena, &above, &name, err);

    if (r == ABX_OK)
        r = global_directory(arena, &global, err);
    if (r == ABX_OK && above.path)
        r = leads_to(SYSTEM_DIRECTORY, above.path, arena, &is_system, err);
    if (r == ABX_OK && above.path && global)
        r = leads_to(global, above.path, arena, &is_global, err);
    *ret = is_system ? ORIGIN_SYSTEM : is_global ? ORIGIN_GLOBAL : ORIGIN_PROJECT;
    return r;
}

int32_t configfiles_name(const char *cwd, const char *file, struct arena *arena, const char **ret,
                         abx_error **err)
{
    struct resolved above = { 0 };
    const char *name = NULL;
    int32_t r = split_file(cwd, file, arena, &above, &name, err);

    if (r != ABX_OK)
        return r;
    if (!above.path)
        return err_sys(err, ABX_E_CONFIG, -ENOENT, "find configuration '%s'", file);
    const char *path = path_join(arena, above.path, name);
    if (!path)
        return err_nomem(err);
    *ret = path;
    return ABX_OK;
}

int32_t configfiles_read(const char *cwd, const char *file, enum origin origin, struct arena *arena,
                         struct configfile *ret, abx_error **err)
{
    struct configfile found = { .origin = origin, .path = file };
    struct resolved above = { 0 };
    const char *name = NULL;
    int32_t r = split_file(cwd, file, arena, &above, &name, err);

    if (r != ABX_OK)
        return r;
    bool there = above.path && above.exists && !above.denied;
    _fd_ int dir = there ? fd_open_path(AT_FDCWD, above.path) : -1;
    if (dir < 0) {
        r = err_sys(err, ABX_E_CONFIG,
                    there          ? dir
                    : above.denied ? -EACCES
                                   : -ENOENT,
                    "read configuration '%s'", file);
        err_subject(err, file);
        return r;
    }
    found.directory = above.path;
    found.path = path_join(arena, above.path, name);
    if (!found.path)
        return err_nomem(err);
    r = read_file(dir, name, arena, &found, err);
    if (r == ABX_OK)
        *ret = found;
    return r;
}

/* In the project's place. What the file would hide where it is found is told all the same. */
static int32_t read_named(const char *cwd, const char *file, struct arena *arena,
                          struct configfile *ret, abx_error **err)
{
    struct reach reach;
    int32_t r = configfiles_read(cwd, file, ORIGIN_PROJECT, arena, ret, err);

    if (r != ABX_OK || !ret->directory || path_depth(ret->directory) >= CONFIGFILES_MAX_DEPTH)
        return r;
    for (size_t i = 0; i < NAME_COUNT; i++) {
        if (!str_eq(path_basename(ret->path), project_names[i]))
            continue;
        r = find_reach(ret->directory, arena, &reach, err);
        return r == ABX_OK ? find_hidden(&reach, 0, arena, ret, err) : r;
    }
    return ABX_OK;
}

int32_t configfiles_find(const struct configfiles_request *request, struct arena *arena,
                         struct configfile ret[CONFIGFILES_COUNT], abx_error **err)
{
    struct configfile found[CONFIGFILES_COUNT] = {
        { .origin = ORIGIN_SYSTEM },
        { .origin = ORIGIN_GLOBAL, .path = "(--no-config)" },
        { .origin = ORIGIN_PROJECT, .path = "(--no-config)" },
    };
    int32_t r = read_directory(SYSTEM_DIRECTORY, system_names, arena, &found[0], err);

    if (r == ABX_OK && !request->system_only)
        r = find_global(arena, &found[1], err);
    if (r == ABX_OK && !request->system_only)
        r = request->file ? read_named(request->cwd, request->file, arena, &found[2], err)
                          : find_project(request->cwd, arena, &found[2], err);
    if (r == ABX_OK)
        memcpy(ret, found, sizeof found);
    return r;
}
