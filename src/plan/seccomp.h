/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filters of a run: constant BPF programs, made at build time from syscalls.def
 * by tools/gen-seccomp. Choosing one costs nothing and cannot fail.
 */
#ifndef ABX_PLAN_SECCOMP_H
#define ABX_PLAN_SECCOMP_H

#include "base/defs.h"
#include "plan/plan.h"
#include "plan/watch.h"

struct seccomp_options {
    bool unix_sockets; /* AF_UNIX sockets by name allowed */
    bool named;        /* … those of the plan: pid 1 makes and connects them; needs watch */
    bool nested;       /* new namespaces and the mount API allowed */
    bool offline;      /* no Internet sockets: where there is no network namespace to be empty */
    bool relayed;      /* … but TCP, which pid 1 connects to the proxy; deaf, needs a listener */
    bool reads;        /* of pid 1: it serves masks, and may open files to read them */
    bool deaf;         /* no listening socket of any kind */
    uint32_t watch;    /* enum watch_level; off where nested or offline is on */
};

/* The filter of the command, for the CPU this code was compiled for. */
void seccomp_program(const struct seccomp_options *o, struct plan_filter *ret);
/* The filter of pid 1: a short allow-list. named, reads: as in the options. */
void seccomp_init_program(bool named, bool reads, struct plan_filter *ret);

#endif
