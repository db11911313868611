/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders on the host: made here, removed by the launcher's keeper (launcher/hold.c), or here
 * when the keeper was killed.
 *
 * Trusted: the registry directory (mode 0700, ours, hidden from every sandbox). Not trusted: the
 * directories in which the placeholders lie; another sandbox may be changing them right now. So
 * every directory is opened without following a symlink and identified by device and inode, and an
 * entry counts as a placeholder only if the registry has its device and inode.
 */
#include "run/hold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/io.h"
#include "probe/held.h"
#include "run/hold_registry.h"

#define HOLD_REPAIRS_PER_RUN 16
#define HOLD_FILES_LISTED    256
#define HOLD_FILE_LEN        33 /* "<dev>-<ino>" */
#define HOLD_KEEP_SECONDS    (30L * 24 * 3600)
#define HOLD_KEEP_FILES      64 /* with more, those that are empty go at once */
#define HOLD_SPARE           "spare"
#define HOLD_SPARE_LINKS     30000 /* ext4 takes 65,000 */

void hold_init(struct hold *h)
{
    h->registry = h->keeper_registry = -1;
    h->state = NULL;
    h->unrecorded = false;
    h->count = 0;
}

/* ---- one directory ---- */

static int open_directory(struct hold *h, const struct plan_hold *hold)
{
    _fd_ int path_fd = fd_open_path(AT_FDCWD, hold->directory);
    struct stat st;

    if (path_fd < 0)
        return path_fd;
    _fd_ int dir = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 && errno == EACCES)
        dir = TAKE_FD(path_fd); /* writable but not readable: enough for us */
    if (dir < 0 || fstat(dir, &st) < 0)
        return -errno;
    _fd_ int file = hold_registry_file(h, &st, hold->directory);
    h->unrecorded = file < 0;
    if (file < 0)
        return file;
    h->dirs[h->count] = TAKE_FD(dir);
    h->files[h->count] = TAKE_FD(file);
    h->count++;
    return 0;
}

/* One directory that is being filled. */
struct filling {
    const struct plan_hold *hold;
    struct hold *h;
    int dir, file;
    const char *socket, *blank; /* names made here: those that are alike become links to them */
    struct stat blank_st;       /* as it was made: the name may lead elsewhere by now */
};

/* Adds the names to the registry as links to one inode; what is not made of it is ignored later. */
static int register_names(const struct filling *f, const struct plan_hold *hold,
                          const struct stat *st)
{
    struct hold_entry *entries = calloc(hold->count, sizeof *entries);
    struct stat size;
    int r = 0;

    if (!entries)
        return -ENOMEM;
    for (uint32_t i = 0; i < hold->count; i++) {
        entries[i] = (struct hold_entry){ .dev = st->st_dev, .ino = st->st_ino };
        memcpy(entries[i].name, hold->names[i], strlen(hold->names[i]) + 1);
    }
    if (fstat(f->file, &size) < 0)
        r = -errno;
    off_t at = size.st_size < HOLD_ENTRIES_AT ? HOLD_ENTRIES_AT : size.st_size;
    if (r == 0)
        r = hold_registry_write(f->file, entries, hold->count * sizeof *entries, at);
    free(entries);
    f->h->unrecorded = r < 0;
    return r;
}

/*
 * Names that programs read whether they are there or not, on the host too, and what stands for
 * "nothing" there. Everything else gets a socket.
 */
static const struct {
    const char *name, *text; /* NULL: an empty directory */
} readable[] = {
    { ".env", "" },
    { "AGENTS.md", "" },
    { "CLAUDE.md", "" },
    { "agents", NULL },
    { "bin", NULL },
    { "commands", NULL },
    { "commondir", ".\n" }, /* the repository is its own */
    { "config", "" },
    { "config.toml", "" },
    { "credentials.toml", "" },
    { "env", "" },
    { "extensions", NULL },
    { "hooks", NULL },
    { "hooks.json", "{}\n" },
    { "models.json", "{}\n" },
    { "plugins", NULL },
    { "prompts", NULL },
    { "rules", NULL },
    { "session-env", NULL },
    { "settings.json", "{}\n" },
    { "settings.local.json", "{}\n" },
    { "shell-snapshots", NULL },
    { "shell_snapshots", NULL },
    { "skills", NULL },
};

static int register_one(const struct filling *f, const char *name, const struct stat *st)
{
    const struct plan_hold one = { .names = &name, .count = 1 };

    return register_names(f, &one, st);
}

/*
 * A name that is there already: another run's placeholder; a socket that was lost when a machine
 * died, which we take over; or a real entry by now: the launcher looks.
 */
static int adopt(const struct filling *f, const char *name)
{
    struct stat st;

    if (fstatat(f->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_uid != geteuid() ||
        !S_ISSOCK(st.st_mode) || !hold_is_shaped(st.st_mode, (uint64_t)st.st_size))
        return 0;
    return register_one(f, name, &st);
}

/* Entered before it exists: a run that is killed right after making it leaves a trace. */
static int register_intent(const struct filling *f, const char *name)
{
    const struct stat unknown = { 0 };

    return register_one(f, name, &unknown);
}

/* Where its permissions are not kept. What cannot be marked stays when the run is over. */
static void mark(const struct filling *f, const char *name, const struct stat *st)
{
    const struct timespec times[2] = { { .tv_sec = HOLD_TIME }, { .tv_sec = HOLD_TIME } };

    if (!hold_is_shaped(st->st_mode, 0))
        (void)utimensat(f->dir, name, times, AT_SYMLINK_NOFOLLOW);
}

static int make_directory(const struct filling *f, const char *name)
{
    struct stat st;
    int r = register_intent(f, name);

    if (r < 0)
        return r;
    if (mkdirat(f->dir, name, HOLD_DIR_BITS) < 0)
        return errno == EEXIST ? adopt(f, name) : -errno;
    if (fstatat(f->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    mark(f, name, &st);
    return register_one(f, name, &st);
}

static int make_file(struct filling *f, const char *name, const char *text)
{
    int r = register_intent(f, name);
    if (r < 0)
        return r;
    if (!*text && f->blank && linkat(f->dir, f->blank, f->dir, name, 0) == 0)
        return register_one(f, name, &f->blank_st);
    _fd_ int fd = openat(f->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         HOLD_FILE_BITS);
    struct stat st;

    if (fd < 0)
        return errno == EEXIST ? adopt(f, name) : -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!*text) {
        f->blank = name;
        f->blank_st = st;
    }
    r = register_one(f, name, &st);
    if (r == 0)
        r = io_write_all(fd, text, strlen(text));
    mark(f, name, &st);
    return r;
}

/* True if name is one of those above; then *ret_result is what became of it. */
static bool make_readable(struct filling *f, const char *name, int *ret_result)
{
    for (size_t i = 0; i < ARRAY_LEN(readable); i++) {
        if (strcmp(readable[i].name, name) != 0)
            continue;
        *ret_result = readable[i].text ? make_file(f, name, readable[i].text)
                                       : make_directory(f, name);
        return true;
    }
    return false;
}

/*
 * The registry keeps a socket that all others are links to: nothing is allocated or freed in a run,
 * which in a loop of runs costs milliseconds on ext4 (it looks at every inode freed in the last
 * minute before it takes one). Whoever shares a directory with a run can reach the inode through
 * its placeholders: it is made anew if it does not look as made.
 */
static bool spare_is_fit(int registry)
{
    struct stat st;

    return fstatat(registry, HOLD_SPARE, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid() &&
           S_ISSOCK(st.st_mode) && hold_is_shaped(st.st_mode, (uint64_t)st.st_size) &&
           st.st_nlink < HOLD_SPARE_LINKS;
}

static int link_spare(const struct filling *f, const char *name)
{
    if (!spare_is_fit(f->h->registry)) {
        (void)unlinkat(f->h->registry, HOLD_SPARE, 0);
        if (mknodat(f->h->registry, HOLD_SPARE, S_IFSOCK, 0) < 0)
            return -errno;
    }
    return linkat(f->h->registry, HOLD_SPARE, f->dir, name, 0) < 0 ? -errno : 0;
}

/* The directory's first socket: the others become links to it. */
static int make_first_socket(struct filling *f, const char *name)
{
    struct stat st;
    int r = register_intent(f, name);

    if (r < 0)
        return r;
    r = link_spare(f, name);
    if (r < 0 && r != -EEXIST) /* another file system */
        r = mknodat(f->dir, name, S_IFSOCK, 0) < 0 ? -errno : 0;
    if (r < 0)
        return r;
    if (fstatat(f->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    f->socket = name;
    return register_names(f, f->hold, &st);
}

/* One socket, and links to it for the other names: all are in the registry before they exist. */
static int make_socket(struct filling *f, const char *name)
{
    int r;

    if (f->socket)
        r = linkat(f->dir, f->socket, f->dir, name, 0) < 0 ? -errno : 0;
    else
        r = make_first_socket(f, name);
    if (r == -EEXIST)
        return adopt(f, name);
    if (r < 0 && f->socket != name)
        return make_directory(f, name); /* file systems without sockets, like FAT */
    return r;
}

/* Git reads a commondir beside a HEAD; in a work tree, where there is none, it would list it. */
static bool is_unread(const struct filling *f, const char *name)
{
    return strcmp(name, "commondir") == 0 &&
           faccessat(f->dir, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

/*
 * Branches that only packed-refs has (@git-strict): git looks through an empty directory in the
 * place of a branch, and would call anything else a broken one.
 */
static bool holds_branches(const struct plan_hold *hold)
{
    const char *heads = strstr(hold->directory, "/refs/heads");

    return heads && (heads[11] == '\0' || heads[11] == '/');
}

static int fill_directory(struct hold *h, unsigned i, const struct plan_hold *hold)
{
    struct filling f = { .hold = hold, .h = h, .dir = h->dirs[i], .file = h->files[i] };
    int r = 0;

    for (uint32_t n = 0; n < hold->count && r == 0; n++) {
        const char *name = hold->names[n];

        if (strlen(name) > HOLD_NAME_MAX)
            return -ENAMETOOLONG;
        if (holds_branches(hold))
            r = make_directory(&f, name);
        else if (is_unread(&f, name) || !make_readable(&f, name, &r))
            r = make_socket(&f, name);
    }
    return r;
}

/* ---- repair ---- */

static bool remove_entry(struct hold_entry *entry, const void *data)
{
    const int *dir = data;
    struct stat st;

    if (fstatat(*dir, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        hold_is_removable(entry, st.st_mode, (uint64_t)st.st_size, st.st_mtime) &&
        (!entry->ino || (st.st_dev == entry->dev && st.st_ino == entry->ino)))
        (void)unlinkat(*dir, entry->name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
    return false; /* go on */
}

static void remove_entries(int dir, int file)
{
    struct stat st;

    (void)held_each(file, remove_entry, &dir);
    if (fstat(file, &st) == 0 && st.st_size > HOLD_ENTRIES_AT &&
        ftruncate(file, HOLD_ENTRIES_AT) < 0)
        return; /* entries of what is gone do no harm */
}

/* The directory that a registry file speaks of, if it still is the same one. */
static int open_recorded(int file)
{
    struct hold_header header;
    char path[HOLD_PATH_MAX + 1];
    struct stat st;

    if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header || header.path_len == 0 ||
        header.path_len > HOLD_PATH_MAX)
        return -ENOENT;
    if (pread(file, path, header.path_len, (off_t)sizeof header) != (ssize_t)header.path_len)
        return -EIO;
    path[header.path_len] = '\0';
    _fd_ int dir = fd_open_path(AT_FDCWD, path);
    if (dir < 0)
        return dir;
    if (fstat(dir, &st) < 0 || st.st_dev != header.dev || st.st_ino != header.ino)
        return -ESTALE;
    return TAKE_FD(dir);
}

/* A file that nobody has used for so long goes; until then its directory need not make another. */
static bool is_old(const struct stat *st)
{
    return time(NULL) - st->st_mtime > HOLD_KEEP_SECONDS;
}

static void repair_file(int registry, const char *name, bool crowded)
{
    _fd_ int file = openat(registry, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;

    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) < 0 || fstat(file, &st) < 0)
        return; /* in use */
    bool empty = st.st_size <= HOLD_ENTRIES_AT;
    _fd_ int dir = empty ? -EAGAIN : open_recorded(file);
    if (dir >= 0)
        remove_entries(dir, file);
    /* A directory that is gone took its placeholders along; one that cannot be reached may return.
     */
    if (dir == -ENOENT || dir == -ESTALE || dir == -ENOTDIR || (empty && (crowded || is_old(&st))))
        (void)unlinkat(registry, name, 0);
    /* A process that the host forks just now has a copy, and the lock. */
    (void)flock(file, LOCK_UN);
}

/* The registry's files, up to a number; how many there are. */
static size_t list_files(int registry, char (*names)[HOLD_FILE_LEN + 1], size_t max)
{
    int copy = openat(registry, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    size_t n = 0;

    if (!list) {
        fd_close(copy);
        return 0;
    }
    while (n < max && (entry = readdir(list)) != NULL)
        if (strlen(entry->d_name) == HOLD_FILE_LEN)
            memcpy(names[n++], entry->d_name, HOLD_FILE_LEN + 1);
    (void)closedir(list);
    return n;
}

/*
 * Placeholders whose runs are dead (their locks are free): a power cut, or a killed keeper and
 * host. A few files are looked at in each run, beginning anywhere; those of its own directories are
 * taken over in any case, since a placeholder counts as absent.
 */
static void repair(struct hold *h)
{
    char names[HOLD_FILES_LISTED][HOLD_FILE_LEN + 1];
    size_t n = list_files(h->registry, names, HOLD_FILES_LISTED);
    const bool crowded = n > HOLD_KEEP_FILES;
    struct timespec now;
    struct stat st;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    for (size_t i = 0; i < MIN_OF(n, (size_t)HOLD_REPAIRS_PER_RUN); i++) {
        const char *name = names[((size_t)now.tv_nsec + i) % n];
        if (fstatat(h->registry, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            (crowded || st.st_size > HOLD_ENTRIES_AT || is_old(&st)))
            repair_file(h->registry, name, crowded);
    }
}

/* ---- life ---- */

int32_t hold_open(struct hold *h, const struct plan *plan, const char *const *state_dirs,
                  abx_error **err)
{
    if (plan->hold_count == 0)
        return ABX_OK;
    if (plan->hold_count > LAUNCH_MAX_HOLDS)
        return err_new(err, ABX_E_CONFIG, "protect absent names in %u directories: the limit is %d",
                       plan->hold_count, LAUNCH_MAX_HOLDS);
    int32_t code = hold_registry_open(h, state_dirs, err);
    if (code != ABX_OK)
        return code;
    repair(h);
    for (uint32_t i = 0; i < plan->hold_count; i++) {
        int r = open_directory(h, &plan->holds[i]);
        if (r < 0)
            return h->unrecorded ? hold_registry_failed(h, r, "write", err)
                                 : err_sys(err, ABX_E_SANDBOX, r, "protect absent names in '%s'",
                                           plan->holds[i].directory);
    }
    return ABX_OK;
}

/* Its owner may change its mode at any time. */
static bool is_ours(int dir)
{
    struct stat st;

    return fstat(dir, &st) < 0 || st.st_uid == geteuid();
}

int32_t hold_fill(struct hold *h, const struct plan *plan, abx_error **err)
{
    for (uint32_t i = 0; i < h->count; i++) {
        int r = fill_directory(h, i, &plan->holds[i]);
        if (r < 0 && h->unrecorded)
            return hold_registry_failed(h, r, "write", err);
        /* Where we may not create anything, the command may not either; the launcher makes sure. */
        if (r == 0 || r == -EROFS || (r == -EACCES && !is_ours(h->dirs[i])))
            continue;
        int32_t code = err_sys(err, ABX_E_SANDBOX, r, "protect absent names in '%s'",
                               plan->holds[i].directory);
        if (r == -EACCES)
            err_hint(err, "it is yours, so a command could make it writable and create them: "
                          "chmod u+wx it, or grant it only for reading with --ro");
        else if (hold_registry_is_full(r))
            err_hint(err, "there is no room for new names, or your quota is used up: make some, "
                          "or grant it only for reading with --ro");
        return code;
    }
    hold_unlock(h);
    return ABX_OK;
}

void hold_unlock(struct hold *h)
{
    if (h->registry >= 0)
        (void)flock(h->registry, LOCK_UN);
}

void hold_handed_over(struct hold *h)
{
    fd_close(h->keeper_registry);
    h->keeper_registry = -1;
}

void hold_release(struct hold *h)
{
    if (h->registry < 0 || fd_lock(h->registry, LOCK_EX) < 0)
        return;
    for (unsigned i = 0; i < h->count; i++) {
        if (flock(h->files[i], LOCK_EX | LOCK_NB) == 0)
            remove_entries(h->dirs[i], h->files[i]);
        (void)flock(h->files[i], LOCK_UN); /* the next run may come before we are gone */
    }
    (void)flock(h->registry, LOCK_UN);
}

void hold_close(struct hold *h)
{
    for (unsigned i = 0; i < h->count; i++) {
        fd_close(h->dirs[i]);
        fd_close(h->files[i]);
    }
    fd_close(h->registry);
    fd_close(h->keeper_registry);
    hold_init(h);
}
