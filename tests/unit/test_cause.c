/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor says about a layer that is missing: one thing to do, by the signs of the host. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/cause.h"

static const struct {
    enum probe_item item;
    int32_t error;
    struct cause_signs signs;
    const char *says; /* "": nothing at all */
} hints[] = {
    { PROBE_USERNS, EPERM, { .inner = true, .filter = true }, "allowNestedNamespaces" },
    { PROBE_USERNS, EPERM, { .filter = true, .container = true }, "Podman" },
    { PROBE_USERNS, EPERM, { .filter = true, .chroot = true }, "RestrictNamespaces" },
    { PROBE_USERNS, EPERM, { .chroot = true, .apparmor = true }, "in place of chroot" },
    { PROBE_USERNS, EPERM, { .apparmor = true }, "apparmor_parser -r" },
    { PROBE_USERNS, EPERM, { .only_root = true }, "unprivileged_userns_clone=1" },
    { PROBE_USERNS, ENOSPC, { .filter = true }, "max_user_namespaces=15000" },
    { PROBE_USERNS, EPERM, { .none = true }, "max_user_namespaces=15000" },
    { PROBE_USERNS, EACCES, { .container = true }, "apparmor=unconfined" },
    { PROBE_USERNS, EPERM, { 0 }, "CONFIG_USER_NS" },
    { PROBE_MOUNTS, EPERM, { .follows = true }, "" },
    { PROBE_MOUNTS, ENOSYS, { 0 }, "bubblewrap (0.8" },
    { PROBE_MOUNTS, ENOSYS, { .bwrap = true }, "than the kernel: update it" },
    { PROBE_MOUNTS, EPERM, { 0 }, "apparmor=unconfined" },
    { PROBE_PROC, EPERM, { 0 }, "systempaths=unconfined" },
    { PROBE_PROC, ENOENT, { 0 }, "/dev lacks" },
    { PROBE_PROC, EPERM, { .inner = true }, "" },
    { PROBE_NETNS, ENOSPC, { 0 }, "max_*_namespaces" },
    { PROBE_NETNS, EINVAL, { 0 }, "use another" },
    { PROBE_NETNS, EPERM, { 0 }, "seccomp=unconfined" },
    { PROBE_LANDLOCK, EPERM, { .follows = true }, "update the engine" },
    { PROBE_LANDLOCK, EOPNOTSUPP, { 0 }, "lsm=landlock" },
    { PROBE_SECCOMP, ENOSYS, { 0 }, "CONFIG_SECCOMP_FILTER" },
};

static void test_hints(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
        const char *hint = cause_hint(hints[i].item, hints[i].error, &hints[i].signs);
        if (!hints[i].says[0])
            assert_string_equal(hint, "");
        else if (!strstr(hint, hints[i].says))
            fail_msg("%zu: '%s' has no '%s'", i, hint, hints[i].says);
        if (hints[i].signs.bwrap && strstr(hint, "install"))
            fail_msg("%zu: '%s' has what is there already", i, hint);
    }
}

static void test_costs(void **state)
{
    const struct cause_rest view = { .view = true }, landlock = { .landlock = true }, none = { 0 };

    (void)state;
    assert_non_null(strstr(cause_cost(PROBE_MOUNTS, landlock), "Landlock stands alone"));
    assert_non_null(strstr(cause_cost(PROBE_LANDLOCK, view), "mounts stand alone"));
    assert_non_null(strstr(cause_cost(PROBE_NETNS, view), "no network at all"));
    assert_non_null(strstr(cause_cost(PROBE_NETNS, landlock), "listen"));
    assert_non_null(strstr(cause_cost(PROBE_PIDNS, none), "processes can be seen"));
    assert_non_null(strstr(cause_cost(PROBE_SECCOMP, view), "every system call"));
    assert_non_null(strstr(cause_cost(PROBE_LANDLOCK, none), "nothing is left"));
    assert_non_null(strstr(cause_cost(PROBE_PROC, none), "nothing is left"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_costs),
    };

    return cmocka_run_group_tests_name("cause", tests, NULL, NULL);
}
