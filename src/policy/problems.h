/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems of one text, collected: all are reported, in the order of their places, up to
 * PROBLEMS_MAX; the rest is counted.
 */
#ifndef ABX_POLICY_PROBLEMS_H
#define ABX_POLICY_PROBLEMS_H

#include "base/defs.h"
#include "base/doc.h"
#include "base/err.h"

#define PROBLEMS_MAX 100

struct problems {
    const char *name; /* of the text; NULL: messages have no place in front */
    struct problem {
        struct doc_place place;
        abx_error *err;
    } list[PROBLEMS_MAX];
    size_t kept;  /* in the list */
    size_t count; /* of all: more than kept if there was no room */
    bool nomem;
};

void problems_done(struct problems *p);
#define _problems_ __attribute__((cleanup(problems_done)))

/* hint may be NULL. */
void problems_add(struct problems *p, struct doc_place place, const char *subject, const char *hint,
                  const char *fmt, ...) ATTR_PRINTF(5, 6);
/* Puts the place in front of an error's message; takes the error. */
void problems_take(struct problems *p, struct doc_place place, abx_error *err);
/* What was wrong with the text itself. */
void problems_of_doc(struct problems *p, const struct doc *doc);
/* ABX_OK if there are none; otherwise *err is the first of all. */
int32_t problems_report(struct problems *p, abx_error **err);

#endif
