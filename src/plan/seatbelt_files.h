/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the Seatbelt compiler: what its files share. Pure. */
#ifndef ABX_PLAN_SEATBELT_FILES_H
#define ABX_PLAN_SEATBELT_FILES_H

#include "plan/seatbelt.h"

struct seatbelt {
    const struct policy *policy;
    const struct facts *facts;
    const struct seatbelt_request *request;
    struct arena *arena;
    struct buf *out;
    abx_error **err;
    int32_t code; /* the first failure, ABX_OK until then */
};

/* A line "(verb operations (filter "text"))": the tag in it if it denies, "; why" behind it. */
void seatbelt_rule(struct seatbelt *s, const char *verb, const char *operations, const char *filter,
                   const char *text, const char *why);
/* The same with a filter that is written already. */
void seatbelt_rule_raw(struct seatbelt *s, const char *verb, const char *operations,
                       const char *filter, const char *why);

/* seatbelt_files.c: what the policy says about files, the more specific further down. */
int32_t seatbelt_files(struct seatbelt *s);

#endif
