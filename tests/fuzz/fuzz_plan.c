/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan images of any bytes: nothing is read or written outside, and what is accepted can be encoded
 * and read again with the same result.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct plan *plan)
{
    size_t size = plan_encoded_size(plan), memory_size = plan_decode_memory(size);
    uint8_t *image = malloc(size), *memory = malloc(memory_size);
    struct plan again;

    if (!size)
        abort();
    if (image && memory) {
        plan_encode(plan, image, size);
        if (plan_decode(image, size, memory, memory_size, &again) < 0 ||
            again.mount_count != plan->mount_count || again.env_count != plan->env_count ||
            strcmp(again.cwd, plan->cwd) != 0)
            abort();
    }
    free(memory);
    free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t memory_size = plan_decode_memory(size);
    /* Copies of their own size, so that a sanitizer sees the end of each. */
    uint8_t *image = malloc(size + !size), *memory = malloc(memory_size);
    struct plan plan;

    if (image && memory) {
        if (size)
            memcpy(image, data, size);
        if (plan_decode(image, size, memory, memory_size, &plan) == 0)
            check_again(&plan);
    }
    free(memory);
    free(image);
    return 0;
}
