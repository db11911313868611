/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a program that was made at build time (plan/seccomp.c). No code of ours runs after it but
 * exec. */
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "linux/launch.h"

long seccomp_apply(const struct plan_filter *filter)
{
    struct sock_fprog program = {
        .len = (unsigned short)filter->count,
        .filter = (struct sock_filter *)(uintptr_t)filter->insns,
    };

    _Static_assert(sizeof(struct sock_filter) == sizeof *filter->insns, "one word an instruction");
    if (filter->count == 0 || filter->count > BPF_MAXINSNS)
        return -EINVAL;
    return SYS3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
