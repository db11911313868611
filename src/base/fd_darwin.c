/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File descriptors on macOS.
 *
 * fd_open_path goes component by component and follows no link: O_SYMLINK opens one itself, and
 * what comes behind it must be a directory. O_EVTONLY asks for no access to the file; a socket
 * cannot be opened at all.
 *
 * There are no sealed files in memory, so no fd_memfd: run/spawn_darwin.c has what macOS offers.
 */
#include "base/fd.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/attr.h>
#include <unistd.h>

int fd_open_path(int dirfd, const char *path)
{
    return fd_open_by_components(dirfd, path, O_RDONLY, O_EVTONLY | O_SYMLINK | O_NONBLOCK);
}

const char *fd_entry_name(int dirfd, const char *name, char room[FD_NAME_ROOM])
{
    struct attrlist want = { .bitmapcount = ATTR_BIT_MAP_COUNT, .commonattr = ATTR_CMN_NAME };
    struct {
        uint32_t length;
        attrreference_t reference;
        char text[FD_NAME_ROOM];
    } __attribute__((aligned(4), packed)) got;

    if (getattrlistat(dirfd, name, &want, &got, sizeof got, FSOPT_NOFOLLOW) < 0)
        return name;
    const char *text = (const char *)&got.reference + got.reference.attr_dataoffset;
    size_t len = strnlen(text, MIN_OF(got.reference.attr_length, (uint32_t)FD_NAME_ROOM));
    if (len == 0 || len == FD_NAME_ROOM)
        return name;
    memcpy(room, text, len);
    room[len] = '\0';
    return room;
}

int fd_real_path(int fd, struct buf *path)
{
    char real[PATH_MAX];

    if (fcntl(fd, F_GETPATH, real) < 0 || real[0] != '/')
        return 0;
    path->len = 0;
    return real[1] ? buf_puts(path, real) : 0;
}
