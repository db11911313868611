/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command's process: a session of its own, directory, limits, descriptors, signals, the profile
 * last, then exec. The first step that fails ends it; a pipe that exec closes says which one and
 * why, and the command was never started.
 *
 * fork is safe here: this program has one thread and no other code than ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "darwin/launch.h"

/* What goes through the pipe. */
struct outcome {
    uint32_t step;
    int32_t error;
    char text[STATUS_TEXT_MAX];
};

static int step_session(struct launch *l)
{
    l->object = "session";
    if (setsid() < 0)
        return -errno;
    if (l->tty_slave < 0)
        return 0;
    l->object = l->tty;
    if (ioctl(l->tty_slave, TIOCSCTTY, 0) < 0)
        return -errno;
    for (int fd = 0; fd < 3; fd++)
        if ((l->plan.tty >> fd & 1) && dup2(l->tty_slave, fd) < 0)
            return -errno;
    return 0;
}

static int step_directory(struct launch *l)
{
    l->object = l->plan.cwd;
    return chdir(l->plan.cwd) < 0 ? -errno : 0;
}

static int step_signals(struct launch *l)
{
    sigset_t none;

    l->object = "signals";
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL); /* SIGKILL and SIGSTOP refuse, and need it not */
    (void)sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

static int exec_path(const struct launch *l, const char *path)
{
    (void)execve(path, (char *const *)(uintptr_t)l->plan.argv,
                 (char *const *)(uintptr_t)l->plan.env);
    return -errno;
}

/* As execvp(3), with the PATH of the command's own environment. */
static int step_exec(struct launch *l)
{
    const char *name = l->plan.argv[0];
    int result = -ENOENT;
    char path[1024];

    l->object = name;
    if (strchr(name, '/'))
        return exec_path(l, name);
    for (const char *dir = l->plan.path; *dir;) {
        size_t len = strcspn(dir, ":");
        int n = snprintf(path, sizeof path, "%.*s/%s", (int)len, dir, name);
        if (len && n > 0 && (size_t)n < sizeof path) {
            struct stat st;
            int r = exec_path(l, path);
            if (r == -EACCES) /* remembered if the file is there; a later one may be runnable */
                result = stat(path, &st) == 0 ? r : result;
            else if (r != -ENOENT && r != -ENOTDIR)
                return r;
        }
        dir += len + (dir[len] == ':');
    }
    return result;
}

/* clang-format off */
static const struct {
    const char *name;
    launch_step apply;
} steps[] = {
    { "session",     step_session       },
    { "directory",   step_directory     },
    { "limits",      harden_limits      },
    { "descriptors", harden_descriptors },
    { "signals",     step_signals       },
    { "seatbelt",    apply_profile      },
    { "exec",        step_exec          },
};
/* clang-format on */

static ATTR_NORETURN void command_main(struct launch *l, int pipe_fd)
{
    struct outcome outcome = { 0 };

    for (uint32_t i = 0; i < ARRAY_LEN(steps); i++) {
        outcome.step = i;
        outcome.error = steps[i].apply(l);
        if (outcome.error < 0)
            break;
    }
    (void)snprintf(outcome.text, sizeof outcome.text, "%s", l->text[0] ? l->text : l->object);
    /* Less than PIPE_BUF could be written in pieces nowhere; if nobody reads, nobody cares. */
    ssize_t n = write(pipe_fd, &outcome, sizeof outcome);
    _exit(n < 0 ? EXIT_SETUP + 1 : EXIT_SETUP);
}

/* 0: the command was executed. */
static int read_outcome(struct launch *l, int pipe_fd)
{
    struct outcome outcome = { 0 };
    size_t done = 0;

    while (done < sizeof outcome) {
        ssize_t n = read(pipe_fd, (char *)&outcome + done, sizeof outcome - done);
        if (n == 0 && done == 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -EPROTO;
        done += (size_t)n;
    }
    l->step = outcome.step < ARRAY_LEN(steps) ? steps[outcome.step].name : "command";
    outcome.text[sizeof outcome.text - 1] = '\0';
    memcpy(l->text, outcome.text, sizeof l->text);
    return outcome.error < 0 ? outcome.error : -EPROTO;
}

int command_start(struct launch *l)
{
    int ends[2];

    l->step = "command";
    l->object = "process";
    if (pipe(ends) < 0)
        return -errno;
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0)
        command_main(l, ends[1]);
    int error = -errno;
    (void)close(ends[1]);
    int r = pid < 0 ? error : read_outcome(l, ends[0]);
    (void)close(ends[0]);
    if (r < 0 && pid > 0)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    return r < 0 ? r : pid;
}
