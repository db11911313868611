/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File descriptors, as far as all systems agree: closing, and opening a path component by
 * component, so that no link that somebody planted leads elsewhere. What is no directory, a link
 * among them, ends the way.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

void fd_close(int fd)
{
    int saved = errno;

    if (fd >= 0)
        (void)close(fd);
    errno = saved;
}

void fd_closep(int *fd)
{
    fd_close(*fd);
}

int fd_lock(int fd, int how)
{
    int r;

    do
        r = flock(fd, how);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

int fd_open_by_components(int dirfd, const char *path, int way_flags, int last_flags)
{
    const int way = way_flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    char name[NAME_MAX + 1];
    _fd_ int at = openat(dirfd, path[0] == '/' ? "/" : ".", way);

    if (!path[0])
        return -ENOENT;
    while (at >= 0) {
        path += strspn(path, "/");
        size_t len = strcspn(path, "/");
        if (len == 0)
            return TAKE_FD(at);
        if (len >= sizeof name)
            return -ENAMETOOLONG;
        memcpy(name, path, len);
        name[len] = '\0';
        path += len;
        int fd = openat(at, name, *path ? way : last_flags | O_CLOEXEC);
        int error = errno;
        fd_close(at);
        at = fd;
        errno = error;
    }
    return -errno;
}
