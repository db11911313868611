/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's side asks of macOS beyond shim.c, played on Linux. */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darwin/canonical.h"
#include "darwin/undeclared.h"

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

int removefile(const char *path, void *state, uint32_t flags)
{
    (void)state;
    if (flags != REMOVEFILE_RECURSIVE)
        abort();
    return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int darwin_real_path(const char *path, char *out, bool *ret_exists)
{
    char real[PATH_MAX];

    *ret_exists = realpath(path, real) != NULL;
    if (!*ret_exists || strlen(real) >= DARWIN_PATH_MAX)
        return -ENOENT;
    memcpy(out, real, strlen(real) + 1);
    return 0;
}
