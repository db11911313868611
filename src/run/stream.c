/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captured output. The bytes are the command's, so nothing is assumed about them. Memory is bounded
 * by the limit; what goes beyond it is read all the same, so that the command never blocks on us.
 */
#include "run/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"

#define STREAM_CHUNK  65536
#define STREAM_ROUNDS 16 /* at most 1 MiB of one stream before the other gets its turn */

int stream_open(struct stream *s, int32_t number, uint64_t limit, int *ret_child_fd)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
        int r = -errno;
        fd_close(ends[0]);
        fd_close(ends[1]);
        return r;
    }
    s->fd = ends[0];
    s->captured = true;
    s->number = number;
    s->limit = limit;
    buf_init(&s->kept, SIZE_MAX - 1);
    *ret_child_fd = ends[1];
    return 0;
}

static void stream_take(struct stream *s, const char *bytes, size_t len)
{
    size_t keep = len;

    if (s->limit)
        keep = s->total >= s->limit ? 0 : (size_t)MIN_OF((uint64_t)len, s->limit - s->total);
    s->total += len;
    if (keep && !s->forgets && !s->lost && buf_append(&s->kept, bytes, keep) < 0)
        s->lost = true;
    if (s->output)
        s->output(s->user, s->number, bytes, len);
}

/* A process that the host forked may have a copy: then the epoll would go on about its end. */
static void end(struct stream *s)
{
    if (s->epoll_fd >= 0)
        (void)epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
    fd_close(s->fd);
    s->fd = -1;
}

/* The buffer costs memory, page by page, as soon as this is called. */
static __attribute__((noinline)) bool read_chunks(struct stream *s)
{
    char chunk[STREAM_CHUNK];

    for (int i = 0; i < STREAM_ROUNDS && s->fd >= 0; i++) {
        ssize_t n = read(s->fd, chunk, sizeof chunk);
        if (n > 0) {
            stream_take(s, chunk, (size_t)n);
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0 && errno == EAGAIN) {
            return false;
        } else {
            end(s);
        }
    }
    return s->fd < 0;
}

bool stream_read(struct stream *s)
{
    return s->fd < 0 || read_chunks(s);
}

bool stream_truncated(const struct stream *s)
{
    return s->lost || (s->limit && s->total > s->limit);
}

void stream_close(struct stream *s)
{
    fd_close(s->fd);
    s->fd = -1;
    buf_done(&s->kept);
}
