/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shell reader (walk.c) tells the judge (judge.c): every simple command that a text would
 * run, each with what is known about it without running anything.
 *
 * A word is what the shell would hand over after quote removal and the expansions whose value the
 * text itself shows (FOO=x; echo $FOO). What only the run would tell is one WORD_HOLE byte in the
 * text. A literal byte of that value counts as a hole too: unknown, never harmless.
 */
#ifndef ABX_CLASSIFY_CALL_H
#define ABX_CLASSIFY_CALL_H

#include "base/defs.h"

#define WORD_HOLE '\x01'

#define WORD_UNKNOWN 0x1u  /* holds a WORD_HOLE */
#define WORD_SPLITS  0x2u  /* an unquoted hole: may become several words, or none */
#define WORD_GLOB    0x4u  /* an unquoted * ? [: may become several words */
#define WORD_QUOTED  0x8u  /* some part was quoted or escaped */
#define WORD_TILDE   0x10u /* begins with an unquoted ~ or $HOME: the text has ~ ("~/x", "~root") */
#define WORD_PROCESS 0x20u /* holds <(…) or >(…): a hole that is the name of a pipe */
#define WORD_ARRAY   0x40u /* NAME=(…): the list as it is written */

struct call;
struct walker;

struct word {
    const char *text; /* NUL-terminated */
    size_t len;
    uint32_t flags;
    const struct call *source; /* the command that prints a hole of it: $(…), <(…); or NULL */
};

enum redirect_op {
    REDIRECT_IN,          /* <  */
    REDIRECT_OUT,         /* >  >| */
    REDIRECT_APPEND,      /* >> */
    REDIRECT_BOTH,        /* &> and >& FILE: fd 1 and 2 */
    REDIRECT_BOTH_APPEND, /* &>> */
    REDIRECT_INOUT,       /* <> */
    REDIRECT_DUP_IN,      /* <& */
    REDIRECT_DUP_OUT,     /* >& N or - */
    REDIRECT_TEXT,        /* <<, <<-, <<<: target is the text that is read */
};

struct redirect {
    enum redirect_op op;
    int fd; /* as written or the operator's own; -1: {name}> */
    struct word target;
};

struct assignment {
    const char *name;
    struct word value;
    bool guessed; /* in exports: set, not exported, but such a name the environment may have */
};

#define CALL_STDIN_PIPE    0x1u /* stdin is a pipe of this text, also through a compound */
#define CALL_STDOUT_PIPE   0x2u
#define CALL_BACKGROUND    0x4u
#define CALL_SUBSTITUTION  0x8u  /* runs for its output: $(…), `…`, <(…), >(…) */
#define CALL_FORK_BOMB     0x10u /* a function that starts itself twice or in the background */
#define CALL_FUNCTION_BODY 0x20u /* judged because it is defined; nobody was seen calling it */
#define CALL_CWD_UNKNOWN   0x40u /* after a cd whose target only the run tells */

struct call {
    const struct word
        *words; /* words[0] is the command; may be none: only assignments, redirects */
    size_t count;
    const struct assignment *assigns; /* in front of the command */
    size_t assign_count;
    const struct redirect *redirects; /* own ones, then those of the compounds around it */
    size_t redirect_count;
    const struct assignment *exports; /* in force: exported earlier in the text, the last counts */
    size_t export_count;
    uint32_t flags;
    const char *cwd; /* after the cd's of the text: absolute, "~…", relative to its start, or "" */
    const struct call *feeder; /* the command that writes into our standard input, if it is one */
    const char *part;          /* the text of the command as written, not NUL-terminated */
    size_t part_len;
    struct walker *walker; /* the reader's own */
};

#endif
