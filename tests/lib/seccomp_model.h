/* SPDX-License-Identifier: Apache-2.0 */
/* What the filters must answer, said twice more: in plain C, and by libseccomp. For test_seccomp.
 */
#ifndef ABX_TESTS_LIB_SECCOMP_MODEL_H
#define ABX_TESTS_LIB_SECCOMP_MODEL_H

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/stat.h>

#include "bpf.h"
#include "plan/seccomp_compile.h"

#define MODEL_NAMESPACES                                                                           \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)
#define MODEL_THREAD MODEL_UNSHARE /* what pid 1 may make: a thread that shares all of these */
#define MODEL_UNSHARE                                                                              \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

#define MODEL_SETID   (uint32_t)(S_ISUID | S_ISGID)
#define MODEL_MAKES   (uint32_t)(O_CREAT | (O_TMPFILE & ~O_DIRECTORY))
#define MODEL_CHANGES (uint32_t)(O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

/* For numbers without a row. */
uint32_t model_default(const struct seccomp_target *t);
/* row: that of the call's number, or NULL. */
uint32_t model_verdict(const struct seccomp_row *row, const struct seccomp_target *t,
                       const struct seccomp_data *data);

/*
 * libseccomp's program for syscalls.def. ret_known[number], SECCOMP_MAX_NUMBER of them: its rules
 * are in the program. Missing are, for the CPU that this is not, the calls that are newer than
 * libseccomp: it translates by name.
 */
void oracle_build(const struct seccomp_target *t, struct bpf_program *ret, bool *ret_known);

#endif
