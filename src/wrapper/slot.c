/* SPDX-License-Identifier: Apache-2.0 */
/* In a file of its own: the compiler must not believe what it sees here. */
#include "wrapper/wrapper.h"

_Static_assert(sizeof(struct wrap_slot) == WRAP_SLOT_BYTES, "a page");

__attribute__((section(".wrapslot"), aligned(WRAP_SLOT_BYTES), used))
const struct wrap_slot wrap_slot = { .magic = WRAP_EMPTY };
