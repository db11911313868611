/* SPDX-License-Identifier: Apache-2.0 */
/* Folding pages: what a resting program's memory holds, without its zeros. */
#ifndef ABX_CLI_FOLD_H
#define ABX_CLI_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLD_PAGE ((uintptr_t)4096) /* the only size that is known here */

/* A sanitizer knows where each object ends, and that nobody reads across. */
#define WHOLE_PAGES __attribute__((no_sanitize_address))

/*
 * Puts the pages of [from, to) that are there aside and gives them back to the kernel. From now
 * until fold_open they read as anything, and nothing may be written to them. `file`: they are of a
 * file, privately. What finds no room stays as it is. Several times, for several places.
 */
void fold_pages(uintptr_t from, uintptr_t to, bool file);
/* All of them are as they were. */
void fold_open(void);
/* Where what was put aside lies, which cannot be folded itself. */
void fold_place(uintptr_t *ret_from, uintptr_t *ret_to);

#endif
