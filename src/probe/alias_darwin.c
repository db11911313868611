/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second names by mounts: macOS has no bind mounts, and its firmlinks are undone when a path is
 * resolved (fd_real_path). What a file system of somebody else shows twice is not known here.
 * There are no file systems of the kernel's own either, but for /dev.
 */
#include "probe/kernelfs.h"

int32_t scan_aliases(struct scan *s)
{
    (void)s;
    return ABX_OK;
}

int32_t scan_mounts(struct scan *s)
{
    (void)s;
    return ABX_OK;
}

bool kernelfs_holds(const struct scan *s, const char *path)
{
    (void)s;
    (void)path;
    return false;
}

/* The profile names every spelling. */
bool scan_has_spellings(const char *dir)
{
    (void)dir;
    return false;
}
