/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of linux.h. Each does what its namesake does, as far as the portable files use it;
 * none is exported by the library.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/defs.h"
#include "darwin/undeclared.h"

ssize_t getdents64(int fd, void *buffer, size_t size)
{
    off_t position;

    return __getdirentries64(fd, buffer, size, &position);
}

int pipe2(int ends[2], int flags)
{
    if (flags != O_CLOEXEC) {
        errno = EINVAL;
        return -1;
    }
    if (pipe(ends) < 0)
        return -1;
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC); /* fails for no open descriptor */
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

/* Of the thread, for names that must be unique among threads. */
pid_t gettid(void)
{
    uint64_t id = 0;

    (void)pthread_threadid_np(NULL, &id);
    return (pid_t)(id & INT32_MAX);
}

/* At most 256 bytes at a time, which the system gives at once and always whole. */
ssize_t getrandom(void *buffer, size_t size, unsigned flags)
{
    (void)flags;
    return getentropy(buffer, size) < 0 ? -1 : (ssize_t)size;
}

void *memrchr(const void *bytes, int c, size_t size)
{
    const unsigned char *p = bytes;

    while (size > 0)
        if (p[--size] == (unsigned char)c)
            return (void *)(uintptr_t)(p + size);
    return NULL;
}

void *reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, bytes);
}

/* Of Linux the text is a constant; here it holds until the thread's next call. */
const char *strerrordesc_np(int error)
{
    static _Thread_local char text[128];

    return strerror_r(error, text, sizeof text) == 0 ? text : "unknown error";
}

/* A condition of macOS knows how long to wait, and no clock but that of the wall. */
int compat_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                          const struct timespec *deadline)
{
    struct timespec now, left;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    left.tv_sec = deadline->tv_sec - now.tv_sec;
    left.tv_nsec = deadline->tv_nsec - now.tv_nsec;
    if (left.tv_nsec < 0) {
        left.tv_nsec += NSEC_PER_SEC;
        left.tv_sec--;
    }
    if (left.tv_sec < 0)
        return ETIMEDOUT;
    return pthread_cond_timedwait_relative_np(cond, mutex, &left);
}
