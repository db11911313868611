/* SPDX-License-Identifier: Apache-2.0 */
/* The names of watched system calls, for the CPU that this code was compiled for. */
#include "plan/watch.h"

static const struct watch_call calls[] = {
#if defined(__x86_64__)
#define WATCH(name, x86_64, aarch64, level, kind, dir, path, flags, dir2, path2)                   \
    { #name, x86_64, WATCH_##kind },
#else
#define WATCH(name, x86_64, aarch64, level, kind, dir, path, flags, dir2, path2)                   \
    { #name, aarch64, WATCH_##kind },
#endif
#include "plan/watch.def"
#undef WATCH
#if defined(__x86_64__)
#define READS(name, x86_64, aarch64, dir, path) { #name, x86_64, WATCH_OPEN },
#else
#define READS(name, x86_64, aarch64, dir, path) { #name, aarch64, WATCH_OPEN },
#endif
#include "plan/reads.def"
#undef READS
};

const struct watch_call *watch_find(uint32_t number)
{
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (calls[i].number >= 0 && (uint32_t)calls[i].number == number)
            return &calls[i];
    return NULL;
}
