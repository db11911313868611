/* SPDX-License-Identifier: Apache-2.0 */
/* What a filter does with a call, by its arguments; data for the compiler (seccomp_compile.c). */
#ifndef ABX_PLAN_SECCOMP_CHECKS_H
#define ABX_PLAN_SECCOMP_CHECKS_H

#include "plan/seccomp_compile.h"

/* The kernel's numbers, by our own names: this is also compiled where <linux/…> is not. */
#define SECCOMP_ALL_BITS UINT32_MAX
#define E_PERM           1u
#define E_NOSYS          38u
#define RET_KILL         0x80000000u /* the whole process */
#define RET_ALLOW        0x7fff0000u
#define RET_ASK          0x7fc00000u /* the monitor */
#define RET_ERRNO(e)     (0x00050000u | (e))
#define CHECK_AND        0u /* no verdict: this check and the next one, for the next one's */

/*
 * A decision list: the first check that holds gives the verdict, `otherwise` if none does.
 * A check holds when (half of the argument & mask) equals value, or differs from it: the low half,
 * or the high one (CHECK_HIGH). Two can be joined (CHECK_AND), not more.
 */
#define CHECK_HIGH 8u
struct seccomp_check {
    uint8_t arg; /* 0 to 5 */
    bool differs;
    uint32_t mask, value, verdict;
};
struct seccomp_checks {
    const struct seccomp_check *list;
    size_t count;
    uint32_t otherwise;
};

/* For the plain filter. */
struct seccomp_checks seccomp_action_checks(enum seccomp_action action,
                                            const struct seccomp_options *o);
/*
 * With a monitor that is asked about w. Never opens what is refused: a refusal becomes a question
 * only where the monitor always refuses (WATCH_TOLD).
 */
struct seccomp_checks seccomp_watched_checks(enum seccomp_action action,
                                             const struct seccomp_watch *w,
                                             const struct seccomp_options *o);

#endif
