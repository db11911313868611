/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena: memory that is given out piece by piece and released at once. Trees (policy, facts,
 * plan) live in one each. Everything but what grows is zeroed. Each arena has a ceiling; beyond it,
 * and when the system has no memory, calls return NULL.
 */
#ifndef ABX_BASE_ARENA_H
#define ABX_BASE_ARENA_H

#include "base/defs.h"

struct arena_block;
struct arena {
    struct arena_block *blocks;
    size_t used, limit; /* bytes given out, each piece rounded up to 16 */
    bool lasting;       /* kept for long: blocks do not grow, so that little of them is not used */
};

#define ARENA_DEFAULT_LIMIT ((size_t)256 << 20)

void arena_init(struct arena *a, size_t limit);
void arena_done(struct arena *a); /* also of a zeroed struct */
#define _arena_ __attribute__((cleanup(arena_done)))

/* Overflow-checked, 16-aligned. Nothing (0 bytes) is a valid piece too. */
void *arena_alloc(struct arena *a, size_t count, size_t size);
/*
 * Room for one more behind the count elements of a list: the list itself, or a copy of twice the
 * room (at first, `first`). What is behind them is not zeroed, nor touched. NULL: the list stays.
 */
void *arena_grow(struct arena *a, void *list, size_t count, size_t size, size_t first,
                 size_t *room);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t len);
/* The three texts as one: what arena_printf does with "%s%s%s", many times a run. */
char *arena_join(struct arena *a, const char *head, const char *between, const char *tail);
char *arena_printf(struct arena *a, const char *fmt, ...) ATTR_PRINTF(2, 3);

#endif
