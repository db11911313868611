/* SPDX-License-Identifier: Apache-2.0 */
/*
 * posix_spawn of the launcher: no code of ours between fork and exec, so any thread of any host may
 * do it. The child gets exactly the descriptors of one list, a session of its own (what is sent to
 * our group is not for it) and all signals blocked: it reads them from a descriptor, so that one
 * that comes early waits there, and gives the command their default handling.
 */
#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"

#define SPAWN_MAX_FDS 256

#ifdef ABX_TESTING
static const char *spawn_env_list[3];
const char *const *spawn_environment(void)
{
    size_t n = 0;

    for (char **e = environ; *e && n < 2; e++)
        if (strncmp(*e, "ABX_FAULT=", 10) == 0 || strncmp(*e, "ABX_TEST_SKIP=", 14) == 0)
            spawn_env_list[n++] = *e;
    spawn_env_list[n] = NULL;
    return spawn_env_list;
}
#else
const char *const *spawn_environment(void)
{
    static const char *const none[] = { NULL };

    return none;
}
#endif

static int set_signals(posix_spawnattr_t *attr)
{
    sigset_t all;

    (void)sigfillset(&all);
    int r = posix_spawnattr_setsigmask(attr, &all);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attr, &all); /* also spares glibc looking at each */
    if (r == 0)
        r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                               POSIX_SPAWN_SETSID);
    return -r;
}

/* Every source is first moved above every destination, so that no dup2 destroys a later source. */
static int lift_fds(const struct spawn_request *q, int *lifted)
{
    for (size_t i = 0; i < q->count; i++)
        lifted[i] = -1;
    for (size_t i = 0; i < q->count; i++) {
        if (q->fds[i] < 0)
            continue;
        lifted[i] = fcntl(q->fds[i], F_DUPFD_CLOEXEC, (int)q->count);
        if (lifted[i] < 0)
            return -errno;
    }
    return 0;
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct spawn_request *q,
                       const int *lifted)
{
    int r = 0;

    if (q->cwd_fd >= 0)
        r = posix_spawn_file_actions_addfchdir_np(actions, q->cwd_fd);
    else if (q->cwd)
        r = posix_spawn_file_actions_addchdir_np(actions, q->cwd);
    for (size_t i = 0; i < q->count && r == 0; i++)
        r = lifted[i] < 0 ? posix_spawn_file_actions_addclose(actions, (int)i)
                          : posix_spawn_file_actions_adddup2(actions, lifted[i], (int)i);
    return -r;
}

static int spawn_with(const struct spawn_request *q, const char *path, const int *lifted,
                      pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int r = -posix_spawn_file_actions_init(&actions);

    if (r < 0)
        return r;
    r = -posix_spawnattr_init(&attr);
    if (r == 0) {
        r = set_signals(&attr);
        if (r == 0)
            r = add_actions(&actions, q, lifted);
        if (r == 0)
            r = -posix_spawn(ret_pid, path, &actions, &attr, (char *const *)(uintptr_t)q->argv,
                             (char *const *)(uintptr_t)spawn_environment());
        (void)posix_spawnattr_destroy(&attr);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return r;
}

int spawn_program(const struct spawn_request *q, const char *path, pid_t *ret_pid)
{
    int lifted[SPAWN_MAX_FDS];

    if (q->count > SPAWN_MAX_FDS)
        return -EMFILE;
    int r = lift_fds(q, lifted);
    if (r == 0)
        r = spawn_with(q, path, lifted, ret_pid);
    for (size_t i = 0; i < q->count; i++)
        fd_close(lifted[i]);
    return r;
}

int32_t spawn_launcher(const struct spawn_request *q, pid_t *ret_pid, abx_error **err)
{
    int lifted[SPAWN_MAX_FDS] = { 0 };
    char path[64];
    int image = -1;

    if (q->count > SPAWN_MAX_FDS)
        return err_new(err, ABX_E_INVALID, "pass %zu descriptors: the limit is %d", q->count,
                       SPAWN_MAX_FDS);
    int32_t ready = image_ready(q->image, err);
    if (ready != ABX_OK)
        return ready;
    int r = lift_fds(q, lifted);
    if (r == 0 && q->image->fd >= 0) {
        image = fcntl(q->image->fd, F_DUPFD_CLOEXEC, (int)q->count);
        if (image < 0)
            r = -errno;
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", image);
    }
    if (r == 0)
        r = spawn_with(q, q->image->path ? q->image->path : path, lifted, ret_pid);
    for (size_t i = 0; i < q->count; i++)
        fd_close(lifted[i]);
    fd_close(image);
    if (r < 0) {
        int32_t code = err_sys(err, ABX_E_SANDBOX, r, "start the launcher");
        if (r == -ENOENT)
            err_hint(err, "the launcher is run from memory through /proc, which is not there: "
                          "mount -t proc proc /proc");
        if (r == -EACCES && (q->cwd_fd >= 0 || q->cwd))
            err_hint(err, "the working directory cannot be entered by this user; choose another "
                          "with -C");
        if (r == -EMFILE || r == -EINVAL)
            err_hint(err, "too many open files: raise the limit with ulimit -n");
        if (r == -EAGAIN)
            err_hint(err, "the limit of processes is reached: see ulimit -u");
        return code;
    }
    return ABX_OK;
}
