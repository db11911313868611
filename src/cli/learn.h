/* SPDX-License-Identifier: Apache-2.0 */
/* What runs were refused, as a configuration that would not. */
#ifndef ABX_CLI_LEARN_H
#define ABX_CLI_LEARN_H

#include "cli/cli.h"

/* A grant, or a remark about what is not granted (then key is NULL). */
struct lesson {
    const char *key; /* "filesystem.rw", "network.allowedDomains" */
    char *value;     /* a path or host; of a remark: the record's line */
    char *why;       /* who wanted it; of a remark: why it is not granted */
};

struct lessons {
    struct lesson *list;
    size_t count, capacity;
    char *home; /* the caller's */
    char *cwd;  /* the command's; both canonical, allocated, or NULL */
};

/* Takes what a result says. *ret_new: how many grants were not known before. False: no memory. */
bool lessons_add(struct lessons *l, const abx_result *result, size_t *ret_new);
/* A .agentbox.jsonc, or the same as one line of JSON. False: it could not be made. */
bool lessons_print(struct lessons *l, unsigned runs, bool json, FILE *to);
void lessons_done(struct lessons *l);

#endif
