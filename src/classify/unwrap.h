/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that run other commands: what they would run, as words or as shell text. Each finding
 * is told to the sink, which judges it in the context of the wrapper.
 */
#ifndef ABX_CLASSIFY_UNWRAP_H
#define ABX_CLASSIFY_UNWRAP_H

#include "classify/subject.h"

#define INNER_STDIN_PIPE 0x1u /* its standard input is data of the wrapper */
#define INNER_XARGS      0x2u /* arguments from the standard input are added */
#define INNER_FIND       0x4u /* run for each file that is found */
#define INNER_STDIN_TEXT 0x8u /* the text is the standard input itself */

struct inner_sink {
    void *user;
    void (*words)(void *user, const struct subject *s, const struct word *words, size_t count,
                  uint32_t inner);
    void (*text)(void *user, const struct subject *s, const char *text, size_t len, uint32_t inner);
};

struct wrapper;
typedef bool (*unwrap_fn)(const struct subject *s, const struct wrapper *w,
                          const struct inner_sink *sink);

struct wrapper {
    const char *name;
    unwrap_fn unwrap;                       /* true: something was found */
    const char *short_values, *long_values; /* flags of its own that take a value */
    unsigned operands;                      /* of its own, in front of the command */
    bool neutral; /* does nothing itself: the verdict is that of what it runs */
};
extern const struct wrapper wrappers[];
extern const size_t wrapper_count;

/* All that the command would run; w: its row, or NULL. True: found something. */
bool unwrap(const struct subject *s, const struct wrapper *w, const struct inner_sink *sink);

/* ---- for the handlers ---- */

void inner_words(const struct inner_sink *sink, const struct subject *s, const struct word *words,
                 size_t count, uint32_t inner);
void inner_text(const struct inner_sink *sink, const struct subject *s, const char *text,
                uint32_t inner);
/* The words joined by blanks are one text. */
bool inner_joined(const struct inner_sink *sink, const struct subject *s, const struct word *words,
                  size_t count, uint32_t inner);
/* The words with each {} replaced by a hole. */
const struct word *with_holes(const struct subject *s, const struct word *words, size_t count,
                              const char *mark);

#define UNWRAP(name)                                                                               \
    bool unwrap_##name(const struct subject *s, const struct wrapper *w,                           \
                       const struct inner_sink *sink)
UNWRAP(prefix);
UNWRAP(env);
UNWRAP(shell);
UNWRAP(eval);
UNWRAP(trap);
UNWRAP(alias);
UNWRAP(command);
UNWRAP(find);
UNWRAP(xargs);
UNWRAP(parallel);
UNWRAP(joined);
UNWRAP(flock);
UNWRAP(subcommand);
UNWRAP(cmd);
UNWRAP(powershell);
UNWRAP(git);
UNWRAP(ssh);
UNWRAP(vim);
UNWRAP(tmux);
UNWRAP(cmake);
UNWRAP(make);
UNWRAP(fd);
UNWRAP(gdb);
UNWRAP(source);
UNWRAP(nothing);
UNWRAP(subscript);
UNWRAP(each);
UNWRAP(dashed);
UNWRAP(nix);
UNWRAP(socat);

#endif
