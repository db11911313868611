/* SPDX-License-Identifier: Apache-2.0 */
/* How json_read.c and yaml_read.c make a document; only for them and doc.c. */
#ifndef ABX_BASE_DOC_BUILD_H
#define ABX_BASE_DOC_BUILD_H

#include "base/doc.h"

struct doc_builder {
    struct arena *arena;
    struct doc *doc;
    size_t nodes;
    int failed; /* 0; -EBADMSG: a problem after which nothing more is read; -ENOMEM */
};

/* A problem that does not keep the rest from being read. Returns it, or NULL without room. */
struct doc_problem *doc_note(struct doc_builder *b, struct doc_place place, const char *what,
                             const char *hint);
/* One that does: sets failed, unless it is set. Returns b->failed. */
int doc_stop(struct doc_builder *b, struct doc_place place, const char *what, const char *hint);
int doc_nomem(struct doc_builder *b);

/* A node behind *tail, which moves on; NULL: b->failed says why. */
struct doc_node *doc_add(struct doc_builder *b, struct doc_node ***tail, enum doc_type type,
                         struct doc_place place);
/* For a map that is complete: notes the keys that it has twice. */
void doc_check_keys(struct doc_builder *b, const struct doc_node *map);
/* Whether the bytes are a number of JSON that a program can take: not beyond 64 bits, or 1e307. */
enum doc_number { DOC_NUMBER_NONE, DOC_NUMBER_OK, DOC_NUMBER_TOO_LARGE };
enum doc_number doc_check_number(const char *s, size_t len);

/* The readers. They set doc->root when they came to the end. */
void json_read(struct doc_builder *b, const char *text, size_t len, bool extended);
void yaml_read(struct doc_builder *b, const char *text, size_t len);

#endif
