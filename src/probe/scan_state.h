/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the scanner share. */
#ifndef ABX_PROBE_SCAN_STATE_H
#define ABX_PROBE_SCAN_STATE_H

#include "probe/resolve.h"
#include "probe/scan.h"

struct scan {
    const struct policy *policy;
    struct arena *arena;
    abx_error **err;
    struct facts *facts;
    struct path_fact *paths;
    size_t count, room;
    struct resolve_base root, home, cwd; /* fd -1: there is none */
    struct resolve_base own_home;        /* passwd's, where HOME says something else */
    uint32_t entries;                    /* looked at so far */
};

/* A rule that follows from what was found. NULL when out of memory. */
struct policy_rule *scan_derive(struct scan *s, uint32_t access, uint32_t flags, const char *source,
                                const char *text);
/* Adds a fact; where may be absent or denied. */
int32_t scan_add(struct scan *s, const struct policy_rule *rule, const struct resolved *where);
/* Both, for an absolute path that is taken as it is. ret may be NULL. */
int32_t scan_add_path(struct scan *s, uint32_t access, uint32_t flags, const char *source,
                      const char *path, struct resolved *ret);
/* Resolves an absolute path, from the nearest directory that is open anyway. */
int32_t scan_resolve(struct scan *s, const char *path, struct resolved *ret);
/* Counts one entry of a directory; ABX_E_CONFIG when there are too many. */
int32_t scan_count(struct scan *s, const char *what);

int32_t scan_pattern(struct scan *s, const struct policy_rule *rule,
                     const struct resolve_base *base, const char *text); /* walk.c */
int32_t scan_git(struct scan *s);                                        /* git.c */
int32_t scan_aliases(struct scan *s);                                    /* alias.c */

/* account.c: strings in the arena, NULL if unknown. user NULL: uid counts. */
const char *account_home(struct arena *arena, const char *user, size_t user_len, uint32_t uid);

#endif
