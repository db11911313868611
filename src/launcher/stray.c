/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending a tree of processes without a pid namespace (fallbackPolicy warn on a host without one).
 * As a subreaper we become the parent of every orphan, so killing our children again and again
 * until there are none ends the whole tree, also those that left the command's group and session.
 */
#include <asm/signal.h>

#include "launcher/launcher.h"

#define CHILDREN_BYTES 4096

void stray_kill(int group)
{
    char text[CHILDREN_BYTES];
    long fd = TRY4(__NR_openat, SYS_AT_FDCWD, "/proc/thread-self/children",
                   SYS_O_RDONLY | SYS_O_CLOEXEC, 0);
    long n = fd < 0 ? 0 : TRY3(__NR_read, fd, text, sizeof text - 1);

    if (group > 1)
        (void)TRY2(__NR_kill, -group, SIGKILL);
    file_close((int)fd);
    text[n > 0 ? n : 0] = '\0';
    for (const char *s = text; *s;) {
        uint64_t pid = text_to_u64(s);
        if (pid > 1)
            (void)TRY2(__NR_kill, pid, SIGKILL);
        while (*s && *s != ' ')
            s++;
        while (*s == ' ')
            s++;
    }
}
