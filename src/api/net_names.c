/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A laptop changes networks while a run goes on for hours: then resolv.conf is another one, and
 * the role has to be told. Watched are both files, and the directories that they and what they
 * lead to lie in, because such files are replaced more often than written. What happens there is
 * only a reason to look: a file counts as changed when its identity, size or time is another.
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

/* The file itself, which may be mounted from elsewhere, and the directory that it lies in. */
static void watch_file(int fd, const char *path)
{
    const uint32_t events = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_TO;
    char real[PATH_MAX];

    if (!realpath(path, real))
        return;
    (void)inotify_add_watch(fd, real, IN_CLOSE_WRITE);
    char *slash = strrchr(real, '/');
    slash[slash == real] = '\0'; /* of "/x": "/" */
    (void)inotify_add_watch(fd, real, events);
}

static void watch_files(int fd)
{
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        watch_file(fd, files[i]);
    (void)inotify_add_watch(fd, "/etc", IN_CREATE | IN_DELETE | IN_MOVED_TO); /* of links, too */
}

void names_open(struct names_watch *w)
{
    *w = (struct names_watch){ .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK) };
    take_stamps(w->stamps);
    if (w->fd >= 0)
        watch_files(w->fd);
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
    if (changed)
        watch_files(w->fd); /* another file, or a link that leads elsewhere now */
    return changed;
}
