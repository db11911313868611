/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files by descriptor. A path of the plan is resolved once per use, to an O_PATH descriptor, with
 * symlinks refused (the plan's paths are canonical: a symlink means that somebody changed the tree
 * since it was planned), and what was found is compared with what was planned.
 */
#include <linux/openat2.h>
#include <linux/stat.h>

#include "linux/sys.h"

#define PIECE_MAX 4000 /* below PATH_MAX, which counts the NUL */

/*
 * Where another sandbox's filter answers openat2 with ENOSYS: one component after the other. What
 * is no directory, a link among them, ends it.
 */
static long open_by_components(int dirfd, const char *path, bool last)
{
    const int flags = SYS_O_PATH | SYS_O_CLOEXEC | SYS_O_NOFOLLOW;
    char name[PIECE_MAX + 1];
    long at = SYS4(__NR_openat, dirfd, path[0] == '/' ? "/" : ".", flags | SYS_O_DIRECTORY, 0);

    while (at >= 0) {
        size_t len = 0;
        while (*path == '/')
            path++;
        while (path[len] && path[len] != '/')
            len++;
        if (len == 0)
            return at;
        memcpy(name, path, len);
        name[len] = '\0';
        path += len;
        long fd = SYS4(__NR_openat, at, name, flags | (*path || !last ? SYS_O_DIRECTORY : 0), 0);
        file_close((int)at);
        at = fd;
    }
    return at;
}

static long open_piece(int dirfd, const char *path, size_t len, bool last)
{
    char piece[PIECE_MAX + 1];
    struct open_how how = {
        .flags = SYS_O_PATH | SYS_O_CLOEXEC | (last ? SYS_O_NOFOLLOW : SYS_O_DIRECTORY),
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };

    memcpy(piece, path, len);
    piece[len] = '\0';
    long fd = SYS4(__NR_openat2, dirfd, piece, &how, sizeof how);
    return fd == -ENOSYS ? open_by_components(dirfd, piece, last) : fd;
}

/* The first len bytes of path. */
static long open_prefix(const char *path, size_t len)
{
    int dirfd = SYS_AT_FDCWD;

    while (len > PIECE_MAX) {
        size_t cut = PIECE_MAX;
        while (cut && path[cut] != '/')
            cut--;
        if (cut == 0)
            return -ENAMETOOLONG;
        long fd = open_piece(dirfd, path, cut, false);
        file_close(dirfd);
        if (fd < 0)
            return fd;
        dirfd = (int)fd;
        path += cut + 1;
        len -= cut + 1;
    }
    long fd = open_piece(dirfd, path, len, true);
    file_close(dirfd);
    return fd;
}

long file_open_at(int dirfd, const char *name)
{
    struct open_how how = {
        .flags = SYS_O_PATH | SYS_O_CLOEXEC | SYS_O_NOFOLLOW,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };

    return SYS4(__NR_openat2, dirfd, name, &how, sizeof how);
}

long file_open_path(const char *path)
{
    return open_prefix(path, text_len(path));
}

long file_open_parent(const char *path, const char **ret_name)
{
    size_t len = text_len(path);

    while (len && path[len - 1] != '/')
        len--;
    if (len == 0)
        return -EINVAL;
    *ret_name = path + len;
    return open_prefix(path, len == 1 ? 1 : len - 1);
}

static long identify(int fd, const char *path, int flags, struct file_id *ret)
{
    struct statx st;
    long r = SYS5(__NR_statx, fd, path, flags,
                  STATX_TYPE | STATX_MODE | STATX_INO | STATX_SIZE | STATX_MTIME | STATX_MNT_ID,
                  &st);

    if (r < 0)
        return r;
    /* The encoding of st_dev that the host's stat(2) shows. */
    uint64_t major = st.stx_dev_major, minor = st.stx_dev_minor;
    ret->dev = (major & 0xfffff000u) << 32 | (major & 0xfffu) << 8 | (minor & 0xffffff00u) << 12 |
               (minor & 0xffu);
    ret->ino = st.stx_ino;
    ret->size = st.stx_size;
    ret->mode = st.stx_mode;
    ret->changed = st.stx_mtime.tv_sec;
    ret->mount_root = (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    ret->mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0;
    return 0;
}

long file_identify(int fd, struct file_id *ret)
{
    return identify(fd, "", SYS_AT_EMPTY_PATH, ret);
}

long file_identify_at(int dirfd, const char *name, struct file_id *ret)
{
    return identify(dirfd, name, SYS_AT_NOFOLLOW, ret);
}

long file_identify_cached_at(int dirfd, const char *name, struct file_id *ret)
{
    const int dont_sync = 0x4000; /* AT_STATX_DONT_SYNC */

    return identify(dirfd, name, SYS_AT_NOFOLLOW | SYS_AT_EMPTY_PATH | dont_sync, ret);
}

long file_write(int dirfd, const char *path, const char *text)
{
    long fd = SYS4(__NR_openat, dirfd, path, SYS_O_WRONLY | SYS_O_CLOEXEC, 0);

    if (fd < 0)
        return fd;
    long n = SYS3(__NR_write, fd, text, text_len(text));
    file_close((int)fd);
    return n < 0 ? n : (size_t)n == text_len(text) ? 0 : -EIO;
}

void file_close(int fd)
{
    if (fd >= 0)
        (void)TRY1(__NR_close, fd); /* nothing to do about a failing close */
}
