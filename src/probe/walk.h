/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk for everything that must be looked for: patterns of rules, and below writable roots the
 * protected names and repositories. Searches are added first; then each directory is read once, for
 * all searches that something below it may concern, and no other directory is.
 */
#ifndef ABX_PROBE_WALK_H
#define ABX_PROBE_WALK_H

#include "base/glob.h"
#include "probe/scan_state.h"

struct walk_search {
    const struct policy_rule *rule; /* NULL: protected names */
    struct resolved start;
    struct glob_parts parts; /* of the pattern, relative to start */
    bool started;
};

/* A pattern; the part before its first special character is resolved at once. */
int32_t walk_add_pattern(struct scan *s, const struct policy_rule *rule,
                         const struct resolve_base *base, const char *text);
/* What protect.c looks for, below a writable root (canonical), the policy's name_depth deep. */
int32_t walk_add_names(struct scan *s, const char *root);
/* /dev, /proc, /run, /sys: every run gets them anew; and what shows the same elsewhere. */
bool walk_is_system(const struct scan *s, const char *path);
/* Carries out what was added since the last time. */
int32_t walk_run(struct scan *s);

#endif
