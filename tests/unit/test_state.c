/* SPDX-License-Identifier: Apache-2.0 */
/* The state directory: made where it is missing, and never somebody else's. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/fd.h"
#include "lib/need.h"
#include "probe/state.h"

static char base[] = "/var/tmp/abx-state-XXXXXX", there[64];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof base, "/var/tmp/abx-state-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    (void)snprintf(there, sizeof there, "%s/agentbox", base);
    return 0;
}

static int teardown(void **state)
{
    char text[64];

    (void)state;
    (void)snprintf(text, sizeof text, "rm -rf '%s'", base);
    return system(text); /* NOLINT(cert-env33-c) */
}

static int try(bool create)
{
    int fd = state_open(there, "trust", create);

    if (fd < 0)
        return fd;
    fd_close(fd);
    return 0;
}

static void it_is_made_only_on_request_and_for_us_alone(void **state)
{
    struct stat st;
    char path[96];

    (void)state;
    (void)snprintf(there, sizeof there, "%s/a/b/agentbox", base);
    assert_int_equal(try(false), -ENOENT);
    assert_int_equal(try(true), 0);
    assert_int_equal(try(false), 0);
    (void)snprintf(path, sizeof path, "%s/trust", there);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(chmod(path, 0720), 0);
    assert_int_equal(try(false), -EPERM);
    assert_int_equal(chmod(path, 0702), 0);
    assert_int_equal(try(true), -EPERM);
}

static void what_is_no_directory_is_refused(void **state)
{
    char path[96];

    (void)state;
    assert_int_equal(close(open(there, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    assert_int_equal(try(true), -ENOTDIR);
    assert_int_equal(unlink(there), 0);
    assert_int_equal(mkdir(there, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/trust", there);
    assert_int_equal(symlink(base, path), 0); /* also our own: the records lie here or nowhere */
    assert_true(try(true) < 0);
}

static void a_link_is_followed_only_if_it_is_ours(void **state)
{
    char target[96];

    (void)state;
    (void)snprintf(target, sizeof target, "%s/elsewhere", base);
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(symlink(target, there), 0);
    assert_int_equal(try(true), 0);
    need(geteuid() == 0, "root: nobody else here to make one");
    assert_int_equal(lchown(there, 12345, 12345), 0);
    assert_int_equal(try(false), -EPERM);
    assert_int_equal(try(true), -EPERM);
}

static void somebody_elses_directory_is_refused(void **state)
{
    (void)state;
    need(geteuid() == 0, "root: nobody else here to make one");
    char path[96];
    (void)snprintf(path, sizeof path, "%s/trust", there);
    assert_int_equal(mkdir(there, 0700), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(lchown(path, 12345, 12345), 0);
    assert_int_equal(try(true), -EPERM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_made_only_on_request_and_for_us_alone),
        TEST(what_is_no_directory_is_refused),
        TEST(a_link_is_followed_only_if_it_is_ours),
        TEST(somebody_elses_directory_is_refused),
    };

    return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
