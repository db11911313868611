/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second names by mounts: macOS has no bind mounts, and its firmlinks are undone when a path is
 * resolved (fd_real_path). What a file system of somebody else shows twice is not known here.
 */
#include "probe/scan_state.h"

int32_t scan_aliases(struct scan *s)
{
    (void)s;
    return ABX_OK;
}

/* The profile names every spelling. */
bool scan_has_spellings(const char *dir)
{
    (void)dir;
    return false;
}
