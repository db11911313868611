/* SPDX-License-Identifier: Apache-2.0 */
/* One wrapper for each call of the net role and of what it stands on; see net_fault.h. */
#include "lib/net_fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>

static struct net_fault *armed;

void net_fault_arm(struct net_fault *shared)
{
    armed = shared;
}

static bool fails(const char *name)
{
    struct net_fault *f = armed;

    if (!f || (f->name[0] && strcmp(f->name, name) != 0))
        return false;
    uint32_t n = ++f->calls;
    if (f->at == 0 || n < f->at || n - f->at >= f->times)
        return false;
    f->failed++;
    strncpy(f->last, name, sizeof f->last - 1);
    errno = f->error;
    return true;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker makes these names. */

/* The call itself, its wrapper, and what a failure of it looks like. */
#define WRAP(type, name, failure, parameters, arguments)                                           \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails(#name) ? (failure) : __real_##name arguments;                                 \
    }

WRAP(int, accept4, -1, (int fd, struct sockaddr *a, socklen_t *len, int flags), (fd, a, len, flags))
WRAP(void *, calloc, NULL, (size_t n, size_t size), (n, size))
WRAP(int, close_range, -1, (unsigned first, unsigned last, int flags), (first, last, flags))
WRAP(int, connect, -1, (int fd, const struct sockaddr *a, socklen_t len), (fd, a, len))
WRAP(int, epoll_create1, -1, (int flags), (flags))
WRAP(int, epoll_ctl, -1, (int epoll, int op, int fd, struct epoll_event *event),
     (epoll, op, fd, event))
WRAP(int, epoll_wait, -1, (int epoll, struct epoll_event *events, int max, int timeout),
     (epoll, events, max, timeout))
WRAP(int, fcntl64, -1, (int fd, int command, long argument), (fd, command, argument))
WRAP(int, getpeername, -1, (int fd, struct sockaddr *a, socklen_t *len), (fd, a, len))
WRAP(ssize_t, getrandom, -1, (void *to, size_t size, unsigned flags), (to, size, flags))
WRAP(int, getrlimit64, -1, (int what, struct rlimit64 *limit), (what, limit))
WRAP(int, getsockopt, -1, (int fd, int level, int option, void *value, socklen_t *len),
     (fd, level, option, value, len))
WRAP(void *, malloc, NULL, (size_t size), (size))
WRAP(int, pipe2, -1, (int fds[2], int flags), (fds, flags))
WRAP(int, prctl, -1,
     (int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d),
     (option, a, b, c, d))
WRAP(void *, realloc, NULL, (void *old, size_t size), (old, size))
WRAP(ssize_t, recv, -1, (int fd, void *to, size_t size, int flags), (fd, to, size, flags))
WRAP(ssize_t, __recv_chk, -1, (int fd, void *to, size_t size, size_t room, int flags),
     (fd, to, size, room, flags))
WRAP(ssize_t, recvmsg, -1, (int fd, struct msghdr *message, int flags), (fd, message, flags))
WRAP(ssize_t, send, -1, (int fd, const void *bytes, size_t len, int flags), (fd, bytes, len, flags))
WRAP(ssize_t, sendmsg, -1, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
WRAP(int, setrlimit64, -1, (int what, const struct rlimit64 *limit), (what, limit))
WRAP(int, setsockopt, -1, (int fd, int level, int option, const void *value, socklen_t len),
     (fd, level, option, value, len))
WRAP(int, shutdown, -1, (int fd, int how), (fd, how))
WRAP(int, socket, -1, (int family, int type, int protocol), (family, type, protocol))
WRAP(ssize_t, splice, -1,
     (int from, off_t *from_at, int to, off_t *to_at, size_t len, unsigned flags),
     (from, from_at, to, to_at, len, flags))
WRAP(char *, strdup, NULL, (const char *text), (text))
WRAP(long, syscall, -1, (long number, long a, long b, long c, long d, long e, long f),
     (number, a, b, c, d, e, f))
/* NOLINTEND(bugprone-reserved-identifier) */
