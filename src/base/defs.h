/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that every file may use. No libc beyond the freestanding headers: the launcher, which
 * runs without one, includes this file too.
 */
#ifndef ABX_BASE_DEFS_H
#define ABX_BASE_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

#define ATTR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define ATTR_NORETURN          __attribute__((noreturn))
#define FALLTHROUGH            __attribute__((fallthrough))

/* The struct of which `member`, that `ptr` points at, is a part. */
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Ownership leaves a cleanup variable: `*ret_fd = TAKE_FD(fd);` */
#define TAKE_FD(fd)                                                                                \
    ({                                                                                             \
        int take_fd_ = (fd);                                                                       \
        (fd) = -1;                                                                                 \
        take_fd_;                                                                                  \
    })
#define TAKE_PTR(p)                                                                                \
    ({                                                                                             \
        __typeof__(p) take_p_ = (p);                                                               \
        (p) = NULL;                                                                                \
        take_p_;                                                                                   \
    })

#define NSEC_PER_SEC  INT64_C(1000000000)
#define NSEC_PER_MSEC INT64_C(1000000)

#endif
