/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protected names (policy/names.def) and repositories below writable roots.
 *
 * At the top of a root also what is absent is protected; deeper, down to the policy's name_depth,
 * what exists. Not searched: .git itself (git.c knows what is in it), the directories that
 * names.def leaves out, what another rule hides, makes read-only or gives to a program as its own
 * data.
 */
#ifndef ABX_PROBE_PROTECT_H
#define ABX_PROBE_PROTECT_H

#include "probe/scan_state.h"

/* Adds the names at the top of the roots among the facts from first on, and their searches. */
int32_t protect_roots(struct scan *s, size_t first);

/* A directory that the search is in. */
struct protect_dir {
    int fd;
    const char *path, *root;
    bool has_git;
    unsigned signs; /* of a bare repository */
};
/* type: d_type. */
int32_t protect_see(struct scan *s, struct protect_dir *d, const char *name, unsigned type);
/* All entries were seen. */
int32_t protect_seen(struct scan *s, const struct protect_dir *d);
/* The subdirectory name of dir (also fd) cannot be listed. */
int32_t protect_unreadable(struct scan *s, int fd, const char *dir, const char *name,
                           const char *root);
/* Is the subdirectory left out? */
bool protect_skips(const struct scan *s, const char *dir, const char *name);

#endif
