/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of names: open addressing over the bytes that getdents64 gave. The directory may be
 * anybody's, so its size is bounded; one with more names than that is simply asked name by name.
 *
 * "Not there" must never be wrong: a file system may ignore case, and fold other letters onto ASCII
 * ones. So ASCII case is ignored here, and a directory with a name beyond ASCII gives no set.
 */
#include "probe/names.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"

#define NAMES_BYTES 16384 /* some 400 names */
#define NAMES_SLOTS 2048

struct names {
    uint16_t slots[NAMES_SLOTS]; /* offset of the name in bytes, plus 1; 0: free */
    char bytes[NAMES_BYTES];
};

static uint32_t hash(const char *name, size_t len)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < len; i++) {
        uint8_t c = (uint8_t)name[i];
        h = (h ^ (c >= 'A' && c <= 'Z' ? c | 0x20u : c)) * 16777619u;
    }
    return h;
}

/* The slot of the name, or the free one where it belongs. */
static uint32_t find(const struct names *n, const char *name, size_t len)
{
    uint32_t i = hash(name, len) % NAMES_SLOTS;

    for (; n->slots[i]; i = (i + 1) % NAMES_SLOTS) {
        const char *held = n->bytes + n->slots[i] - 1;
        if (strncasecmp(held, name, len) == 0 && held[len] == '\0')
            break;
    }
    return i;
}

static bool is_ascii(const char *name)
{
    while (*name && (uint8_t)*name < 0x80)
        name++;
    return !*name;
}

static bool add_all(struct names *n, size_t len)
{
    size_t count = 0;

    for (size_t at = 0; at < len;) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)(n->bytes + at);
        size_t offset = at + offsetof(struct dirent64, d_name);

        if (++count > NAMES_SLOTS / 2 || !is_ascii(entry->d_name))
            return false;
        n->slots[find(n, entry->d_name, strlen(entry->d_name))] = (uint16_t)(offset + 1);
        at += entry->d_reclen;
    }
    return true;
}

const struct names *names_read(struct arena *arena, int fd)
{
    _fd_ int dir = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct names *n = dir < 0 ? NULL : arena_alloc(arena, 1, sizeof *n);
    char more[512];

    if (!n)
        return NULL;
    ssize_t len = getdents64(dir, n->bytes, sizeof n->bytes);
    if (len < 0 || getdents64(dir, more, sizeof more) != 0)
        return NULL; /* unreadable, or there is more */
    return add_all(n, (size_t)len) ? n : NULL;
}

bool names_may_hold(const struct names *n, const char *text)
{
    size_t len = strcspn(text, "/");

    if (!n || len == 0 || (text[0] == '.' && (len == 1 || (len == 2 && text[1] == '.'))))
        return true;
    return n->slots[find(n, text, len)] != 0;
}
