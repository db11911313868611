/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: order of timers, tasks and events, and what goes while it is waited for. */
#include "base/loop.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMERS 200

static struct loop *loop;
static unsigned fired;
static int64_t last_due;

static int make_loop(void **state)
{
    (void)state;
    fired = 0;
    last_due = 0;
    return loop_new(&loop);
}

static int free_loop(void **state)
{
    (void)state;
    loop_free(loop);
    return 0;
}

static void count_timer(struct loop_timer *timer)
{
    assert_true(timer->due >= last_due);
    assert_true(timer->due <= loop_now(loop));
    assert_false(timer->is_set);
    last_due = timer->due;
    fired++;
}

static void timers_expire_in_order_and_not_early(void **state)
{
    static struct loop_timer timers[TIMERS];
    unsigned random = 12345, cleared = 0;

    (void)state;
    memset(timers, 0, sizeof timers);
    for (size_t i = 0; i < TIMERS; i++) {
        random = random * 1103515245 + 12345;
        timers[i].expired = count_timer;
        loop_timer_set(loop, &timers[i], loop_now(loop) + random / 65536 % 20 * NSEC_PER_MSEC);
    }
    for (size_t i = 0; i < TIMERS; i += 3) { /* some change their minds, some are called off */
        if (i % 2)
            loop_timer_set(loop, &timers[i], loop_now(loop) + 25 * NSEC_PER_MSEC);
        else
            loop_timer_clear(loop, &timers[i]);
        cleared += i % 2 == 0;
    }
    for (unsigned turn = 0; turn < 100 && fired < TIMERS - cleared; turn++)
        assert_int_equal(loop_turn(loop, 100 * NSEC_PER_MSEC), 0);
    assert_int_equal(fired, TIMERS - cleared);
}

static struct loop_timer first_timer, second_timer;

static void clear_the_other(struct loop_timer *timer)
{
    loop_timer_clear(loop, timer == &first_timer ? &second_timer : &first_timer);
    fired++;
}

static void a_timer_can_be_cleared_by_another_of_the_same_moment(void **state)
{
    (void)state;
    first_timer = second_timer = (struct loop_timer){ .expired = clear_the_other };
    loop_timer_set(loop, &first_timer, loop_now(loop));
    loop_timer_set(loop, &second_timer, loop_now(loop));
    assert_int_equal(loop_turn(loop, 0), 0);
    assert_int_equal(loop_turn(loop, 0), 0);
    assert_int_equal(fired, 1);
}

static void post_again(struct loop_task *task)
{
    fired++;
    loop_post(loop, task);
}

static void a_task_that_posts_itself_runs_once_a_turn(void **state)
{
    struct loop_task task = { .run = post_again };

    (void)state;
    loop_post(loop, &task);
    loop_post(loop, &task); /* twice is once */
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(loop_turn(loop, -1), 0); /* does not wait: there is work */
        assert_int_equal(fired, i);
    }
    loop_unpost(loop, &task);
    assert_int_equal(loop_turn(loop, 0), 0);
    assert_int_equal(fired, 3);
}

struct peer {
    struct loop_io io;
    struct peer *other;
    unsigned seen;
};

static void close_both(struct loop_io *io, unsigned events)
{
    struct peer *p = CONTAINER_OF(io, struct peer, io);

    fired++;
    p->seen = events;
    loop_close(loop, &p->io);
    loop_close(loop, &p->other->io);
}

static void events_of_what_was_closed_are_dropped(void **state)
{
    struct peer a = { .io.ready = close_both }, b = { .io.ready = close_both };
    int fds[4];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds + 2), 0);
    a.io.fd = fds[0];
    b.io.fd = fds[2];
    a.other = &b;
    b.other = &a;
    assert_int_equal(loop_add(loop, &a.io, LOOP_READ), 0);
    assert_int_equal(loop_add(loop, &b.io, LOOP_READ), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(write(fds[3], "x", 1), 1);
    assert_int_equal(loop_turn(loop, 0), 0);
    assert_int_equal(fired, 1);
    assert_int_equal(a.io.fd, -1);
    assert_int_equal(b.io.fd, -1);
    close(fds[1]);
    close(fds[3]);
}

static void note_events(struct loop_io *io, unsigned events)
{
    struct peer *p = CONTAINER_OF(io, struct peer, io);

    p->seen |= events;
    fired++;
}

static void an_edge_is_told_once_an_end_too(void **state)
{
    struct peer p = { .io.ready = note_events };
    int fds[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    p.io.fd = fds[0];
    assert_int_equal(loop_add(loop, &p.io, LOOP_READ | LOOP_EDGE), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(loop_turn(loop, 0), 0);
    assert_int_equal(loop_turn(loop, 0), 0);
    assert_int_equal(fired, 1);
    assert_int_equal(p.seen, LOOP_READ);
    assert_int_equal(shutdown(fds[1], SHUT_WR), 0);
    assert_int_equal(loop_turn(loop, 0), 0);
    assert_int_equal(p.seen, LOOP_READ | LOOP_END);
    loop_close(loop, &p.io);
    close(fds[1]);
}

static void a_descriptor_goes_to_another_owner(void **state)
{
    struct peer a = { .io.ready = close_both }, b = { .io.ready = note_events };
    int fds[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    a.io.fd = b.io.fd = fds[0];
    assert_int_equal(loop_add(loop, &a.io, LOOP_READ), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    loop_remove(loop, &a.io);
    assert_int_equal(loop_add(loop, &b.io, LOOP_READ), 0);
    assert_int_equal(loop_turn(loop, 0), 0);
    assert_int_equal(b.seen, LOOP_READ);
    loop_remove(loop, &b.io);
    assert_int_equal(loop_turn(loop, 0), 0);
    assert_int_equal(fired, 1);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(timers_expire_in_order_and_not_early, make_loop, free_loop),
        cmocka_unit_test_setup_teardown(a_timer_can_be_cleared_by_another_of_the_same_moment,
                                        make_loop, free_loop),
        cmocka_unit_test_setup_teardown(a_task_that_posts_itself_runs_once_a_turn, make_loop,
                                        free_loop),
        cmocka_unit_test_setup_teardown(events_of_what_was_closed_are_dropped, make_loop,
                                        free_loop),
        cmocka_unit_test_setup_teardown(an_edge_is_told_once_an_end_too, make_loop, free_loop),
        cmocka_unit_test_setup_teardown(a_descriptor_goes_to_another_owner, make_loop, free_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
