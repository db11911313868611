/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena.
 *
 * Blocks form a list, the newest first; pieces are cut from the newest. A piece that is large for a
 * block gets one of its own, behind the newest, so that the room left in that one is not lost.
 * A piece is zeroed when it is cut off: what of a block is not needed is never touched.
 *
 * Invariants: `used` is the sum of all pieces, rounded up, and never above `limit`; every piece is
 * 16-aligned; a piece lives until arena_done. Not for use by two threads at once.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_ALIGN       ((size_t)16)
#define ARENA_FIRST_BLOCK ((size_t)4096)
#define ARENA_MAX_BLOCK   ((size_t)256 << 10)

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    _Alignas(16) unsigned char data[];
};

void arena_init(struct arena *a, size_t limit)
{
    *a = (struct arena){ .limit = limit };
}

void arena_done(struct arena *a)
{
    while (a->blocks) {
        struct arena_block *next = a->blocks->next;

        free(a->blocks);
        a->blocks = next;
    }
    *a = (struct arena){ 0 };
}

static struct arena_block *arena_block_new(size_t size)
{
    struct arena_block *block;
    size_t total;

    if (__builtin_add_overflow(sizeof(*block), size, &total))
        return NULL;
    block = malloc(total);
    if (block)
        *block = (struct arena_block){ .size = size };
    return block;
}

/* A block with room for size bytes, put into the list. */
static struct arena_block *arena_block_for(struct arena *a, size_t size)
{
    struct arena_block *top = a->blocks, *block;
    size_t usual = ARENA_FIRST_BLOCK;

    if (top && top->size - top->used >= size)
        return top;
    if (top && !a->lasting)
        usual = MIN_OF(MAX_OF(top->size, ARENA_FIRST_BLOCK) * 2, ARENA_MAX_BLOCK);
    block = arena_block_new(MAX_OF(size, usual));
    if (!block)
        return NULL;
    if (top && size > usual / 2) {
        block->next = top->next;
        top->next = block;
    } else {
        block->next = top;
        a->blocks = block;
    }
    return block;
}

/* A piece with whatever was there before. */
static void *arena_cut(struct arena *a, size_t count, size_t size)
{
    struct arena_block *block;
    size_t total;
    void *piece;

    if (__builtin_mul_overflow(count, size, &total) ||
        __builtin_add_overflow(MAX_OF(total, 1), ARENA_ALIGN - 1, &total))
        return NULL;
    total &= ~(ARENA_ALIGN - 1);
    if (total > a->limit - a->used)
        return NULL;
    block = arena_block_for(a, total);
    if (!block)
        return NULL;
    piece = block->data + block->used;
    block->used += total;
    a->used += total;
    return piece;
}

void *arena_alloc(struct arena *a, size_t count, size_t size)
{
    void *piece = arena_cut(a, count, size);

    return piece ? memset(piece, 0, count * size) : NULL;
}

void *arena_grow(struct arena *a, void *list, size_t count, size_t size, size_t first, size_t *room)
{
    size_t more = *room ? *room : first;

    if (count < *room)
        return list;
    if (*room && __builtin_mul_overflow(*room, (size_t)2, &more))
        return NULL;
    void *grown = arena_cut(a, more, size);
    if (!grown)
        return NULL;
    if (count)
        memcpy(grown, list, count * size);
    *room = more;
    return grown;
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
    char *copy;

    if (len == SIZE_MAX)
        return NULL;
    copy = arena_cut(a, len + 1, 1);
    if (copy) {
        if (len > 0)
            memcpy(copy, s, len);
        copy[len] = '\0';
    }
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_join(struct arena *a, const char *head, const char *between, const char *tail)
{
    const char *const parts[] = { head, between, tail };
    size_t lengths[ARRAY_LEN(parts)], total = 1;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        lengths[i] = strlen(parts[i]);
        if (__builtin_add_overflow(total, lengths[i], &total))
            return NULL;
    }
    char *text = arena_cut(a, total, 1), *end = text;
    for (size_t i = 0; text && i < ARRAY_LEN(parts); i++) {
        memcpy(end, parts[i], lengths[i]);
        end += lengths[i];
    }
    if (text)
        *end = '\0';
    return text;
}

/* Straight into the newest block; a second time only where its room was too small. */
static char *print_text(struct arena *a, const char *fmt, va_list args)
{
    struct arena_block *top = a->blocks;
    size_t room = top ? top->size - top->used : 0;
    char *text = room ? (char *)top->data + top->used : NULL;
    va_list again;

    va_copy(again, args);
    int n = vsnprintf(text, room, fmt, args);
    char *piece = n < 0 ? NULL : arena_cut(a, (size_t)n + 1, 1);
    if (piece && piece != text)
        (void)vsnprintf(piece, (size_t)n + 1, fmt, again);
    va_end(again);
    return piece;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    char *text = print_text(a, fmt, args);
    va_end(args);
    return text;
}
