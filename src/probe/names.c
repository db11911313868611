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

struct names {
    uint32_t mask;   /* slots - 1; a power of two, at least twice the names */
    uint16_t *slots; /* offset of the name in bytes, plus 1; 0: free */
    const char *bytes;
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
    uint32_t i = hash(name, len) & n->mask;

    for (; n->slots[i]; i = (i + 1) & n->mask) {
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

/* Goes over what getdents64 gave; false if a name is beyond ASCII. */
static bool count_names(const char *bytes, size_t len, uint32_t *ret_count)
{
    uint32_t count = 0;

    for (size_t at = 0; at < len; count++) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)(bytes + at);
        if (!is_ascii(entry->d_name))
            return false;
        at += entry->d_reclen;
    }
    *ret_count = count;
    return true;
}

static void add_names(struct names *n, size_t len)
{
    for (size_t at = 0; at < len;) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)(n->bytes + at);
        size_t offset = at + offsetof(struct dirent64, d_name);
        n->slots[find(n, entry->d_name, strlen(entry->d_name))] = (uint16_t)(offset + 1);
        at += entry->d_reclen;
    }
}

const struct names *names_read(struct arena *arena, int fd)
{
    _fd_ int dir = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _Alignas(struct dirent64) char bytes[NAMES_BYTES];
    char more[512];
    uint32_t count, slots = 64;

    ssize_t len = dir < 0 ? -1 : getdents64(dir, bytes, sizeof bytes);
    if (len < 0 || getdents64(dir, more, sizeof more) != 0 ||
        !count_names(bytes, (size_t)len, &count))
        return NULL; /* unreadable, or there is more */
    while (slots < 2 * count)
        slots *= 2;
    struct names *n = arena_alloc(arena, 1, sizeof *n);
    char *copy = arena_alloc(arena, (size_t)len + 1, 1);
    if (!n || !copy)
        return NULL;
    memcpy(copy, bytes, (size_t)len);
    *n = (struct names){ slots - 1, arena_alloc(arena, slots, sizeof *n->slots), copy };
    if (!n->slots)
        return NULL;
    add_names(n, (size_t)len);
    return n;
}

bool names_may_hold(const struct names *n, const char *text)
{
    size_t len = strcspn(text, "/");

    if (!n || len == 0 || (text[0] == '.' && (len == 1 || (len == 2 && text[1] == '.'))))
        return true;
    return n->slots[find(n, text, len)] != 0;
}
