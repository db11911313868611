/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/gitindex.h"

#include <string.h>

#define HEADER_BYTES  12u
#define STAT_BYTES    40u /* of an entry: what stat said, the mode among it */
#define MODE_OFFSET   24u
#define MODE_TYPE     0170000u
#define MODE_GITLINK  0160000u
#define FLAG_EXTENDED 0x4000u
#define FLAG_LENGTH   0x0fffu /* all of these bits: longer, up to the NUL */

static uint32_t big_endian(const unsigned char *p, size_t bytes)
{
    uint32_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | p[i];
    return value;
}

void gitindex_init(struct gitindex *x, const void *bytes, size_t len, size_t hash)
{
    const unsigned char *at = bytes;

    *x = (struct gitindex){ .hash = hash, .path = { .limit = GITINDEX_MAX_PATH } };
    if (len < HEADER_BYTES || memcmp(at, "DIRC", 4) != 0)
        return;
    x->version = big_endian(at + 4, 4);
    if (x->version < 2 || x->version > 4)
        return;
    x->left = big_endian(at + 8, 4);
    x->at = at + HEADER_BYTES;
    x->end = at + len;
}

void gitindex_done(struct gitindex *x)
{
    buf_done(&x->path);
}

static size_t room(const struct gitindex *x)
{
    return (size_t)(x->end - x->at);
}

/* How much of the last path's end this one has not: seven bits a byte, all but the last plus 1. */
static bool take_strip(struct gitindex *x, size_t *ret)
{
    size_t value = 0;

    for (size_t i = 0; i < 5 && room(x) > 0; i++) {
        const unsigned char c = *x->at++;

        value = (value << 7) + (c & 0x7f);
        if (!(c & 0x80)) {
            *ret = value;
            return true;
        }
        value++;
    }
    return false;
}

/* keep bytes of the last path, then len bytes from here. */
static bool take_path(struct gitindex *x, size_t keep, size_t len)
{
    x->path.len = keep;
    return buf_append(&x->path, x->at, len) == 0;
}

/* The rest of an entry that began at `entry`, from its path on. */
static bool take_name(struct gitindex *x, const unsigned char *entry, size_t len)
{
    size_t strip, keep = 0;

    if (x->version == 4) {
        if (!take_strip(x, &strip) || strip > x->path.len)
            return false;
        keep = x->path.len - strip;
    }
    if (len == FLAG_LENGTH)
        len = keep + strnlen((const char *)x->at, room(x));
    if (len < keep || len - keep >= room(x) || !take_path(x, keep, len - keep))
        return false;
    x->at += len - keep;
    if (x->version == 4) {
        x->at++;
        return true;
    }
    const size_t whole = ((size_t)(x->at - entry) + 8) & ~(size_t)7;
    if (whole > (size_t)(x->end - entry))
        return false;
    x->at = entry + whole;
    return true;
}

static bool take_entry(struct gitindex *x, uint32_t *ret_mode)
{
    const unsigned char *entry = x->at;

    if (room(x) < STAT_BYTES + x->hash + 4)
        return false;
    *ret_mode = big_endian(entry + MODE_OFFSET, 4);
    x->at += STAT_BYTES + x->hash;
    const uint32_t flags = big_endian(x->at, 2);
    x->at += flags & FLAG_EXTENDED ? 4 : 2;
    return take_name(x, entry, flags & FLAG_LENGTH);
}

const char *gitindex_next_link(struct gitindex *x)
{
    uint32_t mode;

    while (x->left > 0) {
        x->left--;
        if (!take_entry(x, &mode))
            x->left = 0;
        else if ((mode & MODE_TYPE) == MODE_GITLINK && x->path.len > 0 && x->path.data[0])
            return x->path.data;
    }
    return NULL;
}
