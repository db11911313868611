/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No privilege is left, none can come back: empty capability sets and bounding set, securebits that
 * make uid 0 an ordinary number, no_new_privs, and no core dump or ptrace access to ourselves.
 */
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/securebits.h>

#include "linux/launch.h"

#define CAPS_BITS                                                                                  \
    (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                               \
     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |       \
     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

bool caps_may_mount(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

    return TRY2(__NR_capget, &header, have) >= 0 && (have[0].effective & 1u << CAP_SYS_ADMIN);
}

/* 1: CAP_SETPCAP is had, inside a user namespace of our own, and by root; 0 or -errno. Without it
 * no_new_privs alone sees to it that nothing comes back. */
static long may_bound(struct launch *l)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

    l->object = "capabilities";
    long r = SYS2(__NR_capget, &header, have);
    return r < 0 ? r : (have[0].permitted >> CAP_SETPCAP) & 1;
}

long caps_bound(struct launch *l)
{
    long r = sys_skips("capabilities") ? 0 : may_bound(l);

    if (r <= 0)
        return r;
    l->object = "bounding set";
    for (int cap = 0; cap < 64; cap++) {
        r = TRY5(__NR_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
        if (r == -EINVAL && cap > 0)
            break; /* the kernel knows no more */
        if (r < 0)
            return r;
    }
    return 0;
}

static long drop_all(struct launch *l)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

    long r = may_bound(l);
    if (r > 0) {
        l->object = "securebits";
        r = SYS5(__NR_prctl, PR_SET_SECUREBITS, CAPS_BITS, 0, 0, 0);
    }
    if (r < 0)
        return r;
    l->object = "capabilities";
    return SYS2(__NR_capset, &header, none);
}

long caps_drop(struct launch *l)
{
    long r = sys_skips("capabilities") ? 0 : drop_all(l);

    if (r < 0)
        return r;
    l->object = "no_new_privs";
    r = SYS5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (r < 0)
        return r;
    l->object = "dumpable";
    return SYS5(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
}
