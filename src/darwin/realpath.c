/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path as the kernel calls it: F_GETPATH of a descriptor gives the very text that Seatbelt
 * compares, with case and normal form as on disk (A11) and firmlinks undone (A156). O_EVTONLY asks
 * for no access and does not keep a volume busy.
 *
 * The deepest part that exists is asked for; the rest is appended as it was written, without "."
 * and ".." (the caller's path is clean). Only ENOENT and ENOTDIR mean absent.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "darwin/canonical.h"

_Static_assert(DARWIN_PATH_MAX == MAXPATHLEN, "F_GETPATH writes MAXPATHLEN bytes");

static int ask_kernel(const char *path, char *out)
{
    int fd = open(path, O_EVTONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : 0;

    if (fd >= 0) {
        r = fcntl(fd, F_GETPATH, out) < 0 ? -errno : 0;
        (void)close(fd);
    }
    return r;
}

int darwin_real_path(const char *path, char *out, bool *ret_exists)
{
    char part[DARWIN_PATH_MAX], whole[DARWIN_PATH_MAX] = "";
    size_t len = strlen(path), end = len;

    if (len >= sizeof part)
        return -ENAMETOOLONG;
    for (;;) {
        memcpy(part, path, end);
        part[end] = '\0';
        int r = ask_kernel(end ? part : "/", whole);
        if (r == 0)
            break;
        if ((r != -ENOENT && r != -ENOTDIR) || end == 0)
            return r;
        while (end > 0 && path[end - 1] != '/')
            end--;
        end -= end > 0;
    }
    *ret_exists = end == len || !path[1];
    size_t known = whole[1] ? strlen(whole) : 0;
    const char *rest = path[1] ? path + end : "";
    if (known + strlen(rest) >= sizeof whole)
        return -ENAMETOOLONG;
    memcpy(whole + known, rest, strlen(rest) + 1);
    return darwin_canonical(whole, out);
}
