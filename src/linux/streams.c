/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that come in as standard streams for reading (`<input`).
 *
 * Such a descriptor belongs to a mount of the host. Through /proc/self/fd/0 the command could open
 * the file anew for writing, and fchmod() needs no second opening: the view of files does not bind
 * what was opened outside of it. So each is opened again by its path, in the copy of the host's
 * mounts that is about to become read-only (linux/mount.c); its position comes along, and goes back
 * to the caller when the command has ended. What is open for writing was passed to be written, and
 * stays as it is; so do pipes, sockets, and files that have no name any more.
 *
 * A device that every view has (`</dev/null`) is opened again there: the host's node is the same
 * file for all, and a command of root's could change its mode and owner by the descriptor.
 *
 * Where the path does not lead to the same file (another namespace's mount, a name that was taken
 * away from one of several), the descriptor is passed on only if it opens no way to a change.
 */
#include <linux/fcntl.h>
#include <linux/stat.h>

#include "linux/launch.h"

#define STREAM_PATH_MAX 4096
#define STREAM_ACCMODE  3
#define STREAM_SEEK_CUR 1
#define DEVICE_MEM      1 /* major number of null, zero, full, random, urandom */

static const char *const stream_names[] = { "standard input", "standard output", "standard error" };

static void stream_link(int fd, char *to, size_t cap)
{
    to[0] = '\0';
    text_append(to, cap, "/proc/self/fd/");
    text_append_u64(to, cap, (uint64_t)fd);
}

/* The same file, by its name in our own mounts, or -errno. */
static long open_again(int fd, const struct file_id *id)
{
    char link[32], path[STREAM_PATH_MAX];
    struct file_id found;

    stream_link(fd, link, sizeof link);
    long n = SYS4(__NR_readlinkat, SYS_AT_FDCWD, link, path, sizeof path - 1);
    if (n < 0)
        return n;
    path[n] = '\0';
    if (path[0] != '/')
        return -ESTALE;
    long entry = file_open_path(path);
    if (entry < 0)
        return entry;
    long r = file_identify((int)entry, &found);
    if (r >= 0 && (found.dev != id->dev || found.ino != id->ino))
        r = -ESTALE;
    if (r >= 0) {
        stream_link((int)entry, link, sizeof link);
        r = SYS4(__NR_openat, SYS_AT_FDCWD, link, SYS_O_RDONLY | SYS_O_CLOEXEC, 0);
    }
    file_close((int)entry);
    return r;
}

/* Neither its content nor its mode can be changed through it, tried by doing. */
static bool is_harmless(int fd, const struct statx *st, uint32_t uid)
{
    char link[32];

    stream_link(fd, link, sizeof link);
    long r = TRY4(__NR_openat, SYS_AT_FDCWD, link, SYS_O_WRONLY | SYS_O_CLOEXEC, 0);
    if (r >= 0)
        file_close((int)r);
    return r == -EROFS || (r == -EACCES && st->stx_uid != uid);
}

static long replace(struct launch *l, int fd, int again)
{
    long at = SYS3(__NR_lseek, fd, 0, STREAM_SEEK_CUR);
    long r = at < 0 ? at : SYS3(__NR_lseek, again, at, 0);

    if (r >= 0 && fd == 0) {
        r = SYS3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, LAUNCH_FD_CWD + 1);
        l->input_fd = (int)r;
    }
    return r < 0 ? r : SYS3(__NR_dup3, again, fd, 0);
}

static long confine(struct launch *l, int fd)
{
    struct statx st;
    struct file_id id;
    long r = SYS5(__NR_statx, fd, "", SYS_AT_EMPTY_PATH, STATX_TYPE | STATX_NLINK | STATX_UID, &st);

    if (r == -EBADF)
        return 0; /* closed: nothing comes in */
    if (r < 0)
        return r;
    if ((st.stx_mode & S_IFMT) != S_IFREG || st.stx_nlink == 0)
        return 0;
    long flags = SYS2(__NR_fcntl, fd, F_GETFL);
    if (flags < 0 || (flags & STREAM_ACCMODE) != SYS_O_RDONLY || (flags & SYS_O_PATH))
        return flags < 0 ? flags : 0;
    r = file_identify(fd, &id);
    if (r < 0)
        return r;
    long again = open_again(fd, &id);
    if (again < 0)
        return is_harmless(fd, &st, l->plan.uid) ? 0 : again;
    r = replace(l, fd, (int)again);
    file_close((int)again);
    return r;
}

long streams_confine(struct launch *l)
{
    long r = 0;

    for (int fd = 0; fd < 3 && r >= 0; fd++) {
        l->object = stream_names[fd];
        r = confine(l, fd);
    }
    return r;
}

/* The name in the view of a device that every view has; NULL: another device, or none. */
static const char *device_name(const struct statx *st)
{
    static const char *const names[] = { [3] = "/dev/null",
                                         [5] = "/dev/zero",
                                         [7] = "/dev/full",
                                         [8] = "/dev/random",
                                         [9] = "/dev/urandom" };

    if ((st->stx_mode & S_IFMT) != S_IFCHR || st->stx_rdev_major != DEVICE_MEM)
        return NULL;
    return st->stx_rdev_minor < ARRAY_LEN(names) ? names[st->stx_rdev_minor] : NULL;
}

static long renew(struct launch *l, int fd)
{
    struct statx st;

    if (TRY5(__NR_statx, fd, "", SYS_AT_EMPTY_PATH, STATX_TYPE, &st) < 0)
        return 0; /* closed */
    const char *name = device_name(&st);
    if (!name)
        return 0;
    l->object = name;
    long flags = SYS2(__NR_fcntl, fd, F_GETFL);
    if (flags < 0)
        return flags;
    long again = SYS4(__NR_openat, SYS_AT_FDCWD, name, (flags & STREAM_ACCMODE) | SYS_O_CLOEXEC, 0);
    if (again < 0)
        return again;
    long r = SYS3(__NR_dup3, again, fd, 0);
    file_close((int)again);
    return r;
}

long streams_renew(struct launch *l)
{
    long r = 0;

    for (int fd = 0; fd < 3 && r >= 0; fd++)
        r = renew(l, fd);
    return r;
}

/* The caller and whoever reads the same input next go on where the command stopped. */
void streams_give_back(const struct launch *l)
{
    if (l->input_fd < 0)
        return;
    long at = TRY3(__NR_lseek, 0, 0, STREAM_SEEK_CUR);
    if (at >= 0)
        (void)TRY3(__NR_lseek, l->input_fd, at, 0);
}
