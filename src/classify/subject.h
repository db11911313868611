/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the matchers of the rules see: one simple command with its name worked out, and the helpers
 * that most of them use. A matcher answers for this command alone; what the command runs in turn is
 * judged by itself (unwrap.c).
 */
#ifndef ABX_CLASSIFY_SUBJECT_H
#define ABX_CLASSIFY_SUBJECT_H

#include "base/arena.h"
#include "classify/call.h"
#include "classify/ruleset.h"

struct command;

enum {
#define TRAIT(id, names) TRAIT_NUMBER_##id,
#include "classify/traits.def"
#undef TRAIT
};
enum {
#define TRAIT(id, names) TRAIT_##id = 1 << TRAIT_NUMBER_##id,
#include "classify/traits.def"
#undef TRAIT
    TRAIT_INTERPRETER = TRAIT_SHELL | TRAIT_CODER,
};

#define SUBJECT_NAME_MAX 64 /* longer names are no command that a rule knows */

struct subject {
    const struct ruleset *rules;
    struct arena *arena;
    const char *start; /* where the text starts: absolute, or "" */
    const struct call *call;
    char name[SUBJECT_NAME_MAX]; /* of the command: no directory, no .exe, lower-case; "" unknown */
    const struct command *command; /* what the ruleset knows by that name; NULL: nothing */
    const struct word *args;       /* behind the command */
    size_t count;
    bool from_argv;     /* no shell: nothing is expanded */
    bool derived;       /* run by another command: the part is that one's too */
    bool xargs;         /* run by xargs: words of its standard input are added */
    bool find;          /* run by find, for each file */
    const char *reason; /* a matcher may say it better than the table */
    bool *no_memory;    /* set where memory was missing: the verdict is "unreadable" then */
};

/* Files that are the standard input. */
#define STDIN_NAMES "/dev/stdin /dev/fd/0 /proc/self/fd/0"

/* ---- words ---- */

bool list_has(const char *list, const char *word); /* blank-separated */
bool list_has_n(const char *list, const char *word, size_t len);
bool word_is(const struct word *w, const char *text);
bool word_is_flag(const struct word *w); /* -x, --x; not "-" */
/* Wholly unknown: nothing but a hole. */
bool word_is_hole(const struct word *w);
bool text_has(const char *text, const char *part); /* ignoring case */
bool text_has_any(const char *text, const char *parts);
/* Whether a byte string holds the word with no letter, digit, - or _ next to it. */
bool bytes_have_word(const char *bytes, size_t len, const char *word);

/* ---- arguments ---- */

bool arg_is(const struct subject *s, size_t i, const char *list);
bool args_have(const struct subject *s, const char *list); /* some argument is one of these */
/* A short flag, alone or in a cluster, in front of "--". */
bool args_have_short(const struct subject *s, const char *letters);
bool args_have_long(const struct subject *s, const char *name); /* also --name=x, and abbreviated */
/* The long flag is one of the list: all of its name, or its first three letters and more. */
bool long_list_has(const char *list, const char *name, size_t len);
/* --help, -h or --version anywhere, or -V as the only argument. */
bool args_want_info(const struct subject *s);

/*
 * Flags in the manner of getopt. short_values: letters that take a value; long_values: names that
 * do, blank-separated. Abbreviated long names are understood.
 */
enum flag_kind { FLAG_END, FLAG_SHORT, FLAG_LONG, FLAG_OPERAND };
struct flags {
    const struct word *words;
    size_t count, next;
    const char *short_values, *long_values;
    bool stop_at_operand;
    /* the current one */
    char letter;
    const char *name; /* long: without --, may go on with =value */
    size_t name_len;
    const char *value; /* of a flag that takes one; NULL: none */
    const struct word *word;
    /* inside */
    const char *cluster;
    bool only_operands;
};
void flags_init(struct flags *f, const struct word *words, size_t count, const char *short_values,
                const char *long_values);
enum flag_kind flags_next(struct flags *f);
bool flags_is_long(const struct flags *f, const char *name);
/* The text of the n-th operand (from 0) behind the flags, or "". */
const char *verb_of(const struct subject *s, size_t n, const char *short_values,
                    const char *long_values);
bool has_toolchain(const struct subject *s); /* cargo +nightly build */
/* git's own: skips -C dir, -c x=y and their kind. verb: the subcommand or "". */
const char *git_verb(const struct subject *s, const struct word **ret_rest, size_t *ret_count);

/* ---- what it is ---- */

/* From the call: name, command, args. The ruleset is set before. */
void subject_init(struct subject *s, const struct call *call);
/* The command is one of those in traits.def. */
bool subject_is(const struct subject *s, uint32_t traits);
/* The program comes from where the system keeps its own (or PATH): not ./ls. */
bool is_system_program(const struct subject *s);

#endif
