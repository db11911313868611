/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of one cover. The launcher has them from a plan that it decoded and trusts as little as
 * any: numbers that lead out of the plan's list of words, or more text than a slot takes, are
 * refused.
 */
#include "plan/slot.h"

#include <errno.h>

int slot_fill(const struct plan *plan, const struct mount_op *op, struct wrap_slot *slot)
{
    size_t used = 0;

    if (op->size > plan->word_count || op->mode > plan->word_count - op->size)
        return -EINVAL;
    for (uint64_t i = op->size; i < op->size + op->mode; i++) {
        const char *word = plan->words[i];

        do {
            if (used == sizeof slot->text)
                return -E2BIG;
            slot->text[used++] = *word;
        } while (*word++);
    }
    slot->magic = WRAP_MAGIC;
    slot->len = (uint32_t)used;
    return 0;
}
