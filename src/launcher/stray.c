/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending a tree of processes without a pid namespace (the back end Landlock).
 *
 * From Landlock's ABI 6 on pid 1 has a domain that signals do not leave, around the command's: in
 * there kill(-1), which the kernel does at one stroke, ends all of the run and nobody else. Outside
 * of such a domain it would end everything of the user, so it is used only where the domain was
 * seen to keep us from the keeper, whom we could signal before.
 *
 * Elsewhere, and in the keeper: as a subreaper we become the parent of every orphan, so killing our
 * children again and again until there are none ends the whole tree, also those that left the
 * command's group and session, unless they fork faster than we look. Their numbers are theirs until
 * we have waited for them, so nobody else is hit.
 */
#include <asm/signal.h>

#include "launcher/launcher.h"

#define CHILDREN_BYTES 4096
#define CHILDREN_FILE  "/proc/thread-self/children"

static long try_signal(int pid)
{
    return TRY2(__NR_kill, pid, 0);
}

long stray_enclose(struct launch *l)
{
    const bool reached = l->keeper && try_signal(l->keeper) == 0;
    long r = landlock_enclose(l);

    if (r <= 0)
        return r;
    /* Our parent still, so that number is the keeper's. */
    l->enclosed = reached && try_signal(l->keeper) == -EPERM && TRY0(__NR_getppid) == l->keeper;
    l->object = "scope of signals";
    return l->enclosed ? 0 : -EPERM;
}

static long open_children(void)
{
    return TRY4(__NR_openat, SYS_AT_FDCWD, CHILDREN_FILE, SYS_O_RDONLY | SYS_O_CLOEXEC, 0);
}

long stray_ready(struct launch *l)
{
    l->object = CHILDREN_FILE;
    long fd = open_children();
    if (fd >= 0)
        file_close((int)fd);
    return fd < 0 ? fd : 0;
}

void stray_kill(int group)
{
    char text[CHILDREN_BYTES];
    long fd = open_children();
    long n = fd < 0 ? 0 : TRY3(__NR_read, fd, text, sizeof text - 1);

    if (group > 1)
        (void)TRY2(__NR_kill, -group, SIGKILL);
    file_close((int)fd);
    text[n > 0 ? n : 0] = '\0';
    for (const char *s = text; *s;) {
        uint64_t pid = text_to_u64(s);
        while (*s && *s != ' ')
            s++;
        if (!*s)
            break; /* a space ends each number: this one goes on, and is not this number */
        s++;
        if (pid > 1)
            (void)TRY2(__NR_kill, pid, SIGKILL);
    }
}
