/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folding. A program that has read its configuration and made a plan holds pages of which each has
 * a few words that matter: two thirds of its heap are zeros, nearly all of its static memory is.
 * Folded, a page is its address, a bit for each of its words, and the words that are not zero.
 *
 * While anything is folded the program is no program: no libc but the bare calls below, whose
 * results are in registers, and no memory but the stack and what is here. The loops write word by
 * word under a condition, so that no compiler makes a call of memcpy or memset of them.
 */
#include "cli/fold.h"

#include <sys/mman.h>

#include "base/defs.h"

#define PAGE_WORDS (FOLD_PAGE / sizeof(uint64_t))
#define ROOM_WORDS ((size_t)128 * PAGE_WORDS) /* touched only as far as it is filled */
#define LOOK_PAGES ((size_t)512)

struct leaf {
    uint64_t at;
    uint64_t bits[PAGE_WORDS / 64];
    uint64_t words[]; /* as many as there are bits */
};

/* Pages of its own. */
static struct {
    uint64_t room[ROOM_WORDS];
    size_t used; /* words */
    unsigned char pad[FOLD_PAGE - sizeof(size_t)];
} store __attribute__((aligned(4096)));

static struct leaf *next_leaf(size_t at)
{
    return (struct leaf *)&store.room[at];
}

/* Whether there was room for it. */
WHOLE_PAGES static bool fold_page(uintptr_t at)
{
    const uint64_t *words = (const uint64_t *)at;
    struct leaf *leaf = next_leaf(store.used);
    size_t kept = 0;

    if (ROOM_WORDS - store.used < sizeof *leaf / sizeof(uint64_t) + PAGE_WORDS)
        return false;
    leaf->at = at;
    for (size_t i = 0; i < ARRAY_LEN(leaf->bits); i++) {
        uint64_t bits = 0;

        for (size_t bit = 0; bit < 64; bit++) {
            const uint64_t word = words[i * 64 + bit];

            if (word) {
                bits |= UINT64_C(1) << bit;
                leaf->words[kept++] = word;
            }
        }
        leaf->bits[i] = bits;
    }
    if (madvise((void *)at, FOLD_PAGE, MADV_DONTNEED) == 0)
        store.used += sizeof *leaf / sizeof(uint64_t) + kept;
    return true;
}

void fold_pages(uintptr_t from, uintptr_t to, bool file)
{
    unsigned char there[LOOK_PAGES];

    for (uintptr_t at = from; at < to; at += LOOK_PAGES * FOLD_PAGE) {
        const size_t count = MIN_OF((to - at) / FOLD_PAGE, LOOK_PAGES);

        /* Of a file that is not ours the kernel does not say what is there. */
        if (!file && mincore((void *)at, count * FOLD_PAGE, there) < 0)
            return;
        for (size_t i = 0; i < count; i++)
            if ((file || there[i] & 1) && !fold_page(at + i * FOLD_PAGE))
                return;
    }
}

WHOLE_PAGES static size_t open_leaf(const struct leaf *leaf)
{
    uint64_t *words = (uint64_t *)(uintptr_t)leaf->at;
    size_t kept = 0;

    for (size_t i = 0; i < PAGE_WORDS; i++)
        words[i] = leaf->bits[i / 64] >> i % 64 & 1 ? leaf->words[kept++] : 0;
    return sizeof *leaf / sizeof(uint64_t) + kept;
}

void fold_open(void)
{
    for (size_t at = 0; at < store.used;)
        at += open_leaf(next_leaf(at));
    store.used = 0;
    (void)madvise(store.room, sizeof store.room, MADV_DONTNEED);
}

void fold_place(uintptr_t *ret_from, uintptr_t *ret_to)
{
    *ret_from = (uintptr_t)&store;
    *ret_to = (uintptr_t)(&store + 1);
}
