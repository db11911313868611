/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories that were found writable a moment ago: a thousand files that are made or removed in
 * one of them need one look, not a thousand.
 *
 * A name of a directory, from the root or from the caller's own, means the same until somebody
 * changes his directory or moves, links or makes something. The monitor sees all of these, and then
 * forgets. What goes on then takes a moment, so nothing is kept until whoever did it calls again,
 * or others have called often enough. Removing changes no answer: where nothing is, nothing is
 * refused. The host may change things as well, and a pid may come again; so it is looked at again
 * from time to time.
 *
 * A descriptor can become another directory without a call that is seen. For removing it is taken
 * for the same if what is to be removed is there in the one that it was. A program that empties one
 * directory and goes on with the next never finds the names of the second in the first.
 *
 * What is wrong here is a record that is missing. Nothing else depends on it.
 */
#include "launcher/watch.h"

#define NAME_MAX_KEPT 512u
#define USES_MAX      256u /* then it is looked at again */
#define OTHERS_MAX    32u  /* calls of others, until a change is over for sure */

SMALL_STATE static struct {
    bool kept; /* at all */
    char name[NAME_MAX_KEPT];
    size_t len; /* 0: none */
    uint32_t uses;
    uint32_t changer; /* whose change may be under way */
    uint32_t others;  /* 0: nobody's */
} named;

static struct {
    uint32_t pid;
    int number; /* the caller's descriptor */
    int place;  /* ours, O_PATH; -1: there was one call with it */
    uint32_t uses;
} held = { .place = -1 };

static void forget_held(void)
{
    if (held.place >= 0)
        file_close(held.place);
    held.place = -1;
    held.pid = 0;
}

void known_begin(bool all_seen)
{
    forget_held();
    memset(&named, 0, sizeof named);
    named.kept = all_seen;
}

/* Links of /proc lead to what a process has open; pid 1's own name for the caller's does not. */
static bool is_named(const struct look *l)
{
    return named.kept && l->dir_fd < 0 && l->parent_len && l->parent_len < NAME_MAX_KEPT &&
           (l->base_len || !text_has_prefix(l->text, "/proc/"));
}

bool known_named(const struct look *l)
{
    if (!is_named(l) || l->parent_len != named.len || !named.uses ||
        memcmp(l->text, named.name, named.len) != 0)
        return false;
    named.uses--;
    return true;
}

void known_keep_named(const struct look *l)
{
    if (named.others && l->n->pid != named.changer) {
        named.others--;
        return;
    }
    named.others = 0;
    if (!is_named(l))
        return;
    memcpy(named.name, l->text, l->parent_len);
    named.len = l->parent_len;
    named.uses = USES_MAX;
}

void known_change(const struct notice *n)
{
    named.len = 0;
    named.changer = n->pid;
    named.others = OTHERS_MAX;
}

/* ---- by descriptor ---- */

static bool is_held(const struct look *l)
{
    return l->dir_fd >= 0 && l->parent_len == l->base_len && l->n->pid == held.pid &&
           l->dir_fd == held.number;
}

bool known_held(const struct look *l)
{
    char byte;

    if (held.place < 0 || !held.uses || !is_held(l))
        return false;
    /* The cheapest way to ask for a name: of what is no link it says EINVAL. */
    long r = TRY4(__NR_readlinkat, held.place, l->text + l->name_at, &byte, 1);
    if (r != -EINVAL && r < 0)
        return false;
    held.uses--;
    return true;
}

void known_keep_held(const struct look *l)
{
    const bool again = is_held(l);
    char link[40] = "/proc/self/fd/";

    forget_held();
    if (l->dir_fd < 0 || l->parent_len != l->base_len)
        return;
    held.pid = l->n->pid;
    held.number = l->dir_fd;
    if (!again)
        return; /* once is not yet often */
    long fd = TRY4(__NR_openat, SYS_AT_FDCWD, look_parent(l),
                   SYS_O_PATH | SYS_O_DIRECTORY | SYS_O_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)text_append_u64(link, sizeof link, (uint64_t)fd);
    if (!judge_is_writable(link)) {
        file_close((int)fd);
        return;
    }
    held.place = (int)fd;
    held.uses = USES_MAX;
}
