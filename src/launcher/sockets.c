/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of the host that the plan names: pid 1 connects them for the command.
 *
 * The command's filter lets no Unix socket be made by its own hand: socket() and connect() wait
 * here. socket() is answered with one end of a pair whose other end is gone. The kernel takes such
 * a socket for connected for good: connect() gives EISCONN, listen() EINVAL, sendmsg() with an
 * address EISCONN. connect() to a Unix address is never let through; if what it names is one of
 * the plan's sockets, pid 1 connects a new socket to the one that it opened before the command
 * ran, and puts it in the place of the command's descriptor.
 *
 * Trusts nothing of the caller: the address is read once, into our memory, and decides only which
 * of the plan's sockets is meant. Whatever another thread swaps meanwhile (the address, the
 * descriptor, the path) leads to one of them, or to a socket that cannot be connected. A call whose
 * memory cannot be read, or whose address is of another family, goes on: with such sockets the
 * kernel has nothing to connect. Datagram sockets are refused: they take an address with every
 * message, where no filter sees it.
 */
#include <linux/stat.h>
#include <linux/time_types.h>

#include "launcher/launcher.h"
#include "plan/watch.h"

#define FAMILY_UNIX     1
#define TYPE_STREAM     1u
#define TYPE_SEQPACKET  5u
#define TYPE_BITS       0xfu
#define TYPE_NONBLOCK   04000u
#define TYPE_CLOEXEC    02000000u
#define ADDRESS_MAX     108u /* sun_path */
#define FAMILY_SIZE     2u
#define STORAGE_MAX     128u /* the kernel takes no longer address of any family */
#define ABSTRACT_PREFIX '@'

/* A listener whose queue is full: how often it is tried again, and how far apart. */
#define CONNECT_TRIES 20
#define CONNECT_PAUSE (10 * NSEC_PER_MSEC)

struct address {
    uint16_t family;
    char path[ADDRESS_MAX + 1];
};

SMALL_STATE static struct {
    struct {
        int fd;
        uint64_t dev, ino;
    } list[PLAN_MAX_SOCKETS];
    uint32_t count;
    bool named;
} sockets;

static char name_text[WATCH_NAME_MAX], path_text[WATCH_NAME_MAX];

/* ---- set-up: they are opened in the final view, where the mounts have checked them ---- */

long sockets_open(struct launch *l)
{
    const struct plan *p = &l->plan;

    sockets.named = p->named;
    for (uint32_t i = 0; p->named && i < p->mount_count; i++) {
        const struct mount_op *op = &p->mounts[i];
        struct file_id id;

        if (!(op->flags & MOUNT_SOCKET))
            continue;
        l->object = op->path;
        if (sockets.count == ARRAY_LEN(sockets.list))
            return -E2BIG;
        long fd = file_open_path(op->path);
        long r = fd < 0 ? fd : file_identify((int)fd, &id);
        if (r < 0)
            return r;
        if (id.dev != op->dev || id.ino != op->ino)
            return -ESTALE;
        if ((id.mode & S_IFMT) != S_IFSOCK)
            return -ENOTSOCK;
        sockets.list[sockets.count].fd = (int)fd;
        sockets.list[sockets.count].dev = id.dev;
        sockets.list[sockets.count].ino = id.ino;
        sockets.count++;
    }
    return 0;
}

/* ---- socket() ---- */

static void serve_socket(int listener, const struct notice *n)
{
    const uint32_t given = (uint32_t)n->args[1], type = given & TYPE_BITS;
    int pair[2];

    if (type != TYPE_STREAM && type != TYPE_SEQPACKET) {
        notify_answer(listener, n, EPERM);
        return;
    }
    if (given & ~(TYPE_BITS | TYPE_NONBLOCK | TYPE_CLOEXEC)) {
        notify_answer(listener, n, EINVAL);
        return;
    }
    if ((uint32_t)n->args[2] != 0 && (uint32_t)n->args[2] != FAMILY_UNIX) {
        notify_answer(listener, n, EPROTONOSUPPORT);
        return;
    }
    long r = TRY4(__NR_socketpair, FAMILY_UNIX, type | (given & TYPE_NONBLOCK) | TYPE_CLOEXEC, 0,
                  pair);
    if (r < 0) {
        notify_answer(listener, n, (int)-r);
        return;
    }
    file_close(pair[1]);
    r = notify_give(listener, n, pair[0], given & TYPE_CLOEXEC);
    file_close(pair[0]);
    if (r < 0)
        notify_answer(listener, n, (int)-r);
}

/* ---- connect() ---- */

/* The octal number behind "flags:". */
static bool parse_flags(const char *info, uint32_t *ret)
{
    static const char label[] = "flags:";
    uint32_t value = 0;

    while (*info && !text_has_prefix(info, label))
        info++;
    if (!*info)
        return false;
    info += sizeof label - 1;
    while (*info == ' ' || *info == '\t')
        info++;
    for (; *info >= '0' && *info <= '7'; info++)
        value = value << 3 | (uint32_t)(*info - '0');
    *ret = value;
    return true;
}

/* O_NONBLOCK and O_CLOEXEC of the caller's descriptor, which must be a socket: 0 or -errno. */
static long read_flags(const struct notice *n, uint32_t *ret)
{
    char text[64], info[256];
    const uint32_t fd = (uint32_t)n->args[0];

    text[0] = '\0';
    (void)text_append(text, sizeof text, "/proc/");
    (void)text_append_u64(text, sizeof text, n->pid);
    size_t len = text_append(text, sizeof text, "/fd/");
    (void)text_append_u64(text, sizeof text, fd);
    long got = TRY4(__NR_readlinkat, SYS_AT_FDCWD, text, info, sizeof info - 1);
    if (got < 0)
        return got == -ENOENT ? -EBADF : got;
    info[got] = '\0';
    if (!text_has_prefix(info, "socket:"))
        return -ENOTSOCK;
    text[len - 1] = '\0';
    (void)text_append(text, sizeof text, "info/");
    (void)text_append_u64(text, sizeof text, fd);
    long file = TRY4(__NR_openat, SYS_AT_FDCWD, text, SYS_O_RDONLY | SYS_O_CLOEXEC, 0);
    if (file < 0)
        return file == -ENOENT ? -EBADF : file;
    got = TRY3(__NR_read, file, info, sizeof info - 1);
    file_close((int)file);
    info[got > 0 ? got : 0] = '\0';
    return parse_flags(info, ret) ? 0 : -EBADF;
}

static long connect_once(uint32_t type, const struct address *to)
{
    long fd = TRY3(__NR_socket, FAMILY_UNIX, type | TYPE_NONBLOCK | TYPE_CLOEXEC, 0);

    if (fd < 0)
        return fd;
    for (int tries = 0;; tries++) {
        const struct __kernel_timespec pause = { .tv_nsec = CONNECT_PAUSE };
        long r = TRY3(__NR_connect, fd, to, sizeof to->family + text_len(to->path) + 1);

        if (r >= 0)
            return fd;
        if (r != -EAGAIN || tries == CONNECT_TRIES) {
            file_close((int)fd);
            return r;
        }
        (void)TRY5(__NR_ppoll, 0, 0, &pause, 0, 0);
    }
}

/* A socket that is connected to number i of the list, or -errno. */
static long connect_to(uint32_t i)
{
    struct address to = { .family = FAMILY_UNIX, .path = "/proc/self/fd/" };

    (void)text_append_u64(to.path, sizeof to.path, (uint64_t)sockets.list[i].fd);
    long fd = connect_once(TYPE_STREAM, &to);
    return fd == -EPROTOTYPE ? connect_once(TYPE_SEQPACKET, &to) : fd;
}

long sockets_replace(int listener, const struct notice *n, int fd)
{
    const int blocking = 0;
    uint32_t flags;
    long r = read_flags(n, &flags);

    if (r >= 0 && !(flags & TYPE_NONBLOCK))
        r = TRY3(__NR_ioctl, fd, 0x5421 /* FIONBIO */, &blocking);
    if (r >= 0)
        r = notify_replace(listener, n, fd, (uint32_t)n->args[0], flags & TYPE_CLOEXEC);
    return r;
}

static long replace(int listener, const struct notice *n, uint32_t i)
{
    long fd = connect_to(i);

    if (fd < 0)
        return fd;
    long r = sockets_replace(listener, n, (int)fd);
    file_close((int)fd);
    return r;
}

/* What the path leads to in the caller's view; the record, if it is not to be reached. */
static long find_listed(const struct notice *n, const char *path, uint32_t *ret)
{
    char link[40] = "/proc/self/fd/";
    struct file_id id;

    (void)watch_name(n, -1, path, name_text);
    long fd = TRY4(__NR_openat, SYS_AT_FDCWD, name_text, SYS_O_PATH | SYS_O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    long r = file_identify((int)fd, &id);
    (void)text_append_u64(link, sizeof link, (uint64_t)fd);
    long len = TRY4(__NR_readlinkat, SYS_AT_FDCWD, link, path_text, sizeof path_text);
    file_close((int)fd);
    if (r < 0)
        return r;
    if ((id.mode & S_IFMT) != S_IFSOCK)
        return -ECONNREFUSED;
    for (uint32_t i = 0; i < sockets.count; i++)
        if (sockets.list[i].dev == id.dev && sockets.list[i].ino == id.ino) {
            *ret = i;
            return 0;
        }
    if (len > 0)
        watch_tell(n, WATCH_UNIX, path_text, (size_t)len);
    return -EACCES;
}

static long connect_named(int listener, const struct notice *n, struct address *a, size_t len)
{
    uint32_t i;

    if (len == FAMILY_SIZE || len > FAMILY_SIZE + ADDRESS_MAX)
        return -EINVAL;
    if (a->path[0] == '\0') {
        a->path[0] = ABSTRACT_PREFIX;
        watch_tell(n, WATCH_UNIX, a->path, len - FAMILY_SIZE);
        return -ECONNREFUSED;
    }
    long r = find_listed(n, a->path, &i);
    return r < 0 ? r : replace(listener, n, i);
}

/* False: not to a Unix address, as far as can be seen. */
static bool serve_connect(int listener, const struct notice *n)
{
    struct address a = { 0 };
    const size_t len = (uint32_t)n->args[2];
    const size_t size = MIN_OF(len, FAMILY_SIZE + ADDRESS_MAX);

    if (len < FAMILY_SIZE || len > STORAGE_MAX ||
        notify_read(n, n->args[1], &a, size) != (long)size || a.family != FAMILY_UNIX)
        return false;
    long r = connect_named(listener, n, &a, len);
    if (r < 0)
        notify_answer(listener, n, (int)-r);
    return true;
}

bool sockets_serve(int listener, const struct notice *n)
{
    if (!sockets.named)
        return false;
    if (n->number == __NR_socket) {
        serve_socket(listener, n);
        return true;
    }
    return n->number == __NR_connect && serve_connect(listener, n);
}
