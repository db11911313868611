/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting the launcher of macOS: its directory, its plan and profile as unlinked files, its
 * sockets, then posix_spawn. POSIX_SPAWN_CLOEXEC_DEFAULT closes all that is not on the list, also
 * what another thread opened a moment ago without the flag. No code of ours runs between fork and
 * exec. A directory as a standard stream is refused: its ".." would lead out of no profile, but
 * fchdir of a descriptor is not asked about by name.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/io.h"
#include "darwin/launch.h"
#include "plan/codec.h"
#include "probe/state.h"
#include "run/mac.h"

/* ---- what it is given ---- */

/* $TMPDIR, which macOS gives to every user, or /tmp: only the parent of the run's own directory. */
static int32_t make_tmp(struct run_mac *mac, const struct plan *plan, abx_error **err)
{
    const char *above = getenv("TMPDIR");
    char path[DARWIN_PATH_MAX];
    bool exists;

    if (plan->tmp) {
        (void)snprintf(path, sizeof path, "%s", plan->tmp);
    } else {
        above = above && above[0] == '/' ? above : "/tmp";
        int n = snprintf(path, sizeof path, "%s/agentbox.XXXXXX", above);
        if (n < 0 || (size_t)n >= sizeof path || !mkdtemp(path))
            return err_sys(err, ABX_E_IO, -errno, "make a directory in '%s'", above);
        mac->own_tmp = true;
    }
    int r = darwin_real_path(path, mac->tmp, &exists);
    if (r == 0 && exists)
        return ABX_OK;
    if (mac->own_tmp)
        (void)rmdir(path);
    mac->own_tmp = false;
    return err_sys(err, ABX_E_IO, r < 0 ? r : -ENOENT, "look up '%s'", path);
}

/*
 * A file without a name, that holds these bytes. It has one for a moment, so it is made in the
 * state directory, where no sandbox can write: whoever opened it then could change what the
 * launcher is about to read.
 */
static int private_file(const char *const *state_dirs, const void *bytes, size_t len)
{
    char name[32];
    int e = -ENOENT;

    for (; *state_dirs; state_dirs++) {
        _fd_ int dir = state_open(*state_dirs, RUN_DIRECTORY, true);
        if (dir < 0) {
            e = dir;
            continue;
        }
        uint64_t random;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
            return -EIO;
        (void)snprintf(name, sizeof name, "%016llx", (unsigned long long)random);
        _fd_ int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        e = fd < 0 || unlinkat(dir, name, 0) < 0 ? -errno : io_write_all(fd, bytes, len);
        if (e == 0)
            return TAKE_FD(fd);
    }
    return e;
}

static int32_t encode(const struct plan *plan, const char *tmp, const char *const *state_dirs,
                      int *ret_fd, abx_error **err)
{
    char variable[DARWIN_PATH_MAX + sizeof "TMPDIR="];
    const char **env = calloc((size_t)plan->env_count + 2, sizeof *env);
    uint8_t *image = NULL;
    struct plan own;
    int fd = -ENOMEM;

    (void)snprintf(variable, sizeof variable, "TMPDIR=%s", tmp);
    if (env)
        host_plan(plan, variable, env, &own);
    size_t size = env ? plan_encoded_size(&own) : 0;
    if (size)
        image = malloc(size);
    if (image) {
        plan_encode(&own, image, size);
        fd = private_file(state_dirs, image, size);
    }
    free(image);
    free((void *)env);
    if (env && !size)
        return err_new(err, ABX_E_CONFIG, "encode the plan: it has too many or too long parts");
    if (fd < 0)
        return err_sys(err, ABX_E_IO, fd, "hand over the plan");
    *ret_fd = fd;
    return ABX_OK;
}

static int socket_pair(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return -errno;
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

static int32_t check_stream(int stream, int fd, abx_error **err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(err, ABX_E_INVALID, -errno, "use descriptor %d as stream %d", fd, stream);
    if (!S_ISDIR(st.st_mode))
        return ABX_OK;
    return err_new(err, ABX_E_INVALID,
                   "use a directory as stream %d: it would lead out of the sandbox", stream);
}

/* fds[0..2], each a new descriptor of ours. */
static int32_t open_streams(struct run *r, int fds[DARWIN_FD_COUNT], abx_error **err)
{
    const struct run_request *q = &r->mac->request;

    for (int i = 0; i < 3; i++) {
        int32_t code = ABX_OK;
        int e = 0;

        if (i > 0 && q->capture[i]) {
            e = stream_open(&r->streams[i], i, q->limit, &fds[i]);
            r->streams[i].forgets = q->forget[i];
            r->streams[i].output = q->output;
            r->streams[i].user = q->user;
        } else if (q->stdio[i] >= 0) {
            code = check_stream(i, q->stdio[i], err);
            fds[i] = code == ABX_OK ? fcntl(q->stdio[i], F_DUPFD_CLOEXEC, 3) : -1;
            e = fds[i] < 0 ? -errno : 0;
        } else {
            fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
            e = fds[i] < 0 ? -errno : 0;
        }
        if (code != ABX_OK)
            return code;
        if (e < 0)
            return err_sys(err, ABX_E_IO, e, "open stream %d", i);
    }
    return ABX_OK;
}

/* ---- posix_spawn ---- */

/* Above the numbers of the list, so that none is overwritten before its turn. */
static int move_up(int fds[DARWIN_FD_COUNT])
{
    for (int i = 0; i < DARWIN_FD_COUNT; i++) {
        int moved = fcntl(fds[i], F_DUPFD_CLOEXEC, DARWIN_FD_COUNT);
        if (moved < 0)
            return -errno;
        fd_close(fds[i]);
        fds[i] = moved;
    }
    return 0;
}

static int set_attributes(posix_spawnattr_t *attributes)
{
    const short flags = POSIX_SPAWN_CLOEXEC_DEFAULT | POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                        POSIX_SPAWN_SETSIGMASK;
    sigset_t all, none;

    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    int e = posix_spawnattr_setsigdefault(attributes, &all);
    if (e == 0)
        e = posix_spawnattr_setsigmask(attributes, &none);
    return e ? e : posix_spawnattr_setflags(attributes, flags);
}

static int spawn(const char *path, const char *const *argv, const int fds[DARWIN_FD_COUNT],
                 pid_t *ret_pid)
{
    char *environment[] = { NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int e = posix_spawn_file_actions_init(&actions);

    if (e != 0)
        return -e;
    e = posix_spawnattr_init(&attributes);
    if (e == 0) {
        e = set_attributes(&attributes);
        for (int i = 0; i < DARWIN_FD_COUNT && e == 0; i++)
            e = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
        if (e == 0)
            e = posix_spawn(ret_pid, path, &actions, &attributes, (char *const *)(uintptr_t)argv,
                            environment);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return -e;
}

static int32_t fill_list(struct run *r, const struct plan *plan, const char *const *state_dirs,
                         int fds[DARWIN_FD_COUNT], int *ret_lifeline, abx_error **err)
{
    int status[2] = { -1, -1 }, lifeline[2] = { -1, -1 };
    int e = socket_pair(status);

    if (e == 0)
        e = socket_pair(lifeline);
    r->status_fd = status[0];
    fds[DARWIN_FD_STATUS] = status[1];
    *ret_lifeline = lifeline[0];
    fds[DARWIN_FD_LIFELINE] = lifeline[1];
    if (e < 0)
        return err_sys(err, ABX_E_IO, e, "make a socket pair");
    int32_t code = encode(plan, r->mac->tmp, state_dirs, &fds[DARWIN_FD_PLAN], err);
    if (code != ABX_OK)
        return code;
    fds[DARWIN_FD_PROFILE] = private_file(state_dirs, plan->profile, strlen(plan->profile));
    if (fds[DARWIN_FD_PROFILE] < 0)
        return err_sys(err, ABX_E_IO, fds[DARWIN_FD_PROFILE], "hand over the profile");
    return open_streams(r, fds, err);
}

int32_t mac_spawn(struct run *r, const struct plan *plan, const char *const *state_dirs,
                  int *ret_lifeline, abx_error **err)
{
    const char *const argv[] = { "abx-launcher", "run", r->mac->tmp, "0", NULL };
    struct image *image = r->mac->request.image;
    int fds[DARWIN_FD_COUNT] = { -1, -1, -1, -1, -1, -1, -1 };
    _fd_ int lifeline = -1;

    if (!plan->profile)
        return err_new(err, ABX_E_SANDBOX, "start the command: the plan has no profile");
    int32_t code = image_ready(image, err);
    if (code == ABX_OK)
        code = make_tmp(r->mac, plan, err);
    if (code == ABX_OK)
        code = fill_list(r, plan, state_dirs, fds, &lifeline, err);
    if (code == ABX_OK) {
        int e = move_up(fds);
        if (e == 0)
            e = spawn(image->path, argv, fds, &r->keeper);
        if (e < 0)
            code = err_sys(err, ABX_E_SANDBOX, e, "start '%s'", image->path);
    }
    for (int i = 0; i < DARWIN_FD_COUNT; i++)
        fd_close(fds[i]);
    if (code == ABX_OK)
        *ret_lifeline = TAKE_FD(lifeline);
    return code;
}
