/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan as bytes, and back. One function describes the layout for both directions, so the two
 * cannot drift apart. Freestanding; allocates only from the memory it is given.
 */
#ifndef ABX_PLAN_CODEC_H
#define ABX_PLAN_CODEC_H

#include "plan/plan.h"

/* Bytes that plan_encode would write. 0 if the plan exceeds a limit of plan.h. */
size_t plan_encoded_size(const struct plan *plan);

/* Writes exactly plan_encoded_size bytes. */
void plan_encode(const struct plan *plan, uint8_t *out, size_t size);

/* Memory that plan_decode needs at most for an image of this size. */
size_t plan_decode_memory(size_t image_size);

/*
 * Reads an image. Strings of *ret point into image, arrays into memory. Returns 0, or -EINVAL with
 * *ret undefined. Every count, offset and terminator is checked; any byte string is safe to decode.
 */
int plan_decode(const uint8_t *image, size_t size, void *memory, size_t memory_size,
                struct plan *ret);

#endif
