/* SPDX-License-Identifier: Apache-2.0 */
/* One captured output stream: kept up to a limit, drained and counted beyond it. */
#ifndef ABX_RUN_STREAM_H
#define ABX_RUN_STREAM_H

#include "agentbox/agentbox.h"
#include "base/buf.h"
#include "base/defs.h"

struct stream {
    int fd;       /* our end of the pipe, non-blocking; -1: not captured, or ended */
    int epoll_fd; /* that watches it, or -1 */
    bool captured;
    bool forgets;   /* nothing is kept: the bytes are for `output` alone */
    int32_t number; /* 1 or 2 */
    uint64_t limit; /* bytes kept; 0: all */
    uint64_t total; /* bytes seen */
    struct buf kept;
    bool lost; /* memory ran out before the limit */
    abx_output_fn output;
    void *user;
};

/* *ret_child_fd is the command's end. 0 or -errno. */
int stream_open(struct stream *s, int32_t number, uint64_t limit, int *ret_child_fd);
/* Reads what is there now. Returns true when the stream has ended. */
bool stream_read(struct stream *s);
bool stream_truncated(const struct stream *s);
void stream_close(struct stream *s);

#endif
