/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry of placeholders (plan/protocol.h has its format): in the first state directory that
 * can be had, mode 0700, ours, hidden from every sandbox, and trusted for that.
 *
 * One that can be had but not written, because its disk is full, is an error, although there may be
 * others: runs that record in different places do not know of each other, the end of one takes the
 * placeholders of the other away, and a command can fill a disk.
 */
#include "run/hold_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/io.h"
#include "probe/state.h"

bool hold_registry_is_full(int r)
{
    return r == -ENOSPC || r == -EDQUOT;
}

static const char *remedy(int r)
{
    if (hold_registry_is_full(r))
        return "its disk is full, or your quota is used up: make room there";
    return r == -EFBIG ? "the limit of file sizes is too low for that: see ulimit -f"
                       : "make it writable, or set XDG_STATE_HOME";
}

int32_t hold_registry_failed(const struct hold *h, int r, const char *doing, abx_error **err)
{
    int32_t code = err_sys(err, ABX_E_SANDBOX, r, "%s the registry of placeholders in '%s'", doing,
                           h->state);
    err_hint(err,
             "names that must not be created are guarded by placeholders, and those are recorded "
             "in a directory of yours: %s",
             remedy(r));
    return code;
}

int32_t hold_registry_open(struct hold *h, const char *const *state_dirs, abx_error **err)
{
    int r = -ENOENT;

    h->state = "(no directory)";
    for (; *state_dirs; state_dirs++) {
        h->state = *state_dirs;
        r = state_open(*state_dirs, "held", true);
        if (r >= 0)
            break;
    }
    if (r >= 0) {
        h->registry = r;
        h->keeper_registry = openat(r, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = h->keeper_registry < 0 ? -errno : fd_lock(h->registry, LOCK_EX);
        if (r == 0)
            return ABX_OK;
    }
    return hold_registry_failed(h, r, "open", err);
}

static void registry_name(char *name, size_t size, const struct stat *st)
{
    (void)snprintf(name, size, "%016llx-%016llx", (unsigned long long)st->st_dev,
                   (unsigned long long)st->st_ino);
}

int hold_registry_write(int file, const void *data, size_t len, off_t at)
{
    int r = io_may_grow(file, len);
    ssize_t n = r < 0 ? r : pwrite(file, data, len, at);

    if (n < 0)
        return r < 0 ? r : -errno;
    return (size_t)n == len ? 0 : -ENOSPC;
}

static int write_header(int file, const struct stat *st, const char *path)
{
    struct hold_header header = { .dev = st->st_dev, .ino = st->st_ino };
    size_t len = strlen(path);

    if (len <= HOLD_PATH_MAX)
        header.path_len = (uint32_t)len;
    int r = hold_registry_write(file, &header, sizeof header, 0);
    if (r == 0 && header.path_len)
        r = hold_registry_write(file, path, len, (off_t)sizeof header);
    return r;
}

int hold_registry_file(const struct hold *h, const struct stat *st, const char *path)
{
    char name[40];
    struct stat old;

    registry_name(name, sizeof name, st);
    _fd_ int file = openat(h->registry, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return -errno;
    if (flock(file, LOCK_SH | LOCK_NB) < 0)
        return -errno; /* cannot be: exclusive locks are held only with the registry locked */
    if (fstat(file, &old) < 0)
        return -errno;
    int r = old.st_size == 0 ? write_header(file, st, path) : 0;
    if (r < 0)
        return ftruncate(file, 0) < 0 ? -errno : r; /* half a header would stay one */
    return TAKE_FD(file);
}
