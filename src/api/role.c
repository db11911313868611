/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting the net role, and ending it. It gets its control socket, a pipe that tells our end,
 * /dev/null and an empty environment; it is watched by a pidfd, so that a host which reaps every
 * child makes nobody else's process our victim.
 */
#include "api/role.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "net/role.h"
#include "run/spawn.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/* Whoever takes the role over gets no terminal; only a sanitizer has something to say. */
#ifdef ABX_SANITIZED
#define ROLE_STDERR(null) STDERR_FILENO
#else
#define ROLE_STDERR(null) (null)
#endif

const char *role_program(const char *given)
{
    return given ? given : ABX_LIBEXECDIR "/agentbox";
}

static int32_t spawn(const char *program, int life, int control, pid_t *ret_pid, abx_error **err)
{
    static const char *const argv[] = { "agentbox", "net-role", NULL };
    struct image image = { .fd = -1, .path = (char *)(uintptr_t)program };
    _fd_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return err_sys(err, ABX_E_PROXY, -errno, "open '/dev/null'");
    const int fds[] = { life, null, ROLE_STDERR(null), control };
    _Static_assert(ARRAY_LEN(fds) == ROLE_CONTROL_FD + 1, "the control socket is the last one");
    const struct spawn_request request = {
        .image = &image, .argv = argv, .cwd = "/", .cwd_fd = -1, .fds = fds, .count = ARRAY_LEN(fds)
    };
    int32_t code = spawn_launcher(&request, ret_pid, err);
    if (code == ABX_OK)
        return code;
    code = err_wrap(err, "start the network proxy");
    if (access(program, X_OK) < 0)
        err_hint(err, "'%s' should be the agentbox program; install it, or name one (`program`)",
                 program);
    return code;
}

/*
 * As the role does for itself (net/role.c), for one that is stopped before it gets there. The pipe
 * is the role's from now on, so its number is nobody else's as long as this counts. Without it only
 * such a role stays; between its birth and this call, only if we are killed there.
 */
static void tie_to_us(int life, pid_t pid)
{
    (void)(fcntl(life, F_SETOWN, pid) == 0 && fcntl(life, F_SETSIG, SIGKILL) == 0 &&
           fcntl(life, F_SETFL, O_ASYNC) == 0);
}

int32_t role_start(const char *program, struct role_process *ret, int *ret_control, abx_error **err)
{
    int pair[2], pipe[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, ABX_E_PROXY, -errno, "make the proxy's control socket");
    _fd_ int ours = pair[0], theirs = pair[1];
    if (pipe2(pipe, O_CLOEXEC) < 0)
        return err_sys(err, ABX_E_PROXY, -errno, "make the proxy's pipe");
    _fd_ int life = pipe[0], our_life = pipe[1];
    struct role_process role = ROLE_NONE;
    int32_t code = spawn(program, life, theirs, &role.pid, err);
    if (code != ABX_OK)
        return code;
    tie_to_us(life, role.pid);
    role.pidfd = (int)syscall(SYS_pidfd_open, role.pid, 0);
    if (role.pidfd < 0) {
        code = err_sys(err, ABX_E_PROXY, -errno, "watch the network proxy");
        fd_close(TAKE_FD(ours)); /* which ends it */
        while (waitpid(role.pid, NULL, 0) < 0 && errno == EINTR)
            ;
        return code;
    }
    role.life = TAKE_FD(our_life);
    *ret = role;
    *ret_control = TAKE_FD(ours);
    return ABX_OK;
}

void role_end(struct role_process *role)
{
    siginfo_t info;

    if (role->pid > 1 && role->pidfd >= 0) {
        (void)syscall(SYS_pidfd_send_signal, role->pidfd, SIGKILL, NULL, 0);
        while (waitid((idtype_t)P_PIDFD, (id_t)role->pidfd, &info, WEXITED) < 0 && errno == EINTR)
            ;
    }
    role_forget(role);
}

void role_forget(struct role_process *role)
{
    fd_close(role->pidfd);
    fd_close(role->life);
    *role = ROLE_NONE;
}
