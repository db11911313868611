/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders, the end of them. The host made them (run/hold.c) so that names which must not be
 * created had something to be covered; the keeper removes them when the run is over, however it
 * ended, if no other run shares them. Only an entry that still is what was made (device, inode,
 * shape) is removed. Whatever fails here is left to the next run's repair.
 */
#include <linux/stat.h>

#include "launcher/launcher.h"

#define LOCK_EX_OP 2
#define LOCK_NB_OP 4
#define LOCK_UN_OP 8

static void remove_entry(int dir, struct hold_entry *entry)
{
    struct file_id id;

    entry->name[HOLD_NAME_MAX] = '\0';
    long fd = TRY4(__NR_openat, dir, entry->name, SYS_O_PATH | SYS_O_NOFOLLOW | SYS_O_CLOEXEC, 0);

    if (fd < 0)
        return;
    long r = file_identify((int)fd, &id);
    file_close((int)fd);
    if (r < 0 || (entry->ino && (id.dev != entry->dev || id.ino != entry->ino)))
        return;
    if (hold_is_removable(entry, id.mode, id.size, id.changed))
        (void)TRY3(__NR_unlinkat, dir, entry->name,
                   (id.mode & S_IFMT) == S_IFDIR ? SYS_AT_REMOVEDIR : 0);
}

static void release_directory(const struct holds *h, unsigned i)
{
    int dir = h->dirs[i], file = h->files[i];
    struct hold_entry entries[16];
    long n, at = HOLD_ENTRIES_AT;

    if (TRY2(__NR_flock, file, LOCK_EX_OP | LOCK_NB_OP) < 0)
        return; /* another run still needs them */

    while ((n = TRY4(__NR_pread64, file, entries, sizeof entries, at)) >= (long)sizeof entries[0]) {
        size_t count = (size_t)n / sizeof entries[0];
        for (size_t e = 0; e < count; e++)
            remove_entry(dir, &entries[e]);
        at += (long)(count * sizeof entries[0]);
    }
    if (at > HOLD_ENTRIES_AT) /* else the host was faster */
        (void)TRY2(__NR_ftruncate, file, HOLD_ENTRIES_AT);
}

void hold_receive(struct holds *h)
{
    struct deliver_msg msg;
    int fds[DELIVER_MAX_FDS];
    long n = receive_fds(LAUNCH_FD_LIFELINE, &msg, fds, ARRAY_LEN(fds));

    if (n < 1 || msg.kind != DELIVER_HOLDS || msg.holds > LAUNCH_MAX_HOLDS ||
        (unsigned long)n != 1 + 2 * (unsigned long)msg.holds)
        return;
    h->registry = fds[0];
    h->count = msg.holds;
    for (unsigned i = 0; i < h->count; i++) {
        h->dirs[i] = fds[1 + 2 * i];
        h->files[i] = fds[2 + 2 * i];
    }
}

void hold_release(const struct holds *h)
{
    if (h->count == 0 || TRY2(__NR_flock, h->registry, LOCK_EX_OP) < 0)
        return;
    for (unsigned i = 0; i < h->count; i++) {
        release_directory(h, i);
        (void)TRY2(__NR_flock, h->files[i], LOCK_UN_OP);
    }
    (void)TRY2(__NR_flock, h->registry, LOCK_UN_OP);
}
