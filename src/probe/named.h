/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of the files that a command names: an approval of `sh deploy.sh` is one of what is in
 * deploy.sh at that moment.
 */
#ifndef ABX_PROBE_NAMED_H
#define ABX_PROBE_NAMED_H

#include "base/defs.h"
#include "base/sha256.h"

/*
 * Adds to h what the regular files say that may be named by the words: as a whole, or as a piece
 * between blanks, quotes and other signs of the shell; seen from cwd, from each directory among the
 * pieces, or behind "~/". What stands behind ">" is written, and does not count. home may be NULL.
 * False if there are too many to look at.
 */
bool named_digest(const char *const *words, size_t count, const char *cwd, const char *home,
                  struct sha256 *h);

#endif
