/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders, recognised. A run that meets one must ask for it too, or it would lose its
 * protection when the run that made it ends.
 *
 * Looks prove nothing: a command may give its own files any mode, and what counts as absent is not
 * protected. A file or a directory is a placeholder only if the registry has its device and inode;
 * the registry is out of every sandbox's reach. Only for a socket without permissions looks are
 * enough: there is nothing in it or below it that could be protected or hidden. A socket with
 * permissions may be one, too: all are links to one inode, and a command that reaches another of
 * them gives them to all.
 */
#include "probe/held.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "probe/inside.h"
#include "probe/scan_state.h"
#include "probe/state.h"

bool held_each(int file, held_fn fn, const void *data)
{
    struct hold_entry entries[16];
    off_t at = HOLD_ENTRIES_AT;
    ssize_t n;

    while ((n = pread(file, entries, sizeof entries, at)) >= (ssize_t)sizeof entries[0]) {
        size_t count = (size_t)n / sizeof entries[0];
        for (size_t i = 0; i < count; i++) {
            entries[i].name[HOLD_NAME_MAX] = '\0';
            if (fn(&entries[i], data))
                return true;
        }
        at += (off_t)(count * sizeof entries[0]);
    }
    return false;
}

static bool is_it(struct hold_entry *entry, const void *data)
{
    const struct stat *st = data;

    return entry->dev == (uint64_t)st->st_dev && entry->ino == st->st_ino;
}

static bool is_registered_in(struct arena *arena, const char *home, const struct stat *parent,
                             const struct stat *st)
{
    const char *const *dirs = state_directories(arena, home && home[0] == '/' ? home : NULL);

    for (; dirs && *dirs; dirs++) {
        const char *path = arena_printf(arena, "%s/held/%016llx-%016llx", *dirs,
                                        (unsigned long long)parent->st_dev,
                                        (unsigned long long)parent->st_ino);
        _fd_ int file = path ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
        struct stat own;
        if (file >= 0 && fstat(file, &own) == 0 && own.st_uid == geteuid() &&
            held_each(file, is_it, st))
            return true;
    }
    return false;
}

/* By a run with our HOME, or with that of the account. Neither registry can be written inside. */
static bool is_registered(const struct stat *parent, const struct stat *st)
{
    _arena_ struct arena arena = { 0 };

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    return is_registered_in(&arena, getenv("HOME"), parent, st) ||
           is_registered_in(&arena, account_home(&arena, NULL, 0, (uint32_t)geteuid()), parent, st);
}

bool held_counts_as_absent(int dir, const struct stat *st)
{
    return held_is_placeholder(dir, st) && !inside_sandbox();
}

bool held_is_placeholder(int dir, const struct stat *st)
{
    const bool shaped = hold_is_shaped(st->st_mode, (uint64_t)st->st_size);
    struct stat parent;

    if (shaped && S_ISSOCK(st->st_mode))
        return true;
    return (shaped || S_ISSOCK(st->st_mode) ||
            hold_is_timed(st->st_mode, (uint64_t)st->st_size, st->st_mtime)) &&
           fstat(dir, &parent) == 0 && is_registered(&parent, st);
}
