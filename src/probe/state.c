/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $XDG_STATE_HOME/agentbox, else ~/.local/state/agentbox; where neither can be had (no home, a
 * read-only one), $XDG_RUNTIME_DIR/agentbox, else /var/tmp/agentbox-UID. The policy hides all of
 * them (policy/presets.c); whoever opens one checks its owner and mode. A run inside another finds
 * them hidden, and has its own in the outer one's /tmp.
 */
#include "probe/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "probe/inside.h"

#define STATE_CANDIDATES 5

const char *const *state_directories(struct arena *a, const char *home)
{
    const char **list = arena_alloc(a, STATE_CANDIDATES + 1, sizeof *list);
    const char *state = getenv("XDG_STATE_HOME"), *runtime = getenv("XDG_RUNTIME_DIR");
    size_t n = 0;

    if (!list)
        return NULL;
    if (state && state[0] == '/')
        list[n++] = arena_printf(a, "%s/agentbox", state);
    if (home)
        list[n++] = arena_printf(a, "%s/.local/state/agentbox", home);
    if (runtime && runtime[0] == '/')
        list[n++] = arena_printf(a, "%s/agentbox", runtime);
    list[n++] = arena_printf(a, "/var/tmp/agentbox-%u", (unsigned)geteuid());
    if (inside_sandbox())
        list[n++] = arena_printf(a, "/tmp/agentbox-%u", (unsigned)geteuid());
    for (size_t i = 0; i < n; i++)
        if (!list[i])
            return NULL;
    return list;
}

/* mkdir -p, mode 0700; path is changed and restored. */
static int make_directories(char *path)
{
    for (char *s = path + 1; *s; s++) {
        if (*s != '/')
            continue;
        *s = '\0';
        (void)mkdir(path, 0700);
        *s = '/';
    }
    return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int state_open(const char *directory, const char *name, bool create)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    char *path;
    struct stat st;

    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return -ENOMEM;
    _fd_ int fd = open(path, flags);
    int error = fd < 0 ? -errno : 0;
    if (error == -ENOENT && create) {
        error = make_directories(path);
        if (error == 0)
            fd = open(path, flags);
    }
    free(path);
    if (fd < 0)
        return error ? error : -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid() || (st.st_mode & 022))
        return -EPERM;
    return TAKE_FD(fd);
}

bool state_prepare(const char *const *directories, const char *name)
{
    for (; *directories; directories++) {
        _fd_ int there = state_open(*directories, name, false);
        _fd_ int made = there < 0 ? state_open(*directories, name, true) : -1;
        if (there >= 0 || made >= 0)
            return made >= 0;
    }
    return false;
}
