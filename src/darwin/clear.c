/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that left its session outlives the run on macOS, and may rename and link while its
 * directory is being removed. So nothing is ever named by more than one component: each directory
 * is opened below the one that is open, without following a link, and its entries are removed
 * relative to it. Whatever it does, only what it could have removed itself is removed.
 */
#include "darwin/clear.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/defs.h"
#include "base/fd.h"

static void clear_entries(int fd, int depth);

/* NOLINTNEXTLINE(misc-no-recursion): CLEAR_MAX_DEPTH */
static int clear_one(int above, const char *name, int depth)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

    if (unlinkat(above, name, 0) == 0)
        return 0;
    (void)!fchmodat(above, name, 0700, AT_SYMLINK_NOFOLLOW); /* a directory may be closed to us */
    int fd = depth < CLEAR_MAX_DEPTH ? openat(above, name, flags) : -1;
    if (fd >= 0)
        clear_entries(fd, depth + 1);
    return unlinkat(above, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* Takes fd. NOLINTNEXTLINE(misc-no-recursion): CLEAR_MAX_DEPTH */
static void clear_entries(int fd, int depth)
{
    DIR *dir = fdopendir(fd);

    if (!dir) {
        fd_close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)clear_one(fd, entry->d_name, depth);
    (void)closedir(dir);
}

int clear_tree(int above, const char *name)
{
    return clear_one(above, name, 0);
}
