/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Path patterns. Pure; bytes are bytes; case counts; a leading dot is an ordinary character.
 *
 *   *      any run of bytes within a component      [a-c]   one of a set; [!…] and [^…] negate
 *   ?      one byte, not a slash                    \c      the character c itself
 *   **     as a whole component: any number of components, none included; as the last one, one or
 *          more: "/a" and this matches all below /a, not /a itself. Elsewhere "**" means "*".
 *
 * Text and pattern are compared whole, component by component; the caller cleans both. Invalid are:
 * a set without its end in the same component, a set range that runs backwards, the POSIX forms
 * [[:x:]] [[=x=]] [[.x.]], a backslash at the end of a component, a NUL, and more than
 * GLOB_MAX_PATTERN bytes. An invalid pattern matches nothing, so rules that deny must be checked
 * when they are read.
 */
#ifndef ABX_BASE_GLOB_H
#define ABX_BASE_GLOB_H

#include "base/arena.h"
#include "base/defs.h"

#define GLOB_MAX_PATTERN 16384
#define GLOB_MAX_PARTS   64

/* 0, -EINVAL or -E2BIG. */
int glob_check(const char *pattern, size_t len);
/* Whether the text holds *, ?, [ or \: without them a pattern is a plain path. */
bool glob_is_pattern(const char *text, size_t len);
bool glob_match(const char *pattern, size_t pattern_len, const char *text, size_t text_len);
/* glob_match that counts the bytes it looks at: at most 4 * (pattern_len + 1) * (text_len + 1). */
bool glob_match_steps(const char *pattern, size_t pattern_len, const char *text, size_t text_len,
                      uint64_t *ret_steps);

/*
 * The same one component at a time, for a walker with many patterns. A pattern is split once; a set
 * of states (bits) then says which of its parts the next component may meet.
 */
struct glob_part {
    const char *text; /* LITERAL: without backslashes; SUFFIX: what follows the star */
    uint32_t len;
    uint32_t kind;
};
struct glob_parts {
    const struct glob_part *list;
    uint32_t count;
};
/* 0, -EINVAL, -ENOMEM, or -E2BIG: too long, or more than GLOB_MAX_PARTS components. */
int glob_split(struct arena *arena, const char *pattern, size_t len, struct glob_parts *ret);
uint64_t glob_begin(const struct glob_parts *parts);
/* The states behind a component; 0: nothing below it can match. ret_match: it ends a match. */
uint64_t glob_advance(const struct glob_parts *parts, uint64_t states, const char *name, size_t len,
                      bool *ret_match);

#endif
