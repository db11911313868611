/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git's index of any bytes, with object names of both lengths: no read behind the end, no more
 * links than entries fit, paths that are not empty.
 */
#include <stdlib.h>
#include <string.h>

#include "probe/gitindex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_links(const void *bytes, size_t size, size_t hash)
{
    struct gitindex index;
    const char *path;
    size_t count = 0;

    gitindex_init(&index, bytes, size, hash);
    while ((path = gitindex_next_link(&index)))
        if (!path[0] || index.path.data != path || ++count * (hash + 42) > size)
            abort();
    gitindex_done(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = malloc(size ? size : 1); /* of its own size, so that a sanitizer sees the end */

    if (!bytes)
        return 0;
    if (size)
        memcpy(bytes, data, size);
    read_links(bytes, size, 20);
    read_links(bytes, size, 32);
    free(bytes);
    return 0;
}
