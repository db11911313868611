/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the portable files use and macOS spells otherwise or has not. Every file of the macOS build
 * gets it first (tools/cross-macos); files of Linux never do. Where the meaning differs, the
 * difference is said.
 */
#ifndef ABX_DARWIN_COMPAT_LINUX_H
#define ABX_DARWIN_COMPAT_LINUX_H

#include <crt_externs.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/*
 * A descriptor that only names a directory. macOS wants the right to read it, so a directory that
 * may be entered but not listed counts as one that may not be entered.
 */
#define O_PATH          0
#define AT_NO_AUTOMOUNT 0 /* nothing is mounted by being looked at */

#define CLOCK_MONOTONIC_COARSE CLOCK_MONOTONIC
#define CLOCK_REALTIME_COARSE  CLOCK_REALTIME
#define st_mtim                st_mtimespec
#define st_ctim                st_ctimespec
#define environ                (*_NSGetEnviron())

#define dirent64 dirent
/* As of Linux, with the system's own records. The end of a buffer may be used by the kernel. */
ssize_t getdents64(int fd, void *buffer, size_t size);

int pipe2(int ends[2], int flags); /* O_CLOEXEC only; not atomic: see posix_spawn in run_darwin.c */
pid_t gettid(void);
ssize_t getrandom(void *buffer, size_t size, unsigned flags);
void *memrchr(const void *bytes, int c, size_t size);
void *reallocarray(void *old, size_t count, size_t size);
const char *strerrordesc_np(int error);

/* Conditions are waited for by the monotonic clock: cond_init says so, and all are made there. */
#define pthread_condattr_setclock(attributes, clock) ((void)(attributes), 0)
#define pthread_cond_timedwait                       compat_cond_timedwait
int compat_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                          const struct timespec *deadline);

#endif
