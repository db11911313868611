/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command's last steps: terminal, signals, Landlock, descriptors, seccomp, exec.
 *
 * The process shares memory with pid 1 and pid 1 waits (vfork), so that the outcome needs no pipe:
 * what failed is written into struct launch. Nothing hostile runs before exec.
 */
#include <asm/ioctls.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/stat.h>

#include "launcher/launcher.h"
#include "launcher/steps.h"

#define COMMAND_STACK 65536
#define PATH_BYTES    4096

static _Alignas(4096) char command_stack[COMMAND_STACK];

/* A process group of its own: what is sent to the command's group reaches nobody else. */
static long step_group(struct launch *l)
{
    l->object = "process group";
    long r = SYS2(__NR_setpgid, 0, 0);
    if (r < 0 || l->tty_fd < 0)
        return r;

    /* SIGTTOU is blocked here, so that a background group may take the terminal. */
    long pid = TRY0(__NR_getpid);
    int group = (int)pid;
    r = SYS3(__NR_ioctl, l->tty_fd, TIOCSPGRP, &group);
    for (int fd = 0; fd < 3 && r >= 0; fd++)
        if (l->plan.tty >> fd & 1)
            r = SYS3(__NR_dup3, l->tty_fd, fd, 0);
    return r < 0 ? r : 0;
}

static long step_directory(struct launch *l)
{
    l->object = l->plan.cwd;
    (void)TRY1(__NR_umask, l->umask_bits); /* cannot fail */
    if (l->cwd_fd >= 0)
        return SYS1(__NR_fchdir, l->cwd_fd);
    return SYS1(__NR_chdir, l->plan.cwd); /* without a mount view */
}

/* They are pid 1's as well until exec, which closes the command's copies. */
static long step_descriptors(struct launch *l)
{
    const unsigned at_exec = 1u << 2; /* CLOSE_RANGE_CLOEXEC */

    l->object = "descriptors";
    return SYS3(__NR_close_range, 3, ~0u, at_exec);
}

static long step_signals(struct launch *l)
{
    (void)l;
    signals_unblock();
    return 0;
}

static long step_seccomp(struct launch *l)
{
    l->object = "filter";
    if (l->plan.watch || l->plan.relayed)
        l->notify_fd = (int)notify_listen(&l->plan.watch_filter);
    if (l->notify_fd < 0 && l->plan.named) {
        l->object = "monitor";
        return l->notify_fd;
    }
    return l->notify_fd >= 0 ? 0 : seccomp_apply(&l->plan.filter);
}

static const struct step command_steps[] = {
#define INIT(name, layer, apply, words)
#define BWRAPPED(name, layer, apply)
#define COMMAND(name, layer, apply, words) { name, layer, apply },
#define OTHER(name, words)
#include "plan/steps.def"
#undef INIT
#undef BWRAPPED
#undef COMMAND
#undef OTHER
};

static long exec_path(struct launch *l, const char *path)
{
    return SYS3(__NR_execve, path, l->plan.argv, l->plan.env);
}

/* A directory of PATH that cannot be searched hides nothing that we could run. */
static bool file_exists(const char *path)
{
    struct statx st;

    return TRY5(__NR_statx, SYS_AT_FDCWD, path, 0, STATX_TYPE, &st) == 0;
}

static bool has_slash(const char *name)
{
    while (*name && *name != '/')
        name++;
    return *name;
}

/* The next file of PATH that the name may stand for; false: there is none. */
static bool next_in_path(const char *name, const char **dir, char path[PATH_BYTES])
{
    while (*name && **dir) {
        const char *from = *dir;
        size_t len = 0;
        while (from[len] && from[len] != ':')
            len++;
        *dir += len + (from[len] == ':');
        if (!len || len + text_len(name) + 2 > PATH_BYTES)
            continue;
        memcpy(path, from, len);
        path[len] = '/';
        path[len + 1] = '\0';
        text_append(path, PATH_BYTES, name);
        return true;
    }
    return false;
}

/* As execvp(3): a name without a slash is looked up in the PATH of its own environment. */
static long exec_lookup(struct launch *l)
{
    const char *name = l->plan.argv[0], *dir = l->plan.path;
    char path[PATH_BYTES];
    long result = -ENOENT;

    if (has_slash(name))
        return exec_path(l, name);
    while (next_in_path(name, &dir, path)) {
        long r = exec_path(l, path);
        if (r == -EACCES) /* remembered if the file is there; a later one may be runnable */
            result = file_exists(path) ? r : result;
        else if (r != -ENOENT && r != -ENOTDIR)
            return r;
    }
    return result;
}

/* "#!" and the first word behind it, in place; "#!" alone: another file. False: no file. */
static bool read_interpreter(const char *path, char *text, size_t cap)
{
    const int how = SYS_O_RDONLY | SYS_O_NONBLOCK | SYS_O_CLOEXEC;
    int fd = (int)TRY4(__NR_openat, SYS_AT_FDCWD, path, how, 0);
    long len = fd < 0 ? fd : TRY3(__NR_read, fd, text, cap - 1);
    size_t from = 2, to = 2;

    file_close(fd);
    if (len < 0)
        return false;
    text[len] = '\0';
    if (text[0] != '#' || text[1] != '!') {
        memcpy(text, "#!", 3);
        return true;
    }
    while (text[from] == ' ' || text[from] == '\t')
        from++;
    while (text[from] && text[from] != ' ' && text[from] != '\t' && text[from] != '\n')
        text[to++] = text[from++];
    text[to] = '\0';
    return true;
}

/* Pid 1 reads it: it could not serve the monitor while the command's process is still its own. */
const char *command_interpreter(struct launch *l)
{
    static char text[256]; /* as much as the kernel looks at */
    const char *name = l->plan.argv[0], *dir = l->plan.path;
    char path[PATH_BYTES];

    if (step_directory(l) < 0)
        return "";
    if (has_slash(name))
        return read_interpreter(name, text, sizeof text) ? text : "";
    while (next_in_path(name, &dir, path))
        if (read_interpreter(path, text, sizeof text))
            return text;
    return "";
}

static ATTR_NORETURN void command_main(void *arg)
{
    struct launch *l = arg;
    const struct plan *p = &l->plan;

    sys_fault_role(ROLE_COMMAND);
    for (size_t i = 0; i < ARRAY_LEN(command_steps); i++) {
        const struct step *step = &command_steps[i];

        if (!step_is_due(p, step))
            continue;
        l->command_step = step->name;
        l->command_error = step->apply(l);
        if (l->command_error < 0)
            launcher_exit(EXIT_SETUP);
    }
    l->command_step = "exec";
    l->object = 0;
    l->command_error = exec_lookup(l);
    launcher_exit(EXIT_SETUP);
}

long command_start(struct launch *l)
{
    l->command_error = 0;
    l->command_step = "command";
    l->object = "process";

    long fault = sys_fault();
    long pid = fault ? -fault
                     : sys_clone_vm(CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD,
                                    command_stack + sizeof command_stack, command_main, l);
    if (pid < 0)
        return pid;
    return l->command_error < 0 ? l->command_error : pid;
}

void command_release_stack(void)
{
    (void)TRY3(__NR_madvise, command_stack, sizeof command_stack, SYS_MADV_DONTNEED);
}
