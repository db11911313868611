/* SPDX-License-Identifier: Apache-2.0 */
/* What pid 1 says, one message at a time: the state that follows, descriptors that do not stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/run.h"

static void no_fds(int fds[STATUS_MAX_FDS])
{
    for (size_t i = 0; i < STATUS_MAX_FDS; i++)
        fds[i] = -1;
}

static void open_fds(int fds[STATUS_MAX_FDS], size_t count)
{
    no_fds(fds);
    for (size_t i = 0; i < count; i++) {
        fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fds[i] >= 0);
    }
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static bool take(struct run *r, const struct status_msg *status, int fds[STATUS_MAX_FDS])
{
    union message msg = { .status = *status };

    return message_take(r, &msg, sizeof msg.status, fds);
}

static bool take_kind(struct run *r, uint32_t kind, int32_t value)
{
    const struct status_msg msg = { .kind = kind, .value = value };
    int fds[STATUS_MAX_FDS];

    no_fds(fds);
    return take(r, &msg, fds);
}

static void the_state_follows(void **state)
{
    struct run r;

    (void)state;
    run_init(&r);
    assert_true(take_kind(&r, STATUS_STARTED, 1));
    assert_true(r.started && r.start.value == 1);
    assert_true(take_kind(&r, STATUS_STOPPED, 19));
    assert_int_equal(r.stopped, 19);
    assert_true(take_kind(&r, STATUS_CONTINUED, 0));
    assert_int_equal(r.stopped, 0);
    assert_true(take_kind(&r, STATUS_KIND_COUNT, 0)); /* no kind: nothing follows */
    assert_false(r.exited);
    assert_true(take_kind(&r, STATUS_EXITED, 256));
    assert_true(r.exited && r.end.value == 256);
    run_done(&r, NULL);
}

static void the_first_failure_counts_and_its_texts_end(void **state)
{
    struct status_msg msg = { .kind = STATUS_FAILED, .err = ENOENT };
    int fds[STATUS_MAX_FDS];
    struct run r;

    (void)state;
    run_init(&r);
    no_fds(fds);
    memset(msg.step, 'x', sizeof msg.step);
    memset(msg.text, 'y', sizeof msg.text);
    assert_true(take(&r, &msg, fds));
    msg.err = EPERM;
    assert_true(take(&r, &msg, fds));
    assert_int_equal(r.failure.err, ENOENT);
    assert_int_equal(strlen(r.failure.step), sizeof msg.step - 1);
    assert_int_equal(strlen(r.failure.text), sizeof msg.text - 1);
    run_done(&r, NULL);
}

static void descriptors_are_taken_once_and_the_rest_is_closed(void **state)
{
    static const struct {
        uint32_t kind;
        size_t sent, kept;
    } rows[] = {
        { STATUS_TTY, 3, 1 },
        { STATUS_LISTENERS, 6, LISTENER_COUNT },
        { STATUS_SOCKETS, STATUS_MAX_FDS, STATUS_MAX_FDS },
        { STATUS_STARTED, 4, 0 },
        { STATUS_KIND_COUNT, 2, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct status_msg msg = { .kind = rows[i].kind };
        int fds[STATUS_MAX_FDS], were[STATUS_MAX_FDS];
        struct run r;
        size_t open_now = 0;

        run_init(&r);
        for (int again = 0; again < 2; again++) { /* a second message replaces the first */
            open_fds(fds, rows[i].sent);
            memcpy(were, fds, sizeof were);
            assert_true(take(&r, &msg, fds));
        }
        for (size_t f = 0; f < rows[i].sent; f++)
            open_now += is_open(were[f]);
        assert_int_equal(open_now, rows[i].kept);
        run_done(&r, NULL);
        for (size_t f = 0; f < rows[i].sent; f++)
            assert_false(is_open(were[f]));
    }
}

static void listeners_can_be_taken_on(void **state)
{
    const struct status_msg sockets = { .kind = STATUS_SOCKETS };
    const struct status_msg msg = { .kind = STATUS_LISTENERS };
    int fds[STATUS_MAX_FDS], taken[STATUS_MAX_FDS + 2];
    struct run r;

    (void)state;
    run_init(&r);
    open_fds(fds, 2);
    assert_true(take(&r, &msg, fds));
    assert_int_equal(run_take_listeners(&r, taken), 2);
    assert_int_equal(run_take_listeners(&r, taken + 2), 0);
    open_fds(fds, 3);
    assert_true(take(&r, &sockets, fds));
    assert_int_equal(run_take_sockets(&r, taken + 2), 3);
    run_done(&r, NULL);
    for (size_t i = 0; i < 5; i++) {
        assert_true(is_open(taken[i])); /* the caller's */
        (void)close(taken[i]);
    }
}

static unsigned told;

static void on_tell(void *user, struct run *run, const struct watch_msg *msg)
{
    const struct abx_violation v = { .operation = VIOLATION_WRITE, .path = "/x" };

    (void)user;
    (void)msg;
    told++;
    if (violations_add(&run->violations, &v, NULL))
        run->watch.records[msg->id - 1] = (uint16_t)run->violations.count;
}

static bool take_bytes(struct run *r, const void *bytes, size_t len)
{
    union message msg = { 0 };
    int fds[STATUS_MAX_FDS];

    no_fds(fds);
    memcpy(&msg, bytes, len);
    return message_take(r, &msg, len, fds);
}

static void records_must_be_whole(void **state)
{
    struct watch_msg msg = { .kind = STATUS_VIOLATION, .id = 1, .path_len = 2, .path = "/x" };
    struct run r;

    (void)state;
    told = 0;
    run_init(&r);
    assert_true(take_bytes(&r, &msg, WATCH_MSG_HEAD + 2)); /* nobody wants to know */
    r.watch.tell = on_tell;
    assert_true(take_bytes(&r, &msg, WATCH_MSG_HEAD + 1));
    assert_true(take_bytes(&r, &msg, WATCH_MSG_HEAD + 3));
    assert_true(take_bytes(&r, &msg, 8));
    msg.id = 0;
    assert_true(take_bytes(&r, &msg, WATCH_MSG_HEAD + 2));
    msg.id = WATCH_MAX_RECORDS + 1;
    assert_true(take_bytes(&r, &msg, WATCH_MSG_HEAD + 2));
    assert_int_equal(told, 0);
    msg.id = WATCH_MAX_RECORDS;
    assert_true(take_bytes(&r, &msg, WATCH_MSG_HEAD + 2));
    assert_int_equal(told, 1);
    run_done(&r, NULL);
}

static void counts_add_to_records_that_are_there(void **state)
{
    struct watch_msg msg = { .kind = STATUS_VIOLATION, .id = 7, .path_len = 2, .path = "/x" };
    struct watch_counts counts = { .kind = STATUS_COUNTS, .count = 4, .dropped = 5 };
    const size_t head = offsetof(struct watch_counts, list), one = sizeof counts.list[0];
    struct run r;

    (void)state;
    run_init(&r);
    r.watch.tell = on_tell;
    assert_true(take_bytes(&r, &msg, WATCH_MSG_HEAD + 2));
    counts.list[0] = (struct watch_count){ .id = 7, .count = 10 };
    counts.list[1] = (struct watch_count){ .id = 8, .count = 10 }; /* not told of */
    counts.list[2] = (struct watch_count){ .id = 0, .count = 10 };
    counts.list[3] = (struct watch_count){ .id = WATCH_MAX_RECORDS + 1, .count = 10 };
    assert_true(take_bytes(&r, &counts, head + 4 * one - 1)); /* cut: as if it had not come */
    assert_true(take_bytes(&r, &counts, head - 1));
    assert_int_equal(r.violations.dropped, 0);
    assert_true(take_bytes(&r, &counts, head + 4 * one));
    assert_int_equal(r.violations.dropped, 5);
    assert_int_equal(r.violations.list[0].count, 10);
    counts.count = WATCH_COUNTS_MAX + 1;
    assert_true(take_bytes(&r, &counts, sizeof counts));
    assert_int_equal(r.violations.dropped, 5);
    run_done(&r, NULL);
}

static void what_is_no_message_ends_the_conversation(void **state)
{
    const struct status_msg msg = { .kind = STATUS_EXITED };
    struct run r;

    (void)state;
    run_init(&r);
    assert_false(take_bytes(&r, &msg, 0));
    assert_false(take_bytes(&r, &msg, 3));
    assert_false(take_bytes(&r, &msg, sizeof msg - 1));
    assert_false(r.exited);
    run_done(&r, NULL);
}

static void passed_descriptors_are_read_from_the_header(void **state)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE((STATUS_MAX_FDS + 8) * sizeof(int))];
    } control = { 0 };
    struct msghdr header = { .msg_control = &control, .msg_controllen = sizeof control };
    struct cmsghdr *c = CMSG_FIRSTHDR(&header);
    int fds[STATUS_MAX_FDS], sent[STATUS_MAX_FDS + 8];

    (void)state;
    for (int i = 0; i < STATUS_MAX_FDS + 8; i++)
        sent[i] = i;
    *c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof sent),
                           .cmsg_level = SOL_SOCKET,
                           .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(c), sent, sizeof sent);
    run_passed_fds(&header, fds);
    assert_int_equal(fds[STATUS_MAX_FDS - 1], STATUS_MAX_FDS - 1); /* no more than there is room */
    c->cmsg_len = CMSG_LEN(sizeof(int));
    run_passed_fds(&header, fds);
    assert_int_equal(fds[0], 0);
    assert_int_equal(fds[1], -1);
    c->cmsg_type = SCM_CREDENTIALS;
    run_passed_fds(&header, fds);
    assert_int_equal(fds[0], -1);
    header.msg_controllen = 0;
    run_passed_fds(&header, fds);
    assert_int_equal(fds[0], -1);
}

/* As pid 1 passes the proxy's listeners. */
static void send_listeners(int socket)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = { 0 };
    struct status_msg msg = { .kind = STATUS_LISTENERS };
    struct iovec iov = { &msg, sizeof msg };
    struct msghdr header = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    struct cmsghdr *c = CMSG_FIRSTHDR(&header);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(c), (const int[]){ STDIN_FILENO, STDERR_FILENO }, 2 * sizeof(int));
    assert_int_equal(sendmsg(socket, &header, MSG_NOSIGNAL), sizeof msg);
}

static void descriptors_that_find_no_room_are_a_failed_start(void **state)
{
    struct rlimit old, none;
    struct run r;
    int pair[2];

    (void)state;
    for (int room = 0; room < 3; room++) {
        run_init(&r);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        r.status_fd = pair[0];
        send_listeners(pair[1]);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
        none = old;
        none.rlim_cur = (rlim_t)pair[1] + 1 + (rlim_t)room;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        assert_true(run_read_message(&r));
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_int_equal(r.failed, room < 2);
        assert_int_equal(r.failure.err, room < 2 ? EMFILE : 0);
        run_done(&r, NULL);
        (void)close(pair[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_follows),
        cmocka_unit_test(the_first_failure_counts_and_its_texts_end),
        cmocka_unit_test(descriptors_are_taken_once_and_the_rest_is_closed),
        cmocka_unit_test(listeners_can_be_taken_on),
        cmocka_unit_test(records_must_be_whole),
        cmocka_unit_test(counts_add_to_records_that_are_there),
        cmocka_unit_test(what_is_no_message_ends_the_conversation),
        cmocka_unit_test(passed_descriptors_are_read_from_the_header),
        cmocka_unit_test(descriptors_that_find_no_room_are_a_failed_start),
    };

    return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
