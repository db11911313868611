/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's side asks of macOS beyond shim.c, played on Linux. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "darwin/canonical.h"

int darwin_real_path(const char *path, char *out, bool *ret_exists)
{
    char real[PATH_MAX];

    *ret_exists = realpath(path, real) != NULL;
    if (!*ret_exists || strlen(real) >= DARWIN_PATH_MAX)
        return -ENOENT;
    memcpy(out, real, strlen(real) + 1);
    return 0;
}
