/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The net role's calls, each of which can be made to fail (-Wl,--wrap): in a process that said
 * net_fault_arm, the calls of a kind are counted, and those from number `at` on fail, `times` of
 * them. The counts lie in memory that the test shares with the role.
 */
#ifndef ABX_TESTS_NET_FAULT_H
#define ABX_TESTS_NET_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct net_fault {
    char name[24]; /* the one call that counts; "": all do */
    uint32_t at;   /* 1: the first; 0: none fails */
    uint32_t times;
    int error;
    _Atomic uint32_t calls, failed;
    char last[24]; /* which one failed last */
};

/* All calls of this process from now on. */
void net_fault_arm(struct net_fault *shared);

#endif
