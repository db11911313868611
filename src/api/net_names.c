/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A laptop changes networks while a run goes on for hours: then resolv.conf is another one, and the
 * role has to be told. The directories of both files are watched, and of what resolv.conf leads to,
 * because such files are replaced, not written. What happens there is only a reason to look: a
 * file counts as changed when its identity, size or time is another.
 */
#include "api/net_names.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static const char *const files[] = { NAMES_HOSTS, NAMES_RESOLV };

static void take_stamps(struct names_stamp stamps[ARRAY_LEN(files)])
{
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct stat st = { 0 };

        (void)stat(files[i], &st); /* one that is not there is all zeros */
        stamps[i] = (struct names_stamp){ st.st_dev, st.st_ino, st.st_size, st.st_mtim.tv_sec,
                                          st.st_mtim.tv_nsec };
    }
}

static void watch_directory(int fd, const char *path)
{
    char real[PATH_MAX];

    if (!realpath(path, real))
        return;
    char *slash = strrchr(real, '/');
    slash[slash == real] = '\0'; /* of "/x": "/" */
    (void)inotify_add_watch(fd, real, IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_TO);
}

void names_open(struct names_watch *w)
{
    *w = (struct names_watch){ .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK) };
    take_stamps(w->stamps);
    if (w->fd < 0)
        return;
    watch_directory(w->fd, NAMES_HOSTS);
    watch_directory(w->fd, NAMES_RESOLV);
    (void)inotify_add_watch(w->fd, "/etc", IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_TO);
}

void names_close(struct names_watch *w)
{
    fd_close(TAKE_FD(w->fd));
}

bool names_changed(struct names_watch *w)
{
    struct names_stamp now[ARRAY_LEN(files)];
    char events[4096];

    while (read(w->fd, events, sizeof events) > 0)
        ;
    take_stamps(now);
    bool changed = memcmp(now, w->stamps, sizeof now) != 0;
    memcpy(w->stamps, now, sizeof now);
    /* resolv.conf may lead elsewhere now. */
    if (changed)
        watch_directory(w->fd, NAMES_RESOLV);
    return changed;
}
