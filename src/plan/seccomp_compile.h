/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls.def as data, and the compiler from it to BPF. Used by tools/gen-seccomp when agentbox
 * is built and by the tests; nothing at run time compiles a filter.
 */
#ifndef ABX_PLAN_SECCOMP_COMPILE_H
#define ABX_PLAN_SECCOMP_COMPILE_H

#include "base/defs.h"
#include "plan/seccomp.h"

enum seccomp_arch { SECCOMP_X86_64, SECCOMP_AARCH64, SECCOMP_ARCH_COUNT };

enum seccomp_action {
    SECCOMP_ALLOW,
    SECCOMP_DENY,
    SECCOMP_ABSENT,
    SECCOMP_NESTED,
    SECCOMP_CHMOD,
    SECCOMP_CLONE,
    SECCOMP_CLONE3,
    SECCOMP_CREAT,
    SECCOMP_FCHMODAT,
    SECCOMP_FCNTL,
    SECCOMP_INIT_IOCTL,
    SECCOMP_IOCTL,
    SECCOMP_MKNOD,
    SECCOMP_MKNODAT,
    SECCOMP_OPEN,
    SECCOMP_OPENAT,
    SECCOMP_OPENAT2,
    SECCOMP_PERSONALITY,
    SECCOMP_SOCKET,
    SECCOMP_SOCKETPAIR,
    SECCOMP_UNSHARE,
    SECCOMP_ACTION_COUNT,
};

struct seccomp_row {
    const char *name;
    int16_t number[SECCOMP_ARCH_COUNT]; /* -1: this CPU does not have it */
    uint8_t command;                    /* enum seccomp_action */
    uint8_t init;                       /* enum seccomp_action, for pid 1 */
};

/* The rows of syscalls.def, in its order. */
const struct seccomp_row *seccomp_table(size_t *ret_count);
/* NULL if there is none. */
const struct seccomp_row *seccomp_row_by_name(const char *name);
const struct seccomp_row *seccomp_row_by_number(enum seccomp_arch arch, uint32_t number);

struct seccomp_target {
    enum seccomp_arch arch;
    bool init;                      /* the filter of pid 1; options do not matter */
    struct seccomp_options options; /* of the command */
};

/* The programs that are generated: the command's by its options, then that of pid 1. */
#define SECCOMP_PROGRAM(unix_sockets, nested, offline)                                             \
    (((unix_sockets) ? 1u : 0u) | ((nested) ? 2u : 0u) | ((offline) ? 4u : 0u))
#define SECCOMP_PROGRAM_INIT  8u
#define SECCOMP_PROGRAM_COUNT 9u
extern const struct plan_filter seccomp_programs[SECCOMP_PROGRAM_COUNT];

/* No number in a table reaches this. */
#define SECCOMP_MAX_NUMBER 1024

/*
 * Writes the program for a table into insns, which has room for PLAN_MAX_INSNS, and returns its
 * length. 0 if the table is unfit: a number or an action out of range, a number given twice, or a
 * program that is too long.
 */
uint32_t seccomp_compile(const struct seccomp_row *table, size_t count,
                         const struct seccomp_target *target, uint64_t *insns);

#endif
