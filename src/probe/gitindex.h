/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git's index (versions 2 to 4), of which only the entries that are repositories of their own
 * ("gitlinks": submodules, checked out or not) are of interest. Pure.
 *
 * Reads as git reads one entry after the other, where git would refuse the file too; stops at the
 * first entry that does not fit. Extensions are not looked at: a file whose table of offsets (IEOT)
 * leads elsewhere is read differently by git.
 */
#ifndef ABX_PROBE_GITINDEX_H
#define ABX_PROBE_GITINDEX_H

#include "base/buf.h"
#include "base/defs.h"

#define GITINDEX_MAX_PATH 65536u

struct gitindex {
    const unsigned char *at, *end;
    uint32_t version, left; /* entries to come */
    size_t hash;            /* bytes of an object's name */
    struct buf path;        /* of the last entry that was read; version 4 builds on it */
};

/* hash: 20 for SHA-1, 32 for SHA-256; the repository's config decides, not the file. */
void gitindex_init(struct gitindex *x, const void *bytes, size_t len, size_t hash);
void gitindex_done(struct gitindex *x);
/* The path of the next gitlink, until the next call, any text but ""; NULL at the end. */
const char *gitindex_next_link(struct gitindex *x);

#endif
