/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a Seatbelt profile: strings, regexes, one rule. Pure. */
#ifndef ABX_PLAN_SEATBELT_TEXT_H
#define ABX_PLAN_SEATBELT_TEXT_H

#include "base/buf.h"
#include "base/defs.h"
#include "base/glob.h"

/* text as a string literal, with its quotes. 0, -E2BIG (SEATBELT_MAX_STRING) or b->failed. */
int seatbelt_string(struct buf *b, const char *text, size_t len);

/* A regex that matches just these bytes. */
int seatbelt_regex_plain(struct buf *b, const char *text, size_t len);
/*
 * The same for any spelling that a case-insensitive volume takes for this name: case, characters
 * that Unicode folds into ASCII letters, normal forms. Wider than that where the name has
 * characters beyond ASCII.
 */
int seatbelt_regex_folded(struct buf *b, const char *name, size_t len);
/*
 * What the components of a pattern match, relative to a directory. Where a set cannot be written
 * in this language exactly, any character is meant: the regexes are for denials.
 */
int seatbelt_regex_glob(struct buf *b, const char *pattern, size_t len);

#endif
