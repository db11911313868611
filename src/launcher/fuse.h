/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of /dev/fuse, as far as a mask speaks it. Pure; no libc. */
#ifndef ABX_LAUNCHER_FUSE_H
#define ABX_LAUNCHER_FUSE_H

#include "base/defs.h"

#define FUSE_REQUEST_MAX 8192u /* the kernel reads out nothing into less */
#define FUSE_ANSWER_MAX  128u
#define FUSE_NAME_LEN    255u /* longer ones are cut: the kernel itself looks none up */

/* What the mask is: a directory or a file, without any permission, and whose. */
struct fuse_mask {
    uint32_t mode, uid, gid;
};

struct fuse_request {
    uint32_t pid; /* of the thread that waits, in the namespace of whoever mounted */
    bool refused; /* somebody wanted to see what is hidden */
    char name[FUSE_NAME_LEN + 1]; /* in the mask; "": the mask itself */
};

/*
 * Reads one request and writes its answer, which is never that there is anything to see. Returns
 * the answer's length; 0: this one gets none.
 */
size_t fuse_answer(const struct fuse_mask *mask, const void *bytes, size_t len,
                   struct fuse_request *ret, uint8_t answer[FUSE_ANSWER_MAX]);

#endif
