/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command-line options from a table, GNU style: --name VALUE, --name=VALUE, -xVALUE, -x VALUE,
 * -abc; "--" ends the options; no abbreviations. An iterator, which prints and allocates nothing:
 *
 *     struct opt o;
 *     opt_init(&o, specs, ARRAY_LEN(specs), argc - 1, argv + 1, OPT_STOP_AT_OPERAND);
 *     for (int id; (id = opt_next(&o)) != OPT_END;)
 *         switch (id) { case OPT_ID_RW: add(o.value); break; … default: return misuse(&o, id); }
 *     the operands are o.argv[o.next] … o.argv[o.argc - 1]
 *
 * An option that takes a value takes the next word whatever it looks like, as getopt_long does.
 */
#ifndef ABX_BASE_OPT_H
#define ABX_BASE_OPT_H

#include "base/buf.h"
#include "base/defs.h"

#define OPT_MAX_SPECS  128
#define OPT_HELP_WIDTH 80

/* What opt_next returns besides the id of a row. */
enum {
    OPT_END = -1,
    OPT_OPERAND = -2,          /* value: the word; never with OPT_STOP_AT_OPERAND */
    OPT_UNKNOWN = -3,          /* dashes, name, nearest */
    OPT_MISSING_VALUE = -4,    /* dashes, name, spec */
    OPT_UNEXPECTED_VALUE = -5, /* dashes, name, spec, value: "--quiet=yes" */
    OPT_HEADING = -6,          /* only as the id of a row: its help is a heading in the help text */
};

struct opt_spec {
    int id;                /* 0 or more, or OPT_HEADING */
    char short_name;       /* 0: none */
    const char *long_name; /* NULL: none */
    const char *value;     /* the value's name in the help text; NULL: takes no value */
    const char *help;      /* one sentence; NULL: not shown */
};

#define OPT_STOP_AT_OPERAND 1u /* the first word that is no option ends them */

struct opt {
    const struct opt_spec *specs;
    size_t spec_count;
    int argc;
    char *const *argv;
    unsigned flags;
    int next;            /* index of the first word not looked at */
    const char *cluster; /* the rest of "-abc", or NULL */
    bool operands_only;  /* "--" was seen */

    /* About the last opt_next. */
    const struct opt_spec *spec;
    const char *value;  /* NULL if there is none */
    const char *dashes; /* "-" or "--" */
    const char *name;   /* as written behind the dashes, not terminated: "rw" of "--rw=x" */
    size_t name_len;
    const char *nearest; /* long name (no dashes) that was perhaps meant, or NULL */
};

void opt_init(struct opt *o, const struct opt_spec *specs, size_t spec_count, int argc,
              char *const *argv, unsigned flags);
int opt_next(struct opt *o);
/* The table as text: "  -C, --cwd DIR  help", help in one column, broken at `width`. */
int opt_help(struct buf *b, const struct opt_spec *specs, size_t spec_count, size_t width);
/*
 * Words and a newline, where `indent` columns are used already: a line that would be wider than
 * `width` goes on in the next one, indented as much.
 */
void opt_put_words(struct buf *b, const char *text, size_t indent, size_t width);

#endif
