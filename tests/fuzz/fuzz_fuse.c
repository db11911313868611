/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a mask of any bytes: the answer is for the same request, has the length that it says,
 * never shows anything, and is EACCES exactly when it is to be told.
 */
#include <errno.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launcher/fuse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const struct fuse_in_header *in, const struct fuse_request *r,
                         const uint8_t *answer, size_t len)
{
    const bool shows = in->opcode == FUSE_INIT || in->opcode == FUSE_GETATTR ||
                       in->opcode == FUSE_STATFS;
    struct fuse_out_header out;

    if (len < sizeof out || len > FUSE_ANSWER_MAX)
        abort();
    memcpy(&out, answer, sizeof out);
    if (out.len != len || out.unique != in->unique)
        abort();
    if (out.error != 0 && out.error != -EACCES && out.error != -ENOSYS)
        abort();
    if (r->refused != (out.error == -EACCES) || (len > sizeof out) != shows)
        abort();
    if (in->opcode == FUSE_LOOKUP && !r->refused)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fuse_mask mask = { .mode = S_IFDIR, .uid = 1, .gid = 2 };
    uint8_t answer[FUSE_ANSWER_MAX];
    struct fuse_request request;
    struct fuse_in_header in = { 0 };

    size_t len = fuse_answer(&mask, data, size, &request, answer);
    if (size >= sizeof in)
        memcpy(&in, data, sizeof in);
    if (strlen(request.name) > FUSE_NAME_LEN)
        abort();
    if (len)
        check_answer(&in, &request, answer, len);
    else if (request.refused)
        abort();
    return 0;
}
