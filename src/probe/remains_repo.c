/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What git runs of a repository: its hooks, and programs that its config names. Which keys do that
 * changes with git's versions, so the ones that are known to do nothing are listed, and whatever
 * else is there counts.
 */
#include "probe/remains_repo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/str.h"
#include "probe/git.h"
#include "probe/gitconfig.h"

/*
 * Keys that `git init`, `clone`, `submodule`, `remote` and `branch` write, and name no program. Not
 * those of a partial clone: there a mere look may ask the remote for what is missing.
 */
static const struct {
    const char *section, *keys;
} harmless[] = {
    { "branch", " remote merge rebase pushremote description " },
    { "core", " repositoryformatversion filemode bare logallrefupdates ignorecase symlinks "
              "precomposeunicode autocrlf eol " },
    { "extensions", " objectformat refstorage " },
    { "init", " defaultbranch " },
    { "pull", " rebase ff " },
    { "push", " default " },
    { "remote", " url pushurl fetch push tagopt prune mirror " },
    { "submodule", " url active branch " },
    { "user", " name email signingkey " },
};

bool remains_is_newer(const struct remains_before *b, const struct stat *st)
{
    const struct timespec *at = &st->st_ctim;

    return at->tv_sec > b->time.tv_sec ||
           (at->tv_sec == b->time.tv_sec && at->tv_nsec >= b->time.tv_nsec);
}

static bool is_known(const struct remains_before *b, const struct stat *st)
{
    for (size_t i = 0; i < b->known_count; i++)
        if (b->known[i].dev == (uint64_t)st->st_dev && b->known[i].ino == (uint64_t)st->st_ino)
            return true;
    return false;
}

static bool is_harmless(const struct gitconfig_entry *e)
{
    char word[64];
    const size_t len = strlen(e->key);

    if (len + 3 > sizeof word)
        return false;
    word[0] = ' ';
    memcpy(word + 1, e->key, len);
    memcpy(word + 1 + len, " ", 2);
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
        if (str_eq(e->section, harmless[i].section))
            return strstr(harmless[i].keys, word) != NULL;
    return false;
}

/* The directory that a small file names, behind a prefix; -1: none. */
static int follow(int dirfd, const char *file, const char *prefix)
{
    _buf_ struct buf text = { .limit = GIT_MAX_POINTER };

    if (io_read_file(dirfd, file, &text) < 0 || !text.data || !str_has_prefix(text.data, prefix))
        return -1;
    char *name = text.data + strlen(prefix);
    name += strspn(name, " \t");
    name[strcspn(name, "\r\n")] = '\0';
    return openat(dirfd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A work tree that is not where the repository was found is as good as a program. */
static bool is_tree(int gitdir, const char *value, const struct stat *tree)
{
    struct stat st;

    return fstatat(gitdir, value, &st, 0) == 0 && st.st_dev == tree->st_dev &&
           st.st_ino == tree->st_ino;
}

static const char *config_runs(int gitdir, int common, const struct stat *tree, struct arena *arena)
{
    _buf_ struct buf text = { .limit = GIT_MAX_CONFIG };
    struct gitconfig parser;
    struct gitconfig_entry e;
    const int r = io_read_file(common, "config", &text);

    if (r == -ENOENT)
        return NULL;
    if (r < 0)
        return "config";
    gitconfig_init(&parser, arena, text.data ? text.data : "", text.len);
    while (gitconfig_next(&parser, &e)) {
        const bool is_place = str_eq(e.section, "core") && str_eq(e.key, "worktree");

        if (is_place ? !is_tree(gitdir, e.value, tree) : !is_harmless(&e))
            return arena_printf(arena, "%s.%s", e.section, e.key);
    }
    return NULL;
}

static const char *hooks_run(int common, struct arena *arena)
{
    _fd_ int fd = openat(common, "hooks", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    const char *what = NULL;

    if (!stream)
        return NULL;
    (void)TAKE_FD(fd);
    while (!what && (entry = readdir(stream)))
        if (entry->d_name[0] != '.' && !str_has_suffix(entry->d_name, ".sample"))
            what = arena_printf(arena, "hooks/%s", entry->d_name);
    (void)closedir(stream);
    return what;
}

/* The git directory of what is new in dirfd, O_PATH; -1: nothing is. */
static int open_new(const struct remains_before *b, int dirfd, bool bare)
{
    struct stat dir, link, st;

    if (fstat(dirfd, &dir) < 0 || !S_ISDIR(dir.st_mode))
        return -1;
    if (fstatat(dirfd, ".git", &link, AT_SYMLINK_NOFOLLOW) == 0 &&
        fstatat(dirfd, ".git", &st, 0) == 0) {
        if (is_known(b, &st) || (!remains_is_newer(b, &dir) && !remains_is_newer(b, &link) &&
                                 !remains_is_newer(b, &st)))
            return -1;
        return S_ISDIR(st.st_mode) ? openat(dirfd, ".git", O_PATH | O_DIRECTORY | O_CLOEXEC)
                                   : follow(dirfd, ".git", "gitdir:");
    }
    if (!bare || fstatat(dirfd, "HEAD", &link, AT_SYMLINK_NOFOLLOW) < 0 ||
        fstatat(dirfd, "config", &st, 0) < 0 ||
        (!remains_is_newer(b, &link) && !remains_is_newer(b, &st)))
        return -1;
    return openat(dirfd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

const char *remains_runs(const struct remains_before *b, const char *path, bool bare,
                         struct arena *arena)
{
    _fd_ int dir = fd_open_path(AT_FDCWD, path);
    _fd_ int gitdir = dir < 0 ? -1 : open_new(b, dir, bare);
    _fd_ int other = gitdir < 0 ? -1 : follow(gitdir, "commondir", "");
    const int common = other < 0 ? gitdir : other;
    struct stat tree, st;

    if (gitdir < 0 || fstat(dir, &tree) < 0 || fstat(common, &st) < 0 || is_known(b, &st))
        return NULL; /* a new work tree of a repository that is protected */
    const char *what = config_runs(gitdir, common, &tree, arena);
    return what ? what : hooks_run(common, arena);
}
