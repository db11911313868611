/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls.def and watch.def as data, and which programs are made of them: constants, searches in
 * them. What the actions mean is in seccomp_compile.c.
 */
#include "plan/seccomp_compile.h"

static const struct seccomp_row rows[] = {
#define SYSCALL(name, x86_64, aarch64, command, init)                                              \
    { #name, { x86_64, aarch64 }, SECCOMP_##command, SECCOMP_##init },
#include "plan/syscalls.def"
#undef SYSCALL
};

const struct seccomp_row *seccomp_table(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(rows);
    return rows;
}

const struct seccomp_row *seccomp_row_by_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *a = rows[i].name, *b = name;

        while (*a && *a == *b)
            a++, b++;
        if (*a == *b)
            return &rows[i];
    }
    return NULL;
}

const struct seccomp_row *seccomp_row_by_number(enum seccomp_arch arch, uint32_t number)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].number[arch] >= 0 && (uint32_t)rows[i].number[arch] == number)
            return &rows[i];
    return NULL;
}

static const struct seccomp_watch watches[] = {
#define WATCH(name, x86_64, aarch64, level, kind, dir, path, flags, dir2, path2)                   \
    { #name, { x86_64, aarch64 }, WATCH_##level, WATCH_##kind },
#include "plan/watch.def"
#undef WATCH
};

const struct seccomp_watch *seccomp_watch_table(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(watches);
    return watches;
}

struct seccomp_target seccomp_target_at(uint32_t program)
{
    struct seccomp_target t = { .init = program >= SECCOMP_PROGRAM_INIT };

    if (t.init) {
        t.options.named = (program - SECCOMP_PROGRAM_INIT) & 1u;
        t.options.reads = (program - SECCOMP_PROGRAM_INIT) & 2u;
        return t;
    }
    t.options.relayed = program == SECCOMP_PROGRAM_RELAYED;
    t.options.deaf = program >= SECCOMP_PROGRAM_DEAF;
    if (t.options.relayed)
        return t;
    program %= SECCOMP_PROGRAM_DEAF;
    if (program >= SECCOMP_PROGRAM_NAMED(WATCH_WRITES)) {
        t.options.named = true;
        t.options.watch = program - SECCOMP_PROGRAM_NAMED(WATCH_WRITES) + WATCH_WRITES;
        return t;
    }
    t.options.unix_sockets = program & 1u;
    if (program < SECCOMP_PROGRAM_WATCH(false, WATCH_WRITES)) {
        t.options.nested = program & 2u;
        t.options.offline = program & 4u;
    } else {
        t.options.watch = (program - SECCOMP_PROGRAM_WATCH(false, WATCH_OFF)) / 2u;
    }
    return t;
}
