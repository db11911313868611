/* SPDX-License-Identifier: Apache-2.0 */
/* File descriptors: CLOEXEC at birth, negative means none, results are an fd or -errno. */
#ifndef ABX_BASE_FD_H
#define ABX_BASE_FD_H

#include "base/buf.h"
#include "base/defs.h"

void fd_close(int fd); /* keeps errno; negative is fine */
void fd_closep(int *fd);
#define _fd_ __attribute__((cleanup(fd_closep)))

/* flock that waits through signals: a host's handler must not cost a run. 0 or -errno. */
int fd_lock(int fd, int how);

/*
 * O_PATH descriptor of an absolute path, or of one relative to dirfd, without following a symlink
 * anywhere: one on the way is -ELOOP (or -ENOTDIR), one at the end is itself what is opened (fstat
 * tells). Paths longer than PATH_MAX are walked in pieces.
 */
int fd_open_path(int dirfd, const char *path);
/*
 * The same, one component after the other: each but the last with way_flags, as a directory; the
 * last with last_flags, which say that a link is not followed. fd_walk.c
 */
int fd_open_by_components(int dirfd, const char *path, int way_flags, int last_flags);
/*
 * Where files have more than one spelling (macOS: case, normal form, firmlinks), the one that the
 * kernel compares: the name of an entry (name itself, or room), and the path of what fd is (left as
 * it is where it cannot be told). 0 or -ENOMEM.
 */
#define FD_NAME_ROOM 1024
const char *fd_entry_name(int dirfd, const char *name, char room[FD_NAME_ROOM]);
int fd_real_path(int fd, struct buf *path);
/* A sealed file in memory that holds these bytes, offset 0: nobody can change it any more. */
int fd_memfd(const char *name, const void *bytes, size_t len, bool executable);

#endif
