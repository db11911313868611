/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Violations of one run: a list that is bounded in number and size, in which the same thing stands
 * once, with a count. Whoever refuses something adds to it: the monitor of the launcher, the net
 * role, the limits.
 */
#ifndef ABX_RUN_VIOLATIONS_H
#define ABX_RUN_VIOLATIONS_H

#include "agentbox/agentbox.h"
#include "base/defs.h"

#define VIOLATIONS_MAX      1024
#define VIOLATIONS_TEXT_MAX ((size_t)8192) /* of each text */

enum violation_operation {
    VIOLATION_READ,
    VIOLATION_WRITE,
    VIOLATION_NETWORK,
    VIOLATION_PROCESS,
    VIOLATION_OTHER,
    VIOLATION_OPERATION_COUNT,
};
const char *violation_operation_name(uint32_t operation); /* "file-read", … */

/* Texts may be NULL in what is added, and are never NULL in the list, which has copies. */
struct abx_violation {
    int64_t time_ns; /* 0 in what is added: now */
    uint32_t operation;
    int32_t port, pid;
    bool attempt;   /* seen before the kernel decided: what was meant may have been another thing */
    uint64_t count; /* 0 in what is added: 1 */
    const char *path, *host, *detail, *process, *rule, *origin, *source, *grant, *note;
    const char *grant_path; /* in grant, as it is */
    const char *first;      /* to be done before the grant helps */
    const char *lead;       /* a literal, in front of the grant in text; NULL: "to allow: " */
    const char *text;       /* one line, escaped; made by violations_add */
};

struct violations {
    struct abx_violation *list;
    size_t count, capacity;
    uint64_t dropped;
};

/*
 * The record that stands for it now, or NULL if there was no room (then it is counted as dropped).
 * *ret_new (may be NULL): it was not there before. Same operation, path, host, port, for hosts the
 * same rule and, where path and host are empty, the same detail: the same thing.
 */
const struct abx_violation *violations_add(struct violations *v, const struct abx_violation *one,
                                           bool *ret_new);
/* 0 or -ENOMEM, then *ret is empty. */
int violations_copy(const struct violations *from, struct violations *ret);
void violations_done(struct violations *v);

#endif
