/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of text that somebody else owns, and ASCII without locale. Pure. */
#ifndef ABX_NET_SPAN_H
#define ABX_NET_SPAN_H

#include "base/defs.h"

struct span {
    const char *at; /* not NUL-terminated */
    size_t len;
};

#define SPAN(literal) ((struct span){ "" literal, sizeof(literal) - 1 })

bool span_eq(struct span s, const char *text);
/* Capitals and small letters are the same. */
bool span_eq_nocase(struct span s, const char *text);
/* text is in small letters; in s '_' and '.' are the same as '-', as many back ends read names. */
bool span_eq_folded(struct span s, const char *text);
/* Without the blanks and tabs at both ends. */
struct span span_trim(struct span s);
/* Cuts the text up to `end` off the front of *s, and `end` itself; false when nothing is left. */
bool span_next(struct span *s, char end, struct span *ret);
/* Decimal digits only, no zero in front of others; false if not a number or above max. */
bool span_to_u64(struct span s, uint64_t max, uint64_t *ret);

char ascii_lower(char c);
bool ascii_is_digit(char c);
bool ascii_is_alnum(char c);
bool ascii_is_token(char c); /* of RFC 9110: names of methods and headers */

#endif
