/* SPDX-License-Identifier: Apache-2.0 */
/* Text: comparisons, numbers, display. Pure. */
#ifndef ABX_BASE_STR_H
#define ABX_BASE_STR_H

#include "base/buf.h"
#include "base/defs.h"

bool str_eq(const char *a, const char *b);
/* The bytes are this name, whole. */
bool str_is(const char *bytes, size_t len, const char *name);
bool str_has_prefix(const char *s, const char *prefix);
bool str_has_suffix(const char *s, const char *suffix);
/* Decimal, the whole string, no sign; false if malformed or above max. */
bool str_to_u64(const char *s, uint64_t max, uint64_t *ret);
/* "512", "64K", "2G", "1.5G", "10MiB", "1TB": binary multiples, rounded down to bytes. */
bool str_to_size(const char *s, uint64_t *ret_bytes);
/* "30s", "500ms", "2m", "1h", "1.5s"; a bare number is seconds. */
bool str_to_duration(const char *s, int64_t *ret_ns);
/*
 * s with control, non-UTF-8, bidi and zero-width characters made visible (\xNN, \u{…}).
 * Backslashes stay as they are, so escaping twice changes nothing more.
 */
int str_escape(struct buf *b, const char *s, size_t len);
/* s as one word for a shell, in single quotes. */
int str_quote(struct buf *b, const char *s);
/* The same; words that no shell could take for anything else stay without quotes. */
int str_word(struct buf *b, const char *s);
/* Bytes of the well-formed UTF-8 sequence at s (1 to 4) and its character; 0 if there is none. */
size_t str_utf8(const char *s, size_t len, uint32_t *ret_char);
/* The other way: up to four bytes of a character (its low 21 bits); how many. */
size_t str_put_utf8(char *out, uint32_t character);
/* Characters that a terminal obeys or does not show: control, bidi, zero-width, separators. */
bool str_is_invisible(uint32_t character);
/*
 * The nearest of the NULL-terminated names, or NULL: "did you mean". Edit distance at most 2 (a
 * swap of neighbours is one edit, case is none); one in two letters, or two in six and more.
 */
const char *str_nearest(const char *word, const char *const *names);

#endif
