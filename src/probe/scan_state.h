/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the scanner share. */
#ifndef ABX_PROBE_SCAN_STATE_H
#define ABX_PROBE_SCAN_STATE_H

#include "probe/resolve.h"
#include "probe/scan.h"

struct walk_search;
struct mount_table;

/* A git directory that is dealt with; what: GIT_DONE_… (git.h). */
struct git_done {
    const struct git_done *next;
    const char *dir;
    unsigned what;
};
struct git_done_list {
    const struct git_done *first;
};

/* A repository that the walk came across. */
struct git_place {
    const struct git_place *next;
    const char *dir;
    bool bare;
};

struct scan {
    const struct scan_budget *budget;
    const struct policy *policy;
    struct arena *arena;
    abx_error **err;
    struct facts *facts;
    struct path_fact *paths;
    size_t count, room;
    struct pattern_fact *patterns;
    size_t pattern_count, pattern_room;
    struct resolve_base root, home, cwd; /* fd -1: there is none */
    struct resolve_base own_home;        /* passwd's, where HOME says something else */
    uint32_t entries;                    /* looked at so far */
    uint64_t place_devs[PLACE_COUNT];    /* of facts->places, which need not be mounts */

    const struct mount_table *mounts; /* mounts.c; NULL: nothing is mounted twice */
    const char **kernelfs;            /* kernelfs.c: what is hidden as the kernel's own */
    size_t kernelfs_count, kernelfs_room;

    struct walk_search *searches; /* walk.c: still to be carried out */
    size_t search_count, search_room;
    const char **roots; /* protect.c: writable roots that are searched for names */
    const char **skips; /* and what is left out of that */
    size_t root_count, skip_count;
    const struct git_place *git_places; /* git.c */
    const struct repo_fact **repos_end; /* of facts->repos; git_protect.c */
    struct git_done_list *git_done;     /* git_protect.c: GIT_DONE_LISTS, by the names' hash */
    const struct git_config *git_global;
    unsigned git_held, git_trees, git_included;
    size_t git_read;  /* bytes of configs */
    int64_t deadline; /* of scan_count, in seconds; 0: none */
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
/* Where a rule that is no pattern and not built in leads. */
int32_t scan_locate(struct scan *s, const struct policy_rule *rule, struct resolved *ret);
/* Counts one entry of a directory; ABX_E_CONFIG when there are too many, or it is too late. */
int32_t scan_count(struct scan *s, const char *what);
/* Of a clock that only goes forward. */
int64_t scan_seconds(void);

int32_t scan_aliases(struct scan *s);  /* alias.c */
int32_t scan_commands(struct scan *s); /* commands.c */
int32_t scan_keeps(struct scan *s);    /* keeps.c */
int32_t scan_mounts(struct scan *s);   /* mounts.c: before anything is walked through */

/* account.c: strings in the arena, NULL if unknown. user NULL: uid counts. */
const char *account_home(struct arena *arena, const char *user, size_t user_len, uint32_t uid);

/* sockets.c: a rule with RULE_SOCKET. */
#define SCAN_DOCKER_SOCKET "/var/run/docker.sock"
int32_t scan_socket(struct scan *s, const struct policy_rule *rule);

#endif
