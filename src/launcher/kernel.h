/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of the kernel that only a libc's headers declare. */
#ifndef ABX_LAUNCHER_KERNEL_H
#define ABX_LAUNCHER_KERNEL_H

#include <linux/uio.h>

#include "base/defs.h"

struct msghdr_kernel {
    void *name;
    int name_len;
    struct iovec *iov;
    size_t iov_len;
    void *control;
    size_t control_len;
    unsigned flags;
};

#define SCM_RIGHTS_TYPE  1
#define SOL_SOCKET_LEVEL 1

#endif
