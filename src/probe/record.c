/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records. Written beside and renamed, mode 0600. Read only if they are regular files of ours that
 * nobody else may write; a symbolic link, or what cannot be read, is no record.
 */
#include "probe/record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "probe/state.h"

int record_read(int dir, const char *name, struct buf *ret)
{
    _fd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return -EPERM;
    return io_read_fd(fd, ret);
}

bool record_begins(int dir, const char *name, const struct buf *head)
{
    _buf_ struct buf b = { .limit = RECORD_MAX };

    return record_read(dir, name, &b) == 0 && b.data && b.len >= head->len &&
           memcmp(b.data, head->data, head->len) == 0;
}

int record_write(int dir, const char *name, const struct buf *record)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    char beside[NAME_MAX + 1];

    /* By thread: two of one process may write the same record. */
    if (snprintf(beside, sizeof beside, "%s.%ld", name, (long)gettid()) >= (int)sizeof beside)
        return -ENAMETOOLONG;
    _fd_ int fd = openat(dir, beside, flags, 0600);
    if (fd < 0 && errno == EEXIST && unlinkat(dir, beside, 0) == 0)
        fd = openat(dir, beside, flags, 0600);
    if (fd < 0)
        return -errno;
    int r = io_write_all(fd, record->data, record->len);
    if (r == 0 && renameat(dir, beside, dir, name) < 0)
        r = -errno;
    if (r < 0)
        (void)unlinkat(dir, beside, 0);
    return r;
}

int32_t record_keep(const char *const *state_dirs, const char *directory, const char *name,
                    const struct buf *record, const char *doing, abx_error **err)
{
    const char *tried = "(no directory)";
    int r = -ENOENT;

    for (; *state_dirs; state_dirs++) {
        _fd_ int dir = state_open(*state_dirs, directory, true);
        tried = *state_dirs;
        r = dir < 0 ? dir : record_write(dir, name, record);
        if (r == 0)
            return ABX_OK;
    }
    int32_t code = err_sys(err, ABX_E_IO, r, "%s in '%s/%s'", doing, tried, directory);
    err_subject(err, tried);
    err_hint(err, "make that directory writable, or set XDG_STATE_HOME");
    return code;
}
