/* SPDX-License-Identifier: Apache-2.0 */
/* The relay: bytes in order, half-close, back-pressure of one chunk, nothing held when idle. */
#include "net/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/loop.h"

#define EVERYTHING (LOOP_READ | LOOP_WRITE)

struct tunnel {
    struct relay_pool pool;
    struct relay relay;
    int client, server; /* the far ends */
    int near[2];
};

static void nonblocking_pair(int *far, int *near)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    *far = fds[0];
    *near = fds[1];
}

static int make_tunnel(void **state)
{
    struct tunnel *t = calloc(1, sizeof *t);

    (void)signal(SIGPIPE, SIG_IGN);
    nonblocking_pair(&t->client, &t->near[RELAY_CLIENT]);
    nonblocking_pair(&t->server, &t->near[RELAY_SERVER]);
    relay_init(&t->relay, &t->pool, t->near[RELAY_CLIENT], t->near[RELAY_SERVER]);
    *state = t;
    return 0;
}

static int free_tunnel(void **state)
{
    struct tunnel *t = *state;

    relay_done(&t->relay);
    relay_pool_done(&t->pool);
    close(t->client);
    close(t->server);
    close(t->near[0]);
    close(t->near[1]);
    free(t);
    return 0;
}

static enum relay_step pump(struct tunnel *t)
{
    enum relay_step step;

    relay_ready(&t->relay, RELAY_CLIENT, EVERYTHING);
    relay_ready(&t->relay, RELAY_SERVER, EVERYTHING);
    do
        step = relay_pump(&t->relay);
    while (step == RELAY_MORE);
    return step;
}

static char byte_at(size_t i)
{
    return (char)(i * 31 + i / 251);
}

/* Sends so many bytes each way, with a relay that is pumped in between. */
static void exchange(struct tunnel *t, size_t total)
{
    size_t sent[2] = { 0, 0 }, got[2] = { 0, 0 };
    int ends[2] = { t->client, t->server };
    char piece[5000];

    while (got[0] < total || got[1] < total) {
        for (unsigned side = 0; side < 2; side++) {
            size_t n = total - sent[side] < sizeof piece ? total - sent[side] : sizeof piece;
            for (size_t i = 0; i < n; i++)
                piece[i] = byte_at(sent[side] + i);
            ssize_t w = n > 0 ? write(ends[side], piece, n) : 0;
            sent[side] += w > 0 ? (size_t)w : 0;
        }
        assert_int_equal(pump(t), RELAY_WAIT);
        for (unsigned side = 0; side < 2; side++) {
            ssize_t r = read(ends[side], piece, sizeof piece);
            for (ssize_t i = 0; i < r; i++)
                assert_int_equal(piece[i], byte_at(got[side] + (size_t)i));
            got[side] += r > 0 ? (size_t)r : 0;
        }
    }
}

static void bytes_go_both_ways_in_order_and_leave_nothing_behind(void **state)
{
    struct tunnel *t = *state;

    exchange(t, 100000);
    assert_int_equal(pump(t), RELAY_WAIT);
    assert_null(t->relay.flows[0].buffer);
    assert_null(t->relay.flows[1].buffer);
    assert_int_equal(relay_total(&t->relay), 200000);
}

static void a_long_direction_is_spliced_and_gives_its_pipe_back(void **state)
{
    struct tunnel *t = *state;

    exchange(t, 2000000);
    assert_int_equal(pump(t), RELAY_WAIT);
    assert_true(t->pool.pipes_made > 0);
    assert_int_equal(t->pool.pipes_free, t->pool.pipes_made);
    assert_int_equal(t->relay.flows[0].pipe.in, -1);
}

static void without_pipes_it_goes_on_copying(void **state)
{
    struct tunnel *t = *state;

    t->pool.no_pipes = true;
    exchange(t, 2000000);
    assert_int_equal(t->pool.pipes_made, 0);
}

static void a_receiver_that_does_not_read_costs_one_chunk(void **state)
{
    struct tunnel *t = *state;
    static char piece[RELAY_CHUNK];
    size_t sent = 0, before;

    do { /* until all socket buffers on the way are full */
        before = sent;
        for (ssize_t n; (n = write(t->client, piece, sizeof piece)) > 0;)
            sent += (size_t)n;
        assert_int_equal(pump(t), RELAY_WAIT);
    } while (sent > before);
    assert_true(t->relay.flows[RELAY_CLIENT].len + t->relay.flows[RELAY_CLIENT].piped > 0);
    assert_true(t->relay.flows[RELAY_CLIENT].len <= RELAY_CHUNK);
    assert_true(t->pool.spare_count <= 2);
    /* The other way is open. */
    assert_int_equal(write(t->server, "hello", 5), 5);
    assert_int_equal(pump(t), RELAY_WAIT);
    assert_int_equal(read(t->client, piece, sizeof piece), 5);
}

static void an_end_is_passed_on_and_the_other_direction_lives(void **state)
{
    struct tunnel *t = *state;
    char piece[16];

    assert_int_equal(write(t->client, "last", 4), 4);
    assert_int_equal(shutdown(t->client, SHUT_WR), 0);
    relay_ready(&t->relay, RELAY_CLIENT, LOOP_END);
    assert_int_equal(pump(t), RELAY_WAIT);
    assert_int_equal(read(t->server, piece, sizeof piece), 4);
    assert_int_equal(read(t->server, piece, sizeof piece), 0);
    assert_int_equal(write(t->server, "answer", 6), 6);
    assert_int_equal(pump(t), RELAY_WAIT);
    assert_int_equal(read(t->client, piece, sizeof piece), 6);
    assert_int_equal(shutdown(t->server, SHUT_WR), 0);
    relay_ready(&t->relay, RELAY_SERVER, LOOP_END);
    assert_int_equal(pump(t), RELAY_ENDED); /* closing tells the client */
}

static void what_is_held_waits_and_preloaded_bytes_come_first(void **state)
{
    struct tunnel *t = *state;
    char piece[16], *buffer = relay_take_buffer(&t->pool);

    t->relay.flows[RELAY_CLIENT].held = true;
    assert_int_equal(write(t->client, "later", 5), 5);
    assert_int_equal(pump(t), RELAY_WAIT);
    assert_int_equal(read(t->server, piece, sizeof piece), -1);
    memcpy(buffer, "first ", 6);
    relay_preload(&t->relay, RELAY_CLIENT, buffer, 6);
    t->relay.flows[RELAY_CLIENT].held = false;
    assert_int_equal(pump(t), RELAY_WAIT);
    assert_int_equal(read(t->server, piece, sizeof piece), 11);
    assert_memory_equal(piece, "first later", 11);
}

static void a_broken_side_ends_it(void **state)
{
    struct tunnel *t = *state;

    close(t->server);
    assert_int_equal(write(t->client, "x", 1), 1);
    assert_int_equal(pump(t), RELAY_FAILED);
    t->server = open("/dev/null", O_RDONLY | O_CLOEXEC); /* for the teardown */
}

#define TUNNEL_TEST(name) cmocka_unit_test_setup_teardown(name, make_tunnel, free_tunnel)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TUNNEL_TEST(bytes_go_both_ways_in_order_and_leave_nothing_behind),
        TUNNEL_TEST(a_long_direction_is_spliced_and_gives_its_pipe_back),
        TUNNEL_TEST(without_pipes_it_goes_on_copying),
        TUNNEL_TEST(a_receiver_that_does_not_read_costs_one_chunk),
        TUNNEL_TEST(an_end_is_passed_on_and_the_other_direction_lives),
        TUNNEL_TEST(what_is_held_waits_and_preloaded_bytes_come_first),
        TUNNEL_TEST(a_broken_side_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
