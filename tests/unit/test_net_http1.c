/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1 as a proxy reads it: one reading or none, and what is sent on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/http1.h"

#define GET  "GET http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n"
#define POST "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n"

static void targets_are_split(void **state)
{
    static const struct {
        const char *head, *authority, *path;
    } table[] = {
        { GET "\r\n", "ok.test:80", "/" },
        { "GET HTTP://OK.Test.:8080/a?b=c HTTP/1.1\r\nHost: x\r\n\r\n", "ok.test:8080", "/a?b=c" },
        { "GET http://ok.test HTTP/1.0\r\n\r\n", "ok.test:80", "" },
        { "GET http://ok.test?q=http://evil.test/ HTTP/1.0\r\n\r\n", "ok.test:80",
          "?q=http://evil.test/" },
        { "GET http://0x7f.1/ HTTP/1.0\r\n\r\n", "127.0.0.1:80", "/" }, /* A104 */
        { "GET http://[::ffff:127.0.0.1]/ HTTP/1.0\r\n\r\n", "127.0.0.1:80", "/" },
        { "GET http://[::]:81/@x HTTP/1.0\r\n\r\n", "[::]:81", "/@x" },
        { "CONNECT ok.test:22 HTTP/1.1\r\n\r\n", "ok.test:22", "" },
        { "CONNECT ok.test HTTP/1.0\r\n\r\n", "ok.test:443", "" },
        { "CONNECT [::1]:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n", "[::1]:443", "" },
        /* The Host header is not believed. */
        { "GET http://ok.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "ok.test:80", "/" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char text[HOST_AUTHORITY_MAX];
        struct http1_fault fault;
        struct http1_request r;

        if (!http1_parse_request(table[i].head, strlen(table[i].head), &r, &fault))
            fail_msg("row %zu: %s", i, fault.why);
        (void)host_format(&r.host, r.port, text);
        assert_string_equal(text, table[i].authority);
        assert_true(span_eq(r.path, table[i].path));
    }
}

static const struct {
    const char *head;
    int status;
} refused[] = {
    /* forms of targets */
    { "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "OPTIONS * HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET https://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET ftp://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET ok.test:80 HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http:ok.test HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http:///x HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http://u:p@ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http://ok.test\\@evil.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http://ok.test/#x HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http://ok.test#@evil.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http://ok%2etest/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http://o_k.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http://ok.test:80:80/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http://ok.test:0/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http://ok.test/\xc3\xbc HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http://ok.test/a b HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "GET http://ok.test/\tb HTTP/1.1\r\nHost: ok.test\r\n\r\n", 400 },
    { "CONNECT http://ok.test/ HTTP/1.1\r\n\r\n", 400 },
    { "CONNECT ok.test:443/ HTTP/1.1\r\n\r\n", 400 },
    { "CONNECT :443 HTTP/1.1\r\n\r\n", 400 },
    { "connect ok.test:443 HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "CONNECT ok.test:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 400 },
    { "CONNECT ok.test:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
    { "TRACE http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 405 },
    /* first lines */
    { "\r\n" GET "\r\n", 400 },
    { " " GET "\r\n", 400 },
    { "GET  http://ok.test/ HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "GET http://ok.test/  HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "GET http://ok.test/ HTTP/1.1 \r\nHost: x\r\n\r\n", 400 },
    { "GET\thttp://ok.test/ HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "GET http://ok.test/\r\n\r\n", 400 },
    { "GET http://ok.test/ http/1.1\r\nHost: x\r\n\r\n", 400 },
    { "GET http://ok.test/ HTTP/1.10\r\nHost: x\r\n\r\n", 400 },
    { "GET http://ok.test/ HTTP/1.2\r\nHost: x\r\n\r\n", 505 },
    { "GET http://ok.test/ HTTP/0.9\r\n\r\n", 505 },
    { "PRI * HTTP/2.0\r\n\r\n", 505 },
    { "G(T http://ok.test/ HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "\x16\x03\x01\x02 x\r\n\r\n", 400 },
    /* line ends */
    { "GET http://ok.test/ HTTP/1.1\nHost: ok.test\n\n", 400 },
    { GET "X: a\nTransfer-Encoding: chunked\r\n\r\n", 400 },
    { GET "X: a\rTransfer-Encoding: chunked\r\n\r\n", 400 },
    { GET "X-Abc:\rxTransfer-Encoding: chunked\r\n\r\n", 400 },
    { GET "X: a\r\r\n\r\n", 400 },
    { GET "X: \x01\r\n\r\n", 400 },
    { GET "X: \x7f\r\n\r\n", 400 },
    { GET "X: \x0b\r\n\r\n", 400 },
    /* headers */
    { GET " Content-Length: 5\r\n\r\n", 400 },
    { GET "X: a\r\n b\r\n\r\n", 400 },
    { GET "X: a\r\n\tb\r\n\r\n", 400 },
    { GET "X : a\r\n\r\n", 400 },
    { GET "X\t: a\r\n\r\n", 400 },
    { GET ": a\r\n\r\n", 400 },
    { GET "X\r\n\r\n", 400 },
    { GET "X Y: a\r\n\r\n", 400 },
    { GET "X(: a\r\n\r\n", 400 },
    { GET "\xc3\xbc: a\r\n\r\n", 400 },
    { "GET http://ok.test/ HTTP/1.1\r\n\r\n", 400 },
    { GET "Host: ok.test\r\n\r\n", 400 },
    { GET "hOST: evil.test\r\n\r\n", 400 },
    { GET "Expect: 200-ok\r\n\r\n", 417 },
    /* bodies: one reading */
    { POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400 },
    { POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400 },
    { POST "Content-Length: 5, 5\r\n\r\n", 400 },
    { POST "Content-Length: +5\r\n\r\n", 400 },
    { POST "Content-Length: -5\r\n\r\n", 400 },
    { POST "Content-Length: 0x5\r\n\r\n", 400 },
    { POST "Content-Length: 05\r\n\r\n", 400 },
    { POST "Content-Length: 5 5\r\n\r\n", 400 },
    { POST "Content-Length:\r\n\r\n", 400 },
    { POST "Content-Length: 9223372036854775808\r\n\r\n", 400 },
    { POST "Content-Length: 99999999999999999999999\r\n\r\n", 400 },
    { POST "Content_Length: 5\r\n\r\n", 400 },
    { POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
    { POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400 },
    { POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
    { POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", 400 },
    { POST "Transfer-Encoding: chunked, chunked\r\n\r\n", 400 },
    { POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 400 },
    { POST "Transfer-Encoding: identity\r\n\r\n", 400 },
    { POST "Transfer-Encoding: xchunked\r\n\r\n", 400 },
    { POST "Transfer-Encoding: chunked;q=1\r\n\r\n", 400 },
    { POST "Transfer-Encoding: \"chunked\"\r\n\r\n", 400 },
    { POST "Transfer-Encoding:\r\n\r\n", 400 },
    { POST "Transfer_Encoding: chunked\r\n\r\n", 400 },
    { POST "Transfer.Encoding: chunked\r\n\r\n", 400 },
    { "POST http://ok.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
    /* not one head */
    { GET, 400 },
    { GET "\r\n" GET "\r\n", 400 },
    { "", 400 },
};

static void everything_with_two_readings_is_refused(void **state)
{
    static struct http1_request r;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct http1_fault fault = { 0, NULL };
        if (http1_parse_request(refused[i].head, strlen(refused[i].head), &r, &fault))
            fail_msg("taken: %s", refused[i].head);
        if (fault.status != refused[i].status || !fault.why)
            fail_msg("%d %s: %s", fault.status, fault.why, refused[i].head);
    }
}

static void a_nul_is_refused(void **state)
{
    static const char head[] = GET "X: a\0b\r\n\r\n";
    static struct http1_request r;
    struct http1_fault fault;

    (void)state;
    assert_false(http1_parse_request(head, sizeof head - 1, &r, &fault));
    assert_int_equal(fault.status, 400);
}

static void framing_and_wishes_are_read(void **state)
{
    static const struct {
        const char *head;
        enum http1_framing framing;
        uint64_t length;
        bool keep_alive, expects;
        enum http1_upgrade upgrade;
    } table[] = {
        { GET "\r\n", HTTP1_NO_BODY, 0, true, false, HTTP1_NO_UPGRADE },
        { POST "Content-Length: 0\r\n\r\n", HTTP1_LENGTH, 0, true, false, HTTP1_NO_UPGRADE },
        { POST "content-length: \t12 \r\nExpect: 100-Continue\r\n\r\n", HTTP1_LENGTH, 12, true,
          true, HTTP1_NO_UPGRADE },
        { POST "Transfer-Encoding: Chunked\r\nConnection: x, close\r\n\r\n", HTTP1_CHUNKED, 0,
          false, false, HTTP1_NO_UPGRADE },
        { GET "Expect: 100-continue\r\n\r\n", HTTP1_NO_BODY, 0, true, false, HTTP1_NO_UPGRADE },
        { GET "Proxy-Connection: close\r\n\r\n", HTTP1_NO_BODY, 0, false, false, HTTP1_NO_UPGRADE },
        { "GET http://a.b/ HTTP/1.0\r\n\r\n", HTTP1_NO_BODY, 0, false, false, HTTP1_NO_UPGRADE },
        { "GET http://a.b/ HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", HTTP1_NO_BODY, 0, true,
          false, HTTP1_NO_UPGRADE },
        { "GET http://a.b/ HTTP/1.0\r\nConnection: close, keep-alive\r\n\r\n", HTTP1_NO_BODY, 0,
          false, false, HTTP1_NO_UPGRADE },
        { GET "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\n", HTTP1_NO_BODY, 0,
          true, false, HTTP1_WEBSOCKET },
        { GET "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n", HTTP1_NO_BODY, 0, true,
          false, HTTP1_OTHER_UPGRADE },
        { GET "Upgrade: websocket\r\n\r\n", HTTP1_NO_BODY, 0, true, false, HTTP1_NO_UPGRADE },
        { "CONNECT a.b:1 HTTP/1.1\r\nContent-Length: 0\r\n\r\n", HTTP1_NO_BODY, 0, true, false,
          HTTP1_NO_UPGRADE },
    };
    static struct http1_request r;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct http1_fault fault;
        if (!http1_parse_request(table[i].head, strlen(table[i].head), &r, &fault))
            fail_msg("row %zu: %s", i, fault.why);
        if (r.message.framing != table[i].framing || r.message.length != table[i].length ||
            r.message.keep_alive != table[i].keep_alive || r.expects_continue != table[i].expects ||
            r.message.upgrade != table[i].upgrade)
            fail_msg("row %zu is read otherwise", i);
    }
}

static void json_is_asked_for_by_accept(void **state)
{
    static struct http1_request r;
    struct http1_fault fault;
    static const char yes[] = GET "Accept: text/html, application/JSON;q=0.9\r\n\r\n";
    static const char no[] = GET "Accept: */*\r\nX: application/json\r\n\r\n";

    (void)state;
    assert_true(http1_parse_request(yes, sizeof yes - 1, &r, &fault) && r.wants_json);
    assert_true(http1_parse_request(no, sizeof no - 1, &r, &fault) && !r.wants_json);
}

/* ---- limits ---- */

static struct http1_fault scan_of(const char *unit, size_t times, bool *ret_done)
{
    struct http1_scan scan = { 0 };
    struct http1_fault fault;
    static const char first[] = "GET http://ok.test/ HTTP/1.1\r\n";

    (void)http1_scan(&scan, first, sizeof first - 1, &fault);
    for (size_t i = 0; i < times && fault.status == 0; i++)
        (void)http1_scan(&scan, unit, strlen(unit), &fault);
    if (fault.status == 0)
        (void)http1_scan(&scan, "\r\n", 2, &fault);
    *ret_done = scan.done;
    return fault;
}

static void heads_are_limited(void **state)
{
    bool done;

    (void)state;
    assert_int_equal(scan_of("X: y\r\n", HTTP1_HEADERS_MAX, &done).status, 0);
    assert_true(done);
    assert_int_equal(scan_of("X: y\r\n", HTTP1_HEADERS_MAX + 1, &done).status, 431);
    assert_int_equal(scan_of("x", 1 << 20, &done).status, 431); /* A119: a header of 1 MB */
    assert_int_equal(scan_of("X: y\r\n", 1 << 20, &done).status, 431);
}

static void a_scan_ends_where_the_head_does(void **state)
{
    static const char bytes[] = GET "\r\nbody\r\n\r\n";
    struct http1_scan scan = { 0 };
    struct http1_fault fault;
    size_t head = sizeof GET - 1 + 2, used = 0;

    (void)state;
    assert_int_equal(http1_scan(&scan, bytes, sizeof bytes - 1, &fault), head);
    assert_true(scan.done);
    assert_int_equal(scan.seen, head);
    scan = (struct http1_scan){ 0 };
    while (!scan.done)
        used += http1_scan(&scan, bytes + used, 1, &fault);
    assert_int_equal(used, head);
}

static void connection_may_not_name_the_world(void **state)
{
    _buf_ struct buf b = { .limit = 65536 };
    static struct http1_request r;
    struct http1_fault fault;

    (void)state;
    (void)buf_puts(&b, GET "Connection: ");
    for (int i = 0; i < 20000; i++)
        (void)buf_puts(&b, "a,");
    (void)buf_puts(&b, "\r\n\r\n");
    assert_false(http1_parse_request(b.data, b.len, &r, &fault));
    assert_int_equal(fault.status, 400);
}

/* ---- what is sent on ---- */

static void check_request_out(const char *head, struct http1_out how, const char *expected)
{
    _buf_ struct buf b = { .limit = 1 << 20 };
    static struct http1_request r;
    struct http1_fault fault;

    if (!http1_parse_request(head, strlen(head), &r, &fault))
        fail_msg("%s: %s", fault.why, head);
    http1_write_request(&b, &r, &how);
    assert_int_equal(b.failed, 0);
    assert_string_equal(b.data, expected);
}

static void requests_are_written_anew(void **state)
{
    static const char head[] =
        "GET http://OK.test:80/a?b HTTP/1.0\r\nhOsT: evil.test\r\nUser-Agent:x \r\n"
        "Connection: close, X-Secret , host\r\nX-Secret: 1\r\nx-secret2: 2\r\nKeep-Alive: 5\r\n"
        "Proxy-Authorization: Basic eA==\r\nProxy_Thing: 1\r\nProxy-Connection: keep-alive\r\n"
        "TE: trailers\r\nTrailer: x\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nAccept: */*\r\n\r\n";

    (void)state;
    check_request_out(head, (struct http1_out){ .keep_alive = true },
                      "GET /a?b HTTP/1.1\r\nHost: ok.test\r\nUser-Agent: x\r\nx-secret2: 2\r\n"
                      "Accept: */*\r\nConnection: keep-alive\r\n\r\n");
    check_request_out("POST http://ok.test:81?x HTTP/1.1\r\nHost: y\r\nContent-Length: 3\r\n\r\n",
                      (struct http1_out){ .framing = HTTP1_LENGTH, .length = 3 },
                      "POST /?x HTTP/1.1\r\nHost: ok.test:81\r\nContent-Length: 3\r\n"
                      "Connection: close\r\n\r\n");
    check_request_out(
        "PUT http://ok.test/ HTTP/1.1\r\nHost: y\r\nTransfer-Encoding: chunked\r\n"
        "Expect: 100-continue\r\n\r\n",
        (struct http1_out){ .framing = HTTP1_CHUNKED, .absolute = true, .extra = "A: b\r\n" },
        "PUT http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nExpect: 100-continue\r\n"
        "Transfer-Encoding: chunked\r\nConnection: close\r\nA: b\r\n\r\n");
    check_request_out("OPTIONS http://[::1] HTTP/1.0\r\n\r\n",
                      (struct http1_out){ .keep_alive = true },
                      "OPTIONS * HTTP/1.1\r\nHost: [::1]\r\nConnection: keep-alive\r\n\r\n");
    check_request_out(GET
                      "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n",
                      (struct http1_out){ .upgrade = true },
                      "GET / HTTP/1.1\r\nHost: ok.test\r\nSec-WebSocket-Key: k\r\n"
                      "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

static void connects_are_read_back(void **state)
{
    _buf_ struct buf b = { .limit = 1 << 16 };
    static struct http1_request r;
    struct http1_fault fault;
    struct host h;

    (void)state;
    assert_int_equal(host_parse("::1", 3, &h), HOST_OK);
    http1_write_connect(&b, &h, 443, "Proxy-Authorization: Basic eA==\r\n");
    assert_string_equal(b.data, "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n"
                                "Proxy-Authorization: Basic eA==\r\n\r\n");
    assert_true(http1_parse_request(b.data, b.len, &r, &fault));
    assert_true(r.is_connect && host_eq(&r.host, &h) && r.port == 443);
}

/* ---- responses ---- */

static void responses_are_framed(void **state)
{
    static const struct {
        const char *head;
        bool to_head;
        int status; /* 0: refused */
        enum http1_framing framing;
        bool keep_alive;
    } table[] = {
        { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false, 200, HTTP1_LENGTH, true },
        { "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n", false, 200, HTTP1_LENGTH, true },
        { "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n", false, 200, HTTP1_CHUNKED, true },
        { "HTTP/1.1 200 OK\r\n\r\n", false, 200, HTTP1_UNTIL_CLOSE, false },
        { "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", false, 200, HTTP1_LENGTH, false },
        { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, 200, HTTP1_NO_BODY, true },
        { "HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n", false, 204, HTTP1_NO_BODY, true },
        { "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", false, 304, HTTP1_NO_BODY, true },
        { "HTTP/1.1 100 Continue\r\n\r\n", false, 100, HTTP1_NO_BODY, true },
        { "HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", false, 101,
          HTTP1_NO_BODY, true },
        { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", false, 0, 0,
          false },
        { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", false, 0, 0, false },
        { "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, 0, 0, false },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", false, 0, 0, false },
        { "HTTP/1.1 200 OK\nContent-Length: 5\n\n", false, 0, 0, false },
        { "HTTP/1.1 20 OK\r\n\r\n", false, 0, 0, false },
        { "HTTP/1.1 2000 OK\r\n\r\n", false, 0, 0, false },
        { "HTTP/1.1 099 OK\r\n\r\n", false, 0, 0, false },
        { "HTTP/1.1 600 OK\r\n\r\n", false, 0, 0, false },
        { "HTTP/1.1  200 OK\r\n\r\n", false, 0, 0, false },
        { "HTTP/2.0 200 OK\r\n\r\n", false, 0, 0, false },
        { "ICY 200 OK\r\n\r\n", false, 0, 0, false },
        { "<html>\r\n\r\n", false, 0, 0, false },
        { "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", false, 0, 0, false },
        { "HTTP/1.1 200 OK\r\nA", false, 0, 0, false },
    };
    static struct http1_response r;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct http1_fault fault = { 0, NULL };
        bool taken = http1_parse_response(table[i].head, strlen(table[i].head), table[i].to_head,
                                          &r, &fault);
        if (taken != (table[i].status != 0))
            fail_msg("row %zu: %s", i, fault.why ? fault.why : "taken");
        if (!taken) {
            assert_int_equal(fault.status, 502);
            continue;
        }
        assert_int_equal(r.status, table[i].status);
        assert_int_equal(r.message.framing, table[i].framing);
        assert_int_equal(r.message.keep_alive, table[i].keep_alive);
    }
}

static void check_response_out(const char *head, bool to_head, struct http1_out how,
                               const char *expected)
{
    _buf_ struct buf b = { .limit = 1 << 20 };
    static struct http1_response r;
    struct http1_fault fault;

    assert_true(http1_parse_response(head, strlen(head), to_head, &r, &fault));
    http1_write_response(&b, &r, &how);
    assert_int_equal(b.failed, 0);
    assert_string_equal(b.data, expected);
}

static void responses_are_written_anew(void **state)
{
    (void)state;
    check_response_out(
        "HTTP/1.0 200 Fine\r\nServer: x\r\nKeep-Alive: 1\r\nConnection: a\r\nA: 1\r\n"
        "Proxy-Authenticate: Basic\r\nContent-Length: 7\r\n\r\n",
        false, (struct http1_out){ .framing = HTTP1_LENGTH, .length = 7, .keep_alive = true },
        "HTTP/1.1 200 Fine\r\nServer: x\r\nContent-Length: 7\r\n"
        "Connection: keep-alive\r\n\r\n");
    check_response_out("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", true,
                       (struct http1_out){ .keep_alive = true },
                       "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: keep-alive\r\n\r\n");
    check_response_out("HTTP/1.1 204\r\nContent-Length: 7\r\n\r\n", false, (struct http1_out){ 0 },
                       "HTTP/1.1 204 \r\nConnection: close\r\n\r\n");
    check_response_out("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", false,
                       (struct http1_out){ .upgrade = true },
                       "HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_split),
        cmocka_unit_test(everything_with_two_readings_is_refused),
        cmocka_unit_test(a_nul_is_refused),
        cmocka_unit_test(framing_and_wishes_are_read),
        cmocka_unit_test(json_is_asked_for_by_accept),
        cmocka_unit_test(heads_are_limited),
        cmocka_unit_test(a_scan_ends_where_the_head_does),
        cmocka_unit_test(connection_may_not_name_the_world),
        cmocka_unit_test(requests_are_written_anew),
        cmocka_unit_test(connects_are_read_back),
        cmocka_unit_test(responses_are_framed),
        cmocka_unit_test(responses_are_written_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
