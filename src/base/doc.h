/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document: the tree that JSON, JSONC and YAML texts have in common, with the place of every key
 * and value. The text is foreign: it is read within the limits below, and whatever is doubtful is a
 * problem, never a guess.
 *
 *   JSON    RFC 8259, no more
 *   JSONC   JSON with comments and with a comma behind the last member or element
 *   YAML    one document of maps, lists and scalars, block or flow, without anchors, aliases, tags
 *           and directives. A plain scalar is null, true, false or a number where JSON would read
 *           one ("~" and nothing are null too), otherwise text.
 */
#ifndef ABX_BASE_DOC_H
#define ABX_BASE_DOC_H

#include "base/arena.h"
#include "base/defs.h"

#define DOC_MAX_BYTES    ((size_t)1 << 20)
#define DOC_MAX_DEPTH    32
#define DOC_MAX_NODES    100000
#define DOC_MAX_PROBLEMS 64

enum doc_format { DOC_JSON, DOC_JSONC, DOC_YAML };
/* By the end of a file's name: .json, .yaml or .yml; everything else is JSONC. */
enum doc_format doc_format_of_name(const char *name);

enum doc_type { DOC_NULL, DOC_BOOL, DOC_NUMBER, DOC_STRING, DOC_LIST, DOC_MAP };

/* From 1; columns are characters. */
struct doc_place {
    uint32_t line, column;
};

struct doc_node {
    enum doc_type type;
    bool truth; /* BOOL */
    struct doc_place place;
    const char *key; /* of a map's member, else NULL; UTF-8 without NUL, as all texts here */
    struct doc_place key_place;
    const char *text; /* STRING: what it says; the other scalars: as written */
    size_t count;     /* LIST, MAP: how many children */
    struct doc_node *first, *next;
};

/* All texts are constants, except about, which lives in the arena. */
struct doc_problem {
    struct doc_place place;
    const char *what;
    const char *about;       /* the key that is there twice, or NULL */
    struct doc_place before; /* where it was first; line 0: nowhere */
    const char *hint;        /* or NULL */
};

struct doc {
    const struct doc_node *root;                   /* NULL: the text could not be read to its end */
    struct doc_problem problems[DOC_MAX_PROBLEMS]; /* in the order of their places */
    size_t problem_count;                          /* also those that had no room */
};

/* 0, -EBADMSG if there are problems, -ENOMEM. The tree lives in the arena. */
int doc_read(struct arena *arena, const char *text, size_t len, enum doc_format format,
             struct doc *ret);

#endif
