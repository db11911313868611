/* SPDX-License-Identifier: Apache-2.0 */
/* Which paths a command would write, delete or change: by redirects, and by what it is. */
#ifndef ABX_CLASSIFY_WRITES_H
#define ABX_CLASSIFY_WRITES_H

#include "classify/subject.h"

enum write_how {
    WRITE_REDIRECT, /* > and its kind */
    WRITE_STREAM,   /* the same by a program: tee, dd */
    WRITE_FILE,     /* made, replaced or edited */
    WRITE_DELETE,   /* also moved away */
    WRITE_MODE,     /* owner, permissions, attributes */
};

struct write {
    enum write_how how;
    const struct word *word;
    const char *text; /* the path, within word */
};

/* The paths of one command: writes_init, then writes_next until it is false. */
struct writer;
struct writes {
    const struct subject *s;
    size_t redirect;
    const struct writer *writer;
    struct flags flags;
    size_t operand, last;
    bool into;        /* -t DIR: all operands are sources */
    bool makes_dirs;  /* install -d */
    bool script_flag; /* the script came with -e or -f */
};
void writes_init(struct writes *w, const struct subject *s);
bool writes_next(struct writes *w, struct write *ret);
/* sed -i, perl -pi and their kind. */
bool writes_in_place(const struct subject *s);

extern const size_t writer_count;
const char *writer_names(const struct writer *w); /* blank-separated */
const struct writer *writer_at(size_t i);

#endif
