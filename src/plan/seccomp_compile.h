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
    SECCOMP_CONNECT,
    SECCOMP_CREAT,
    SECCOMP_FCHMODAT,
    SECCOMP_FCNTL,
    SECCOMP_INIT_CLONE,
    SECCOMP_INIT_CONNECT,
    SECCOMP_INIT_IOCTL,
    SECCOMP_INIT_OPENAT,
    SECCOMP_INIT_SOCKET,
    SECCOMP_IOCTL,
    SECCOMP_LISTEN,
    SECCOMP_MKNOD,
    SECCOMP_MKNODAT,
    SECCOMP_OPEN,
    SECCOMP_OPENAT,
    SECCOMP_OPENAT2,
    SECCOMP_PERSONALITY,
    SECCOMP_PRLIMIT,
    SECCOMP_SCHED,
    SECCOMP_SENDMSG,
    SECCOMP_SENDTO,
    SECCOMP_SETPRIORITY,
    SECCOMP_SETRLIMIT,
    SECCOMP_SETSOCKOPT,
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
    bool init; /* the filter of pid 1: of the options only named and reads count */
    struct seccomp_options options; /* of the command */
};

/*
 * The programs that are generated: the command's by its options (first those that are not watched,
 * then a pair for each watch level, then one for each level with named sockets), all of them once
 * more for the deaf, then the relayed one, then those of pid 1.
 */
#define SECCOMP_PROGRAM(unix_sockets, nested, offline)                                             \
    (((unix_sockets) ? 1u : 0u) | ((nested) ? 2u : 0u) | ((offline) ? 4u : 0u))
#define SECCOMP_PROGRAM_WATCH(unix_sockets, watch)                                                 \
    (6u + 2u * (uint32_t)(watch) + ((unix_sockets) ? 1u : 0u))
#define SECCOMP_PROGRAM_NAMED(watch)                                                               \
    (SECCOMP_PROGRAM_WATCH(false, WATCH_LEVEL_COUNT) + (uint32_t)(watch)-WATCH_WRITES)
#define SECCOMP_PROGRAM_DEAF    SECCOMP_PROGRAM_NAMED(WATCH_LEVEL_COUNT)
#define SECCOMP_PROGRAM_RELAYED (2u * SECCOMP_PROGRAM_DEAF)
#define SECCOMP_PROGRAM_INIT    (SECCOMP_PROGRAM_RELAYED + 1u)
#define SECCOMP_PROGRAM_INIT_FOR(named, reads)                                                     \
    (SECCOMP_PROGRAM_INIT + ((named) ? 1u : 0u) + ((reads) ? 2u : 0u))
#define SECCOMP_PROGRAM_COUNT (SECCOMP_PROGRAM_INIT + 4u)
extern const struct plan_filter seccomp_programs[SECCOMP_PROGRAM_COUNT];

/* What a program of that index is for; of a CPU that is still to be filled in. */
struct seccomp_target seccomp_target_at(uint32_t program);

/* watch.def as data. */
struct seccomp_watch {
    const char *name;
    int16_t number[SECCOMP_ARCH_COUNT];
    uint8_t level; /* enum watch_level, or WATCH_TOLD */
    uint8_t kind;  /* enum watch_kind */
};
const struct seccomp_watch *seccomp_watch_table(size_t *ret_count);

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
