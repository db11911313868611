/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole reads and writes.
 *
 * io_read_file is meant for files that others may have put there: it never blocks (a fifo or a
 * device is opened with O_NONBLOCK and refused), never takes a terminal as its own, never believes
 * st_size (files in /proc say 0, others grow while they are read), and stops at the buffer's limit.
 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define IO_CHUNK 4096 /* files are small; each page of a larger one would be touched */

int io_may_grow(int fd, size_t len)
{
    struct rlimit limit;
    struct stat st;

    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
        fstat(fd, &st) < 0)
        return 0;
    return (rlim_t)st.st_size > limit.rlim_cur || len > limit.rlim_cur - (rlim_t)st.st_size ? -EFBIG
                                                                                            : 0;
}

int io_write_all(int fd, const void *bytes, size_t len)
{
    const char *p = bytes;

    while (len > 0) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -EIO;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

int io_read_fd(int fd, struct buf *b)
{
    char chunk[IO_CHUNK];

    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));
        int r;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        r = buf_append(b, chunk, (size_t)n);
        if (r < 0)
            return r;
    }
}

int io_read_file(int dirfd, const char *path, struct buf *b)
{
    _fd_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    return io_read_fd(fd, b);
}
