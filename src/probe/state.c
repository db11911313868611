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
#include <string.h>
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
    if (home && access(home, F_OK) == 0) /* it is not for us to make one */
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

/*
 * The candidate itself. In /var/tmp others can make the name first: a link of theirs is not
 * followed, and what is opened below is opened relative to what was looked at.
 */
static int open_candidate(const char *directory)
{
    const int flags = O_PATH | O_CLOEXEC;
    struct stat st;
    _fd_ int fd = open(directory, flags | O_NOFOLLOW);

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISLNK(st.st_mode))
        return TAKE_FD(fd);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return -EPERM;
    int target = open(directory, flags | O_DIRECTORY);
    return target < 0 ? -errno : target;
}

static int make_candidate(const char *directory)
{
    char *path = strdup(directory);
    int r = path ? make_directories(path) : -ENOMEM;

    free(path);
    return r < 0 ? r : open_candidate(directory);
}

/* Where the home is read-only the next of the directories may be a place to write to. */
static bool is_writable(int dir)
{
    return faccessat(dir, ".", W_OK, AT_EACCESS) == 0;
}

int state_open(const char *directory, const char *name, bool create)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    _fd_ int above = open_candidate(directory);
    struct stat st;

    if (above == -ENOENT && create)
        above = make_candidate(directory);
    if (above < 0)
        return above;
    _fd_ int fd = openat(above, name, flags);
    if (fd < 0 && errno == ENOENT && create && (mkdirat(above, name, 0700) == 0 || errno == EEXIST))
        fd = openat(above, name, flags);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid() || (st.st_mode & 022))
        return -EPERM;
    if (create && !is_writable(fd))
        return -EROFS;
    return TAKE_FD(fd);
}

bool state_prepare(const char *const *directories, const char *name)
{
    for (; *directories; directories++) {
        _fd_ int there = state_open(*directories, name, false);
        _fd_ int made = there < 0 ? state_open(*directories, name, true) : -1;
        if (made >= 0 || (there >= 0 && is_writable(there)))
            return made >= 0;
    }
    return false;
}
