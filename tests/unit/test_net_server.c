/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server in this process. Two runs, one of which takes all that it can get of connections,
 * questions and look-ups: the other is served. What was answered, when nobody is to be asked any
 * more. A client that asks without a pause, and a name server that answers so. Tunnels in which
 * nothing moves any more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "lib/echo_server.h"
#include "net/server.h"

#define LIMIT    16   /* connections */
#define CROWD    32   /* twice that */
#define QUEUE    1024 /* of a listener: nobody who knocks has to wait */
#define TURNS    400  /* of 5 ms at most */
#define MANY     200  /* questions, names */
#define REQUESTS 8000
#define GREEDY   1 /* the numbers of the two runs */
#define MODEST   2

static struct loop *loop;
static struct resolver *resolver;
static struct server *server;
static int target, dns;
static uint16_t target_port, dns_port, ports[3];
static unsigned asked[3];
static uint32_t last_question;
static unsigned silences;
static char last_silence[256];

/* ---- the server ---- */

static void on_record(void *user, const struct server_record *record)
{
    (void)user;
    if (record->kind != REPLY_SILENT || record->outcome == SERVER_ALLOWED)
        return;
    assert_int_equal(record->outcome, SERVER_FAILED);
    assert_string_equal(record->host, "127.0.0.1");
    assert_int_equal(record->port, target_port);
    (void)snprintf(last_silence, sizeof last_silence, "%s", record->text);
    silences++;
}

static void on_ask(void *user, uint32_t question, uint32_t listener, const char *host,
                   uint16_t port)
{
    (void)user;
    (void)host;
    (void)port;
    last_question = question;
    asked[listener]++;
}

static void on_stopped(void *user)
{
    (void)user;
}

static void set_rules(uint32_t id, bool ask)
{
    static const struct filter_pattern list[] = { { "127.0.0.1", "test" },
                                                  { "*.here.test", "test" } };
    const struct server_rules rules = { .lists.allowed = { list, ARRAY_LEN(list) }, .ask = ask };

    assert_int_equal(server_set_rules(server, id, &rules, NULL), ABX_OK);
}

static void add_run(uint32_t id)
{
    int listener = echo_listen(QUEUE, &ports[id]);

    assert_true(listener >= 0);
    set_rules(id, true);
    assert_int_equal(server_listen(server, id, id, listener), 0);
}

/* A name server that never answers. */
static int silent_server(uint16_t *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int size = 1 << 20;
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static int make_with(int64_t idle_ns)
{
    static const char resolv[] = "nameserver 127.0.0.1\n", hosts[] = "127.0.0.1 A.test b.Test\n";
    const struct server_limits limits = { .connections = LIMIT, .idle_ns = idle_ns };
    const struct server_hooks hooks = { .record = on_record, .ask = on_ask, .stopped = on_stopped };

    memset(asked, 0, sizeof asked);
    silences = 0;
    target = echo_listen(QUEUE, &target_port);
    dns = silent_server(&dns_port);
    assert_int_equal(loop_new(&loop), 0);
    assert_int_equal(resolver_new(loop, dns_port, &resolver), 0);
    assert_int_equal(resolver_load(resolver, hosts, sizeof hosts - 1, resolv, sizeof resolv - 1),
                     0);
    assert_int_equal(server_new(loop, resolver, &limits, &hooks, &server), 0);
    add_run(MODEST);
    add_run(GREEDY); /* the newer one, which is served first */
    return 0;
}

static int make(void **state)
{
    (void)state;
    return make_with(0);
}

static int make_impatient(void **state)
{
    (void)state;
    return make_with(NSEC_PER_SEC);
}

static int unmake(void **state)
{
    (void)state;
    server_free(server);
    resolver_free(resolver);
    loop_free(loop);
    fd_close(target);
    fd_close(dns);
    return 0;
}

static void turn(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        (void)loop_turn(loop, 5 * NSEC_PER_MSEC);
}

/* ---- clients ---- */

static void tell(int fd, const char *host, uint16_t port)
{
    char text[128];
    int n = snprintf(text, sizeof text, "CONNECT %s:%u HTTP/1.1\r\n\r\n", host, port);

    assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
}

static int ask_for(uint32_t run, const char *host, uint16_t port)
{
    int fd = echo_connect(ports[run]);

    assert_true(fd >= 0);
    tell(fd, host, port);
    return fd;
}

/* What comes first, within some turns; "" if nothing does. */
static const char *hear(int fd)
{
    static char text[256];
    ssize_t n = -1;

    for (unsigned i = 0; i < TURNS && n < 0; i++) {
        turn(1);
        n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    }
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void crowd(int fds[CROWD], const char *host)
{
    for (unsigned i = 0; i < CROWD; i++) {
        fds[i] = ask_for(GREEDY, host, target_port);
        turn(2);
    }
    turn(10);
    assert_int_equal(server_connections(server), LIMIT);
}

/* For good: the other side sees both directions end. */
static void hang_up(int fd)
{
    const struct linger at_once = { .l_onoff = 1 };

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    fd_close(fd);
}

static void hang_up_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hang_up(fds[i]);
}

static void expect_served(uint32_t run)
{
    int fd = ask_for(run, "127.0.0.1", target_port);

    assert_non_null(strstr(hear(fd), " 200 "));
    hang_up(fd);
    turn(4);
}

/* ---- tests ---- */

static void tunnels_of_one_run_do_not_keep_another_out(void **state)
{
    int fds[CROWD];

    (void)state;
    crowd(fds, "127.0.0.1");
    expect_served(MODEST);
    hang_up_all(fds, CROWD);
}

static void who_waits_for_an_answer_does_not_either(void **state)
{
    int fds[CROWD];

    (void)state;
    crowd(fds, "unknown.test");
    assert_int_equal(asked[GREEDY], 1);
    expect_served(MODEST);
    hang_up_all(fds, CROWD);
}

/* It has said nothing yet, and the greedy one goes on knocking. */
static void a_run_within_its_part_loses_nothing_to_one_beyond(void **state)
{
    int fds[CROWD], more[CROWD], modest[LIMIT / 2 - 1];

    (void)state;
    crowd(fds, "127.0.0.1");
    for (size_t i = 0; i < ARRAY_LEN(modest); i++) {
        modest[i] = echo_connect(ports[MODEST]);
        turn(4);
    }
    for (unsigned i = 0; i < CROWD; i++) {
        more[i] = ask_for(GREEDY, "127.0.0.1", target_port);
        turn(2);
    }
    for (size_t i = 0; i < ARRAY_LEN(modest); i++) {
        tell(modest[i], "127.0.0.1", target_port);
        assert_non_null(strstr(hear(modest[i]), " 200 "));
    }
    hang_up_all(fds, CROWD);
    hang_up_all(more, CROWD);
    hang_up_all(modest, ARRAY_LEN(modest));
}

/* Alone it may have them all, and its own work is not given up for its own further wishes. */
static void one_run_loses_no_work_to_itself(void **state)
{
    int fds[LIMIT], late;

    (void)state;
    server_remove_rules(server, MODEST);
    for (unsigned i = 0; i < LIMIT; i++) {
        fds[i] = ask_for(GREEDY, "127.0.0.1", target_port);
        assert_non_null(strstr(hear(fds[i]), " 200 "));
    }
    late = ask_for(GREEDY, "127.0.0.1", target_port);
    turn(40);
    for (unsigned i = 0; i < LIMIT; i++)
        assert_int_equal(recv(fds[i], &(char){ 0 }, 1, MSG_DONTWAIT), -1);
    hang_up_all(fds, 1);
    assert_non_null(strstr(hear(late), " 200 "));
    hang_up_all(fds + 1, LIMIT - 1);
    hang_up(late);
}

/* Its listener rests when another run takes one of its places, and all are full again. */
static void a_run_that_had_to_make_room_is_served_later(void **state)
{
    int fds[CROWD];

    (void)state;
    crowd(fds, "127.0.0.1");
    int modest = ask_for(MODEST, "127.0.0.1", target_port);
    assert_non_null(strstr(hear(modest), " 200 "));
    hang_up_all(fds, CROWD);
    turn(40);
    expect_served(GREEDY);
    hang_up(modest);
}

/* The clients do not wait, their questions stay. */
static void questions_of_one_run_leave_some_for_others(void **state)
{
    char name[32];

    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "n%u.test", i);
        int fd = ask_for(GREEDY, name, 443);
        turn(2);
        hang_up(fd);
    }
    turn(10);
    assert_int_equal(asked[GREEDY], SERVER_MAX_QUESTIONS / 2);
    int fd = ask_for(MODEST, "mine.test", 443);
    turn(10);
    assert_int_equal(asked[MODEST], 1);
    hang_up(fd);
}

/* How many questions about names that begin like this came in. */
static unsigned names_asked(const char *beginning)
{
    char message[512];
    unsigned found = 0;

    for (ssize_t n; (n = recv(dns, message, sizeof message, 0)) > 0;)
        found += memmem(message, (size_t)n, beginning, strlen(beginning)) != NULL;
    return found;
}

static void look_ups_of_one_run_leave_some_for_others(void **state)
{
    char name[32];

    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "greedy%u.here.test", i);
        int fd = ask_for(GREEDY, name, 443);
        turn(2);
        hang_up(fd);
    }
    turn(10);
    assert_int_equal(names_asked("greedy"), RESOLVE_MAX_QUERIES); /* two for each of half */
    int fd = ask_for(MODEST, "modest.here.test", 443);
    turn(10);
    assert_int_equal(names_asked("modest"), 2); /* both families */
    hang_up(fd);
}

/* ---- new rules ---- */

static void what_was_answered_counts_as_long_as_somebody_may_be_asked(void **state)
{
    (void)state;
    int open = ask_for(MODEST, "a.test", target_port);
    turn(4);
    server_answer(server, last_question, SERVER_YES_SESSION);
    assert_non_null(strstr(hear(open), " 200 "));
    int waits = ask_for(MODEST, "b.test", target_port);
    turn(4);
    assert_int_equal(asked[MODEST], 2);
    set_rules(MODEST, false);
    assert_string_equal(hear(open), "");
    assert_int_equal(recv(open, &(char){ 0 }, 1, MSG_DONTWAIT), 0);
    assert_non_null(strstr(hear(waits), " 403 "));
    server_answer(server, last_question, SERVER_YES); /* too late */
    int late = ask_for(MODEST, "a.test", target_port);
    assert_non_null(strstr(hear(late), " 403 "));
    set_rules(MODEST, true);
    int again = ask_for(MODEST, "a.test", target_port);
    assert_non_null(strstr(hear(again), " 200 "));
    hang_up_all((const int[]){ open, waits, late, again }, 4);
}

/* ---- one client ---- */

/* How often the text is in what comes now; `rest` is what may be the beginning of another. */
static unsigned count_new(int fd, const char *text, struct buf *rest)
{
    char bytes[65536], *at, *end;
    unsigned found = 0;
    ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);

    if (n <= 0 || buf_append(rest, bytes, (size_t)n) < 0)
        return 0;
    end = rest->data + rest->len;
    for (at = rest->data; (at = memmem(at, (size_t)(end - at), text, strlen(text))); found++)
        *at = '\n';
    rest->len = MIN_OF(rest->len, strlen(text));
    memmove(rest->data, end - rest->len, rest->len);
    return found;
}

/* Far more than a buffer holds, and what is read seldom ends where a request does. */
static void requests_may_come_without_a_pause(void **state)
{
    static const char request[] = "GET http://127.0.0.2/ HTTP/1.1\r\nHost: 127.0.0.2\r\n"
                                  "X: a word or two, so that it is longer\r\n\r\n";
    _buf_ struct buf all = { .limit = 1 << 20 }, rest = { .limit = 1 << 20 };
    int fd = echo_connect(ports[MODEST]);
    unsigned answers = 0;
    size_t sent = 0;

    (void)state;
    for (unsigned i = 0; i < REQUESTS; i++)
        (void)buf_puts(&all, request);
    for (unsigned i = 0; i < REQUESTS && answers < REQUESTS; i++) {
        ssize_t n = send(fd, all.data + sent, all.len - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        assert_true(n >= 0 || errno == EAGAIN);
        sent += n > 0 ? (size_t)n : 0;
        turn(1);
        answers += count_new(fd, "HTTP/1.1 403 ", &rest);
    }
    assert_int_equal(answers, REQUESTS);
    hang_up(fd);
}

/* ---- silence ---- */

#define MOVES 6

/* ClientHello without any extension, for a target that is an address. */
static const char hello[] = "\x16\x03\x01\0\x2d\x01\0\0\x29\x03\x03"
                            "................................\0\0\x02\x13\x01\x01\0";

struct talk {
    struct {
        char who;  /* 'c', 's'; 'h': the client, its ClientHello */
        int bytes; /* 0: none any more, it shuts its side */
    } moves[MOVES];
};

/* What one end says reaches the other before the next move. */
static void say(int from, int to, char who, int bytes)
{
    char text[1024] = "";
    size_t len = who == 'h' ? sizeof hello - 1 : (size_t)bytes, got = 0;

    memset(text, '.', sizeof text);
    if (who == 'h')
        memcpy(text, hello, len);
    assert_int_equal(send(from, text, len, MSG_NOSIGNAL), len);
    if (len == 0)
        (void)shutdown(from, SHUT_WR);
    for (unsigned i = 0; i < TURNS && got < len; i++) {
        turn(1);
        ssize_t n = recv(to, text, sizeof text, MSG_DONTWAIT);
        got += n > 0 ? (size_t)n : 0;
    }
    assert_int_equal(got, len);
}

static int begin_talk(const struct talk *talk, int *ret_client)
{
    int client = ask_for(MODEST, "127.0.0.1", target_port);

    assert_non_null(strstr(hear(client), " 200 "));
    int fd = accept4(target, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    for (unsigned i = 0; i < MOVES && talk->moves[i].who; i++)
        if (talk->moves[i].who == 's')
            say(fd, client, 's', talk->moves[i].bytes);
        else
            say(client, fd, talk->moves[i].who, talk->moves[i].bytes);
    *ret_client = client;
    return fd;
}

/* How many of them were told about, once the proxy has closed all. */
static unsigned told_of(const struct talk *talks, size_t count)
{
    int fds[2 * LIMIT];

    assert_true(count <= LIMIT); /* all at once */
    for (size_t i = 0; i < count; i++)
        fds[2 * i] = begin_talk(&talks[i], &fds[2 * i + 1]);
    assert_int_equal(server_connections(server), count);
    for (unsigned i = 0; i < TURNS && server_connections(server) > 0; i++)
        turn(1);
    assert_int_equal(server_connections(server), 0);
    hang_up_all(fds, 2 * count);
    return silences;
}

static void silence_is_told_where_the_client_waits_for_an_answer(void **state)
{
    static const struct talk talks[] = {
        { { { 'c', 90 } } },
        { { { 'c', 90 }, { 'c', 0 } } },
        { { { 's', 9 }, { 'c', 90 } } },
        { { { 'c', 90 }, { 's', 900 }, { 'c', 90 } } },
        { { { 'h', 0 }, { 's', 900 }, { 'c', 80 }, { 's', 510 } } }, /* tickets */
        { { { 'h', 0 }, { 's', 900 }, { 'c', 80 }, { 's', 510 }, { 'c', 90 } } },
    };
    char text[128];

    (void)state;
    assert_int_equal(told_of(talks, ARRAY_LEN(talks)), ARRAY_LEN(talks));
    (void)snprintf(
        text, sizeof text,
        "127.0.0.1:%u did not answer: the proxy closed the connection after 1 s of silence",
        target_port);
    assert_string_equal(last_silence, text);
}

static void silence_after_the_server_spoke_is_not_told(void **state)
{
    static const struct talk talks[] = {
        { { { 0 } } },
        { { { 's', 9 } } },
        { { { 'c', 90 }, { 's', 1 } } },
        { { { 'c', 90 }, { 's', 9 }, { 'c', 90 }, { 's', 100 } } },
        { { { 'h', 0 }, { 's', 900 } } },
        { { { 'h', 0 }, { 's', 900 }, { 'c', 80 }, { 's', 510 }, { 's', 90 } } },
        { { { 'h', 0 }, { 's', 900 }, { 'c', 80 }, { 's', 510 }, { 'c', 90 }, { 's', 90 } } },
    };

    (void)state;
    assert_int_equal(told_of(talks, ARRAY_LEN(talks)), 0);
}

/* ---- a name server ---- */

/* Both questions of one name: to each many answers with another number, then the right one. */
static void answer_after(unsigned wrong)
{
    static const uint8_t address[] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1 };

    for (unsigned i = 0; i < 2; i++) {
        uint8_t message[512];
        struct sockaddr_in from;
        socklen_t len = sizeof from;
        ssize_t n = recvfrom(dns, message, sizeof message, 0, (struct sockaddr *)&from, &len);

        assert_true(n > 27);
        const size_t question = (size_t)n - 11; /* without EDNS */
        const bool v4 = message[question - 3] == 1;
        message[2] |= 0x80;
        message[7] = v4;
        message[11] = 0;
        memcpy(message + question, address, sizeof address);
        for (unsigned k = 0; k <= wrong; k++) {
            message[0] ^= k == 0 || k == wrong;
            (void)sendto(dns, message, question + (v4 ? sizeof address : 0), 0,
                         (struct sockaddr *)&from, len);
        }
    }
}

static void a_name_server_that_floods_has_its_turn_and_no_more(void **state)
{
    char text[64];

    (void)state;
    int fd = ask_for(MODEST, "flood.here.test", target_port);
    turn(4);
    answer_after(60);
    turn(3); /* enough for what is answered at once */
    assert_int_equal(recv(fd, text, sizeof text, MSG_DONTWAIT), -1); /* others have theirs */
    assert_non_null(strstr(hear(fd), " 200 "));
    hang_up(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tunnels_of_one_run_do_not_keep_another_out, make, unmake),
        cmocka_unit_test_setup_teardown(who_waits_for_an_answer_does_not_either, make, unmake),
        cmocka_unit_test_setup_teardown(a_run_within_its_part_loses_nothing_to_one_beyond, make,
                                        unmake),
        cmocka_unit_test_setup_teardown(one_run_loses_no_work_to_itself, make, unmake),
        cmocka_unit_test_setup_teardown(a_run_that_had_to_make_room_is_served_later, make, unmake),
        cmocka_unit_test_setup_teardown(questions_of_one_run_leave_some_for_others, make, unmake),
        cmocka_unit_test_setup_teardown(look_ups_of_one_run_leave_some_for_others, make, unmake),
        cmocka_unit_test_setup_teardown(what_was_answered_counts_as_long_as_somebody_may_be_asked,
                                        make, unmake),
        cmocka_unit_test_setup_teardown(requests_may_come_without_a_pause, make, unmake),
        cmocka_unit_test_setup_teardown(silence_is_told_where_the_client_waits_for_an_answer,
                                        make_impatient, unmake),
        cmocka_unit_test_setup_teardown(silence_after_the_server_spoke_is_not_told, make_impatient,
                                        unmake),
        cmocka_unit_test_setup_teardown(a_name_server_that_floods_has_its_turn_and_no_more, make,
                                        unmake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
