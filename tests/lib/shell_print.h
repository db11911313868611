/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a shell text in one line, for tables: "X=1 rm -rf '/a b' >f @dir {p}". A hole is <>,
 * <>+ if it may be several words; * marks a word that is a pattern, ~ one that begins with the home
 * directory (behind it, as "a*b:*"). Letters: p stdin is a pipe, o stdout is one, b background,
 * s substitution, F fork bomb, f body of a function nobody called, c directory unknown; <name: the
 * feeder. Calls are joined by " ; ".
 */
#ifndef ABX_TESTS_SHELL_PRINT_H
#define ABX_TESTS_SHELL_PRINT_H

#include "base/buf.h"
#include "classify/walk.h"

void shell_print_call(struct buf *b, const struct call *call);
/* All calls of the text, or "unreadable: what @offset", "limit: what", … */
void shell_print_text(struct buf *b, const char *text, size_t len);

#endif
