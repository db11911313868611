/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own file systems: which are hidden where, and that the table tells them apart. */
#include "lib/tree.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include "lib/need.h"
#include "probe/kernelfs.h"
#include "probe/mounts.h"

static const struct facts usual = {
    .places = { [PLACE_DEV] = "/dev",
                [PLACE_PROC] = "/proc",
                [PLACE_RUN] = "/run",
                [PLACE_SHM] = "/dev/shm",
                [PLACE_SYS] = "/sys",
                [PLACE_TMP] = "/tmp" },
};

static void only_the_kernels_own_is_hidden_and_only_elsewhere(void **state)
{
    static const struct {
        const char *type, *point;
        bool stray;
    } table[] = {
        { "proc", "/proc", false },
        { "proc", "/proc/sys", false }, /* of a container */
        { "proc", "/proc2", true },
        { "proc", "/opt/c/proc", true },
        { "proc", "/", true },
        { "proc", "/tmp/proc", true },
        { "sysfs", "/sys", false },
        { "cgroup2", "/sys/fs/cgroup/unified", false },
        { "cgroup2", "/cgroup", true },
        { "devtmpfs", "/dev", false },
        { "devtmpfs", "/var/chroot/dev", true },
        { "devpts", "/dev/pts", false },
        { "devpts", "/dev/console", false },
        { "mqueue", "/dev/shm", false },
        { "mqueue", "/dev/shm/x", true }, /* what is in there can be granted */
        { "proc", "/run/c/proc", true },  /* and here */
        { "rpc_pipefs", "/run/rpc_pipefs", true },
        { "fuse.proc", "/opt/proc", false },
        { "procx", "/opt/proc", false },
        { "", "/opt/proc", false },
        { "tmpfs", "/opt/tmp", false },
        { "hugetlbfs", "/mnt/huge", false },
        { "nsfs", "/var/lib/netns/a", false },
        { "ext4", "/opt", false },
    };
    static const struct facts none = { .uid = 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (kernelfs_is_stray(&usual, table[i].type, table[i].point) != table[i].stray)
            fail_msg("%s at %s", table[i].type, table[i].point);
    assert_true(kernelfs_is_stray(&none, "proc", "/proc")); /* which nothing makes anew */
}

static void lines_of_mountinfo_have_a_type(void **state)
{
    char text[] = "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
                  "23 27 0:22 /a\\040b /with\\040space rw shared:3 master:1 - sysfs none rw\n"
                  "24 27 0:6 / /none rw - \n"
                  "25 27 0:7 / /short rw\n"
                  "26 27 0:8 / /no end rw - proc";
    struct mount_line lines[8];

    (void)state;
    assert_int_equal(mounts_parse(text, strlen(text), lines, ARRAY_LEN(lines)), 4);
    assert_string_equal(lines[0].type, "proc");
    assert_string_equal(lines[1].type, "sysfs");
    assert_string_equal(lines[1].point, "/with space");
    assert_string_equal(lines[1].root, "/a b");
    assert_string_equal(lines[2].type, "");
    assert_string_equal(lines[3].type, "");
}

/* By their numbers the kernel is asked about those that may be among them: none may be missing. */
static void numbers_are_the_kernels(void **state)
{
    static const char *const types[] = {
#define KERNELFS(type, magic) type,
#include "probe/kernelfs.def"
#undef KERNELFS
    };
    struct tree *t = *state;
    unsigned tried = 0;

    make_dir(t, "/point");
    need(unshare(CLONE_NEWNS) == 0, "root: mounting needs it");
    assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct statfs fs;
        /* cgroup: a hierarchy without a controller, as the others may be taken. */
        if (mount("none", at(t, "/point"), types[i], 0,
                  strcmp(types[i], "cgroup") == 0 ? "none,name=abx-test" : NULL) < 0)
            continue;
        tried++;
        const int r = statfs(at(t, "/point"), &fs);
        assert_int_equal(umount(at(t, "/point")), 0);
        assert_int_equal(r, 0);
        const uint64_t magic = (uint32_t)fs.f_type;
        if (!kernelfs_has_magic(magic) && !kernelfs_has_twin(magic))
            fail_msg("%s is %#jx", types[i], (uintmax_t)magic);
        print_message("%s %#jx\n", types[i], (uintmax_t)magic);
    }
    assert_true(tried >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_kernels_own_is_hidden_and_only_elsewhere),
        cmocka_unit_test(lines_of_mountinfo_have_a_type),
        cmocka_unit_test_setup_teardown(numbers_are_the_kernels, setup, teardown),
    };

    return cmocka_run_group_tests_name("kernelfs", tests, NULL, NULL);
}
