/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of approvals: one file for each key, named like it, whose first two lines are a
 * version word and the key again. What follows is for people and decides nothing.
 *
 * Trusts a directory only if it is ours and nobody else may write it. What cannot be read was not
 * approved: asking again is the safe answer. Keys come from us; one that is not 64 hexadecimal
 * digits is refused, so that it cannot name a file elsewhere.
 */
#include "probe/approvals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "probe/record.h"
#include "probe/state.h"

#define APPROVALS_DIRECTORY "approvals"
#define APPROVALS_FORMAT    "agentbox-approval-1"

static bool key_is_valid(const char *key)
{
    return strlen(key) == SHA256_HEX_BYTES - 1 &&
           strspn(key, "0123456789abcdef") == SHA256_HEX_BYTES - 1;
}

bool approvals_has(const char *const *state_dirs, const char *key)
{
    _buf_ struct buf head = { .limit = 256 };

    if (!key_is_valid(key) || buf_printf(&head, APPROVALS_FORMAT "\n%s\n", key) < 0)
        return false;
    for (; *state_dirs; state_dirs++) {
        _fd_ int dir = state_open(*state_dirs, APPROVALS_DIRECTORY, false);
        if (dir >= 0 && record_begins(dir, key, &head))
            return true;
    }
    return false;
}

int32_t approvals_add(const char *const *state_dirs, const char *key, const char *about,
                      abx_error **err)
{
    _buf_ struct buf record = { .limit = RECORD_MAX };

    if (!key_is_valid(key))
        return err_new(err, ABX_E_INVALID, "keep an approval: '%s' is no key", key);
    if (buf_printf(&record, APPROVALS_FORMAT "\n%s\n%s", key, about) < 0)
        return err_sys(err, ABX_E_IO, record.failed, "keep an approval");
    return record_keep(state_dirs, APPROVALS_DIRECTORY, key, &record, "keep an approval", err);
}

/* ---- looking at them ---- */

#define APPROVALS_MAX 100000 /* shown; whoever has more has none that mean anything */

struct listing {
    struct arena *arena;
    struct approval *items;
    size_t count, capacity;
};

static void listing_done(struct listing *l)
{
    free(l->items);
}
#define _listing_ __attribute__((cleanup(listing_done)))

/* The rest of the line that begins with "label: ", or "". */
static const char *line_of(struct arena *arena, const struct buf *record, const char *label)
{
    size_t len = strlen(label);
    const char *at = record->data, *end = record->data + record->len;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        if ((size_t)(stop - at) >= len && memcmp(at, label, len) == 0)
            return arena_strndup(arena, at + len,
                                 MIN_OF((size_t)(stop - at) - len, APPROVAL_MAX_TEXT));
        at = stop + 1;
    }
    return "";
}

static int32_t listing_add(struct listing *l, int dir, const char *key, abx_error **err)
{
    _buf_ struct buf record = { .limit = RECORD_MAX }, head = { .limit = 256 };
    struct approval *a;
    struct stat st;

    if (buf_printf(&head, APPROVALS_FORMAT "\n%s\n", key) < 0)
        return err_nomem(err);
    if (record_read(dir, key, &record) < 0 || record.len < head.len ||
        memcmp(record.data, head.data, head.len) != 0 ||
        fstatat(dir, key, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return ABX_OK; /* it counts for nothing */
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 16;
        void *more = reallocarray(l->items, capacity, sizeof *l->items);
        if (!more)
            return err_nomem(err);
        l->items = more;
        l->capacity = capacity;
    }
    a = &l->items[l->count++];
    *a = (struct approval){ .time = st.st_mtim.tv_sec,
                            .command = line_of(l->arena, &record, "command: "),
                            .part = line_of(l->arena, &record, "part: "),
                            .rule = line_of(l->arena, &record, "rule: "),
                            .cwd = line_of(l->arena, &record, "in: ") };
    memcpy(a->key, key, sizeof a->key);
    return a->command && a->part && a->rule && a->cwd ? ABX_OK : err_nomem(err);
}

static int32_t list_directory(struct listing *l, const char *state_dir, abx_error **err)
{
    int fd = state_open(state_dir, APPROVALS_DIRECTORY, false);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    int32_t r = ABX_OK;

    if (!dir) {
        fd_close(fd);
        return ABX_OK; /* none here that would count */
    }
    for (const struct dirent *e; r == ABX_OK && l->count < APPROVALS_MAX && (e = readdir(dir));)
        if (key_is_valid(e->d_name))
            r = listing_add(l, fd, e->d_name, err);
    (void)closedir(dir);
    return r;
}

static int newest_first(const void *a, const void *b)
{
    const struct approval *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    return strcmp(x->key, y->key);
}

int32_t approvals_list(const char *const *state_dirs, struct arena *arena,
                       const struct approval **ret, size_t *ret_count, abx_error **err)
{
    _listing_ struct listing l = { .arena = arena };
    int32_t r = ABX_OK;

    for (; *state_dirs && r == ABX_OK; state_dirs++)
        r = list_directory(&l, *state_dirs, err);
    if (r != ABX_OK)
        return r;
    struct approval *items = arena_alloc(arena, l.count + 1, sizeof *items);
    if (!items)
        return err_nomem(err);
    if (l.count) {
        qsort(l.items, l.count, sizeof *l.items, newest_first);
        memcpy(items, l.items, l.count * sizeof *items);
    }
    *ret = items;
    *ret_count = l.count;
    return ABX_OK;
}

int32_t approvals_take(const char *const *state_dirs, const char *key, abx_error **err)
{
    if (!key_is_valid(key))
        return err_new(err, ABX_E_INVALID, "forget an approval: '%.100s' is no key", key);
    for (; *state_dirs; state_dirs++) {
        _fd_ int dir = state_open(*state_dirs, APPROVALS_DIRECTORY, false);
        if (dir < 0 || unlinkat(dir, key, 0) == 0 || errno == ENOENT)
            continue;
        int32_t code = err_sys(err, ABX_E_IO, -errno,
                               "forget an approval in '%s/" APPROVALS_DIRECTORY "'", *state_dirs);
        err_subject(err, *state_dirs);
        return code;
    }
    return ABX_OK;
}
