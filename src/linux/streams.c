/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that come in as standard streams: those for reading (`<input`), FIFOs and disks.
 *
 * Such a descriptor belongs to a mount of the host. Through /proc/self/fd/0 the command could open
 * the file anew for writing, and fchmod() needs no second opening: the view of files does not bind
 * what was opened outside of it. So each is opened again by its path, in the copy of the host's
 * mounts that is about to become read-only (linux/mount.c); its position comes along, and goes back
 * to the caller when the command has ended. What is open for writing was passed to be written, and
 * stays as it is; so do pipes, sockets, and files that have no name any more.
 *
 * FIFOs and block devices are opened again whatever they are open for: a read-only mount keeps
 * their mode, owner and times, and lets them be read and written. Other devices may keep a state
 * for each opening, and are passed as they are.
 *
 * A device that every view has (`</dev/null`) is opened again there: the host's node is the same
 * file for all, and a command of root's could change its mode and owner by the descriptor.
 *
 * Where the path does not lead to the same file (another namespace's mount, a name that was taken
 * away from one of several), the descriptor is passed on only if it opens no way to a change.
 */
#include <asm/poll.h>
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <linux/time_types.h>

#include "linux/launch.h"

#define STREAM_PATH_MAX 4096
#define STREAM_ACCMODE  3
#define STREAM_SEEK_CUR 1
#define STREAM_FLAGS    (SYS_O_NONBLOCK | 02000 /* O_APPEND */)
#define DEVICE_MEM      1 /* major number of null, zero, full, random, urandom */

static const char *const stream_names[] = { "standard input", "standard output", "standard error" };

static void stream_link(int fd, char *to, size_t cap)
{
    to[0] = '\0';
    text_append(to, cap, "/proc/self/fd/");
    text_append_u64(to, cap, (uint64_t)fd);
}

/* The entry of the same file, by its name in our own mounts, or -errno. */
static long find_entry(int fd, const struct file_id *id)
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
    if (r >= 0)
        return entry;
    file_close((int)entry);
    return r;
}

static long open_entry(int entry, long how)
{
    char link[32];

    stream_link(entry, link, sizeof link);
    return SYS4(__NR_openat, SYS_AT_FDCWD, link, how | SYS_O_CLOEXEC, 0);
}

static bool is_hung_up(long fd)
{
    const struct __kernel_timespec now = { 0 };
    struct pollfd one = { .fd = (int)fd };

    (void)TRY5(__NR_ppoll, &one, 1, &now, 0, 0);
    return one.revents & POLLHUP;
}

/*
 * The end of a FIFO that fd is, without waiting for the other end. Where nobody has that any more,
 * the kernel opens no writer, and does not count the reader among those whom poll() tells of the
 * end. So for a moment we are both.
 */
static long open_fifo(int fd, int entry, long access)
{
    const long how = access | SYS_O_NONBLOCK;
    long again = open_entry(entry, how);

    if (again != -ENXIO && (again < 0 || !is_hung_up(fd) || is_hung_up(again)))
        return again;
    file_close((int)again);
    long both = open_entry(entry, SYS_O_RDWR | SYS_O_NONBLOCK);
    if (both < 0)
        return both;
    again = open_entry(entry, how);
    file_close((int)both);
    return again;
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

static long confine_file(struct launch *l, int fd, const struct statx *st, const struct file_id *id)
{
    long entry = find_entry(fd, id);
    long again = entry < 0 ? entry : open_entry((int)entry, SYS_O_RDONLY);

    file_close((int)entry);
    if (again < 0)
        return is_harmless(fd, st, l->plan.uid) ? 0 : again;
    long r = replace(l, fd, (int)again);
    file_close((int)again);
    return r;
}

/*
 * One that its name does not lead to comes from another mount namespace, as a container's streams
 * may, or is no FIFO but a pipe: it has no place in this view. Another user's cannot be changed.
 */
static long confine_special(struct launch *l, int fd, const struct statx *st, long flags,
                            const struct file_id *id)
{
    const bool fifo = (st->stx_mode & S_IFMT) == S_IFIFO;
    const long access = flags & STREAM_ACCMODE;
    long entry = find_entry(fd, id);

    if (entry < 0)
        return 0;
    long again = fifo ? open_fifo(fd, (int)entry, access) : open_entry((int)entry, access);
    file_close((int)entry);
    if (again < 0)
        return st->stx_uid == l->plan.uid ? again : 0;
    long r = SYS3(__NR_fcntl, again, F_SETFL, flags & STREAM_FLAGS);
    if (r >= 0)
        r = fifo ? SYS3(__NR_dup3, again, fd, 0) : replace(l, fd, (int)again);
    file_close((int)again);
    return r;
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
    const uint32_t type = st.stx_mode & S_IFMT;
    if ((type != S_IFREG && type != S_IFIFO && type != S_IFBLK) || st.stx_nlink == 0)
        return 0;
    long flags = SYS2(__NR_fcntl, fd, F_GETFL);
    if (flags < 0 || (flags & SYS_O_PATH))
        return flags < 0 ? flags : 0;
    if (type == S_IFREG && (flags & STREAM_ACCMODE) != SYS_O_RDONLY)
        return 0;
    r = file_identify(fd, &id);
    if (r < 0)
        return r;
    return type == S_IFREG ? confine_file(l, fd, &st, &id)
                           : confine_special(l, fd, &st, flags, &id);
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
