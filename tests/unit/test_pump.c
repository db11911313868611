/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a launcher of which no descriptor tells the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/run.h"

#define CALLS 20

/* A launcher that says nothing and stays until the returned pipe is closed. */
static int start_silent(struct run *r)
{
    int ends[2];
    char byte;

    run_init(r);
    assert_int_equal(pipe(ends), 0);
    r->keeper = fork();
    assert_true(r->keeper >= 0);
    if (r->keeper == 0) {
        (void)close(ends[1]);
        (void)!read(ends[0], &byte, 1);
        _exit(0);
    }
    (void)close(ends[0]);
    return ends[1];
}

static void without_a_descriptor_it_waits_and_sees_the_end(void **state)
{
    struct run r;
    const int life = start_silent(&r);
    const pid_t pid = r.keeper;

    (void)state;
    const int64_t start = run_now_ns();
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(run_pump(&r, -1, NULL), ABX_OK);
    assert_false(run_ended(&r));
    assert_true(run_now_ns() - start >= CALLS * NSEC_PER_SEC / 1000);
    (void)close(life);
    while (!run_ended(&r))
        assert_int_equal(run_pump(&r, -1, NULL), ABX_OK);
    assert_true(r.gone);
    assert_true(waitpid(pid, NULL, WNOHANG) < 0 && errno == ECHILD);
    run_done(&r, NULL);
}

static void whoever_is_done_with_it_waits_for_its_end(void **state)
{
    struct run r;
    const int life = start_silent(&r);
    const pid_t pid = r.keeper;

    (void)state;
    (void)close(life);
    run_done(&r, NULL);
    assert_true(waitpid(pid, NULL, WNOHANG) < 0 && errno == ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_descriptor_it_waits_and_sees_the_end),
        cmocka_unit_test(whoever_is_done_with_it_waits_for_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
