/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of a run on macOS with its own launcher, both compiled for Linux: Linux plays the
 * system (tests/lib/darwin), the profile is written down instead of enforced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "darwin/clear.h"
#include "run/mac.h"

#define WAIT_MS 60000 /* for what happens at once on any machine that is not broken */

static char helper_dir[] = "/tmp/abx-darwin-run.XXXXXX";
static char state_dir[64];
static const char *const state_dirs[] = { "/proc/none", state_dir, NULL };

static int make_helper(void **state)
{
    char link[64];
    const char *launcher = getenv("ABX_DARWIN_LAUNCHER");

    (void)state;
    if (!launcher || !mkdtemp(helper_dir))
        return -1;
    (void)snprintf(link, sizeof link, "%s/abx-launcher", helper_dir);
    (void)snprintf(state_dir, sizeof state_dir, "%s/state", helper_dir);
    return symlink(launcher, link);
}

static int remove_helper(void **state)
{
    (void)state;
    return clear_tree(AT_FDCWD, helper_dir);
}

/* Starts it; the run is pumped and ended by the caller. */
static int32_t start(struct run *r, struct image *image, const char *const *argv,
                     const char *profile, abx_error **err)
{
    static const char *const env[] = { "PATH=/usr/bin:/bin", "TMPDIR=/tmp", NULL };
    const struct run_request q = {
        .image = image, .cwd_fd = -1, .stdio = { -1, -1, -1 }, .capture = { false, true, true }
    };
    struct plan plan = { .layers = LAYER_BIT(LAYER_SEATBELT),
                         .grace_ns = 20 * NSEC_PER_SEC,
                         .hostname = "",
                         .cwd = "/",
                         .path = "/usr/bin:/bin",
                         .argv = argv,
                         .env = env,
                         .env_count = 2,
                         .profile = profile };

    while (argv[plan.argv_count])
        plan.argv_count++;
    run_init(r);
    assert_int_equal(run_launch(r, &q, err), ABX_OK);
    return run_deliver(r, &plan, state_dirs, err);
}

static void pump_to_the_end(struct run *r)
{
    while (!run_ended(r))
        assert_int_equal(run_pump(r, WAIT_MS, NULL), ABX_OK);
}

static void a_run_has_its_output_its_status_and_a_directory_of_its_own(void **state)
{
    const char *const argv[] = { "sh", "-c",
                                 "cat \"$TMPDIR/profile\"; mkdir \"$TMPDIR/a\"; "
                                 ": >\"$TMPDIR/a/b\"; echo \"$TMPDIR\" >&2; exit 7",
                                 NULL };
    _err_ abx_error *err = NULL;
    struct image image;
    struct stat st;
    struct run r;

    (void)state;
    image_init(&image, helper_dir);
    assert_int_equal(start(&r, &image, argv, "(version 1)(deny default)", &err), ABX_OK);
    assert_int_equal(r.start.layers, LAYER_BIT(LAYER_SEATBELT));
    assert_int_equal(r.start.value, 0); /* the pid is not "watched" */
    pump_to_the_end(&r);
    assert_true(r.exited);
    assert_int_equal(r.end.value, 7 << 8);
    assert_non_null(strstr(r.streams[1].kept.data, "(version 1)(deny default)"));
    char *tmp = strdup(r.mac->tmp);
    assert_non_null(strstr(r.streams[1].kept.data, tmp)); /* a parameter of the profile */
    assert_memory_equal(r.streams[2].kept.data, tmp, strlen(tmp));
    assert_int_equal(lstat(tmp, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    run_done(&r, NULL);
    assert_int_equal(lstat(tmp, &st), -1);
    free(tmp);
    image_done(&image);
}

static void what_cannot_be_started_is_said(void **state)
{
    const char *const missing[] = { "/no/such/program", NULL };
    const char *const fine[] = { "true", NULL };
    static const struct {
        const char *profile;
        int32_t code;
    } table[] = { { "(version 1)", ABX_E_EXEC },
                  { "(refuse)", ABX_E_SANDBOX },
                  { NULL, ABX_E_SANDBOX } };
    struct image image;
    struct run r;

    (void)state;
    image_init(&image, helper_dir);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _err_ abx_error *err = NULL;
        assert_int_equal(start(&r, &image, i == 0 ? missing : fine, table[i].profile, &err),
                         table[i].code);
        run_done(&r, NULL);
    }
    image_done(&image);
    _err_ abx_error *err = NULL;
    image_init(&image, "/nowhere");
    assert_int_equal(start(&r, &image, fine, "(version 1)", &err), ABX_E_DEPENDENCY);
    run_done(&r, NULL);
    image_done(&image);
}

/* Nobody holds the other end of its output any more. */
static void await_silence(struct run *r)
{
    while (r->streams[1].fd >= 0) {
        struct pollfd output = { .fd = r->streams[1].fd, .events = POLLIN };
        assert_int_equal(poll(&output, 1, WAIT_MS), 1);
        (void)stream_read(&r->streams[1]);
    }
}

static void a_cancel_ends_it(void **state)
{
    const char *const argv[] = { "sh", "-c", "trap '' TERM; echo up; sleep 1000 & wait; sleep 1000",
                                 NULL };
    struct image image;
    struct run r;

    (void)state;
    image_init(&image, helper_dir);
    assert_int_equal(start(&r, &image, argv, "(version 1)", NULL), ABX_OK);
    run_cancel(&r);
    pump_to_the_end(&r);
    await_silence(&r);
    run_done(&r, NULL);
    image_done(&image);
}

static void the_command_does_not_outlive_a_killed_launcher(void **state)
{
    const char *const argv[] = { "sleep", "1000", NULL };
    struct image image;
    struct run r;

    (void)state;
    image_init(&image, helper_dir);
    assert_int_equal(start(&r, &image, argv, "(version 1)", NULL), ABX_OK);
    assert_int_equal(kill(r.keeper, SIGKILL), 0);
    pump_to_the_end(&r);
    assert_true(r.gone && !r.exited);
    await_silence(&r);
    run_done(&r, NULL);
    image_done(&image);
}

static void a_directory_is_no_stream(void **state)
{
    const char *const argv[] = { "true", NULL };
    struct run_request q = { .cwd_fd = -1, .stdio = { open("/", O_RDONLY | O_CLOEXEC), -1, -1 } };
    const struct plan plan = { .argv = argv,
                               .argv_count = 1,
                               .hostname = "",
                               .cwd = "/",
                               .path = "",
                               .profile = "(version 1)" };
    _err_ abx_error *err = NULL;
    struct image image;
    struct run r;

    (void)state;
    image_init(&image, helper_dir);
    q.image = &image;
    run_init(&r);
    assert_int_equal(run_launch(&r, &q, &err), ABX_OK);
    assert_int_equal(run_deliver(&r, &plan, state_dirs, &err), ABX_E_INVALID);
    run_done(&r, NULL);
    (void)close(q.stdio[0]);
    image_done(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_its_output_its_status_and_a_directory_of_its_own),
        cmocka_unit_test(what_cannot_be_started_is_said),
        cmocka_unit_test(a_cancel_ends_it),
        cmocka_unit_test(the_command_does_not_outlive_a_killed_launcher),
        cmocka_unit_test(a_directory_is_no_stream),
    };

    return cmocka_run_group_tests_name("darwin_run", tests, make_helper, remove_helper);
}
