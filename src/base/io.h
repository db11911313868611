/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and writes. 0 or -errno. */
#ifndef ABX_BASE_IO_H
#define ABX_BASE_IO_H

#include "base/buf.h"
#include "base/defs.h"

/* 0, or -EFBIG if so much more would end this process by SIGXFSZ (RLIMIT_FSIZE). */
int io_may_grow(int fd, size_t len);
int io_write_all(int fd, const void *bytes, size_t len); /* retries EINTR and short writes */
/* Appends what is left to read, at most the buffer's limit (-E2BIG). */
int io_read_fd(int fd, struct buf *b);
/* Appends the file to b: regular files only, O_NONBLOCK, at most the buffer's limit (-E2BIG). */
int io_read_file(int dirfd, const char *path, struct buf *b);

#endif
