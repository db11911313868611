/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of any bytes, as a request and as a response. However they are cut into pieces, a head ends
 * in the same place; what is taken is written anew, and what we write is read back as the same, so
 * that nobody behind us can read it otherwise.
 */
#include <stdlib.h>
#include <string.h>

#include "net/http1.h"

#define FUZZ_MAX 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The length of the head, or 0. */
static size_t scan_in_pieces(const char *bytes, size_t size, size_t piece)
{
    struct http1_scan scan = { 0 };
    struct http1_fault fault = { 0, NULL };
    size_t at = 0;

    while (at < size && !scan.done) {
        size_t n = MIN_OF(piece, size - at);
        size_t used = http1_scan(&scan, bytes + at, n, &fault);
        if (fault.status != 0)
            return 0;
        if (used != n && !scan.done)
            abort();
        at += used;
    }
    if (scan.done && at != scan.seen)
        abort();
    return scan.done ? at : 0;
}

static struct http1_out out_of(const struct http1_message *m)
{
    return (struct http1_out){ .framing = m->framing == HTTP1_UNTIL_CLOSE ? HTTP1_CHUNKED
                                                                          : m->framing,
                               .length = m->length,
                               .keep_alive = m->keep_alive,
                               .upgrade = m->upgrade == HTTP1_WEBSOCKET,
                               .absolute = true };
}

static void same(const struct buf *a, const struct buf *b)
{
    if (a->failed || b->failed || a->len != b->len || memcmp(a->data, b->data, a->len) != 0)
        abort();
}

static void check_request(const char *head, size_t len)
{
    static struct http1_request r, again;
    _buf_ struct buf once = { .limit = 1 << 20 }, twice = { .limit = 1 << 20 };
    struct http1_fault fault = { 0, NULL };
    struct http1_out how;

    if (!http1_parse_request(head, len, &r, &fault)) {
        if (fault.status < 400 || fault.status > 505 || !fault.why)
            abort();
        return;
    }
    if (r.message.framing == HTTP1_UNTIL_CLOSE || r.port == 0)
        abort();
    if (r.is_connect || r.message.header_count > HTTP1_HEADERS_MAX - 4)
        return; /* we add up to four */
    how = out_of(&r.message);
    http1_write_request(&once, &r, &how);
    if (!http1_parse_request(once.data, once.len, &again, &fault))
        abort();
    if (!host_eq(&r.host, &again.host) || r.port != again.port ||
        r.message.framing != again.message.framing || r.message.length != again.message.length ||
        again.message.header_count > r.message.header_count + 4)
        abort();
    how = out_of(&again.message);
    http1_write_request(&twice, &again, &how);
    if (!r.expects_continue) /* it moves to the end */
        same(&once, &twice);
}

static void check_response(const char *head, size_t len, bool to_head)
{
    static struct http1_response r, again;
    _buf_ struct buf once = { .limit = 1 << 20 };
    struct http1_fault fault = { 0, NULL };
    struct http1_out how;

    if (!http1_parse_response(head, len, to_head, &r, &fault)) {
        if (fault.status != 502 || !fault.why)
            abort();
        return;
    }
    if (r.message.header_count > HTTP1_HEADERS_MAX - 4)
        return;
    how = out_of(&r.message);
    http1_write_response(&once, &r, &how);
    if (!http1_parse_response(once.data, once.len, to_head, &again, &fault) ||
        again.status != r.status || again.message.framing != how.framing)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    size_t len;

    if (size > FUZZ_MAX)
        return 0;
    len = scan_in_pieces(bytes, size, FUZZ_MAX);
    if (len != scan_in_pieces(bytes, size, 1) || len != scan_in_pieces(bytes, size, 7))
        abort();
    if (len == 0)
        len = size;
    check_request(bytes, len);
    check_response(bytes, len, false);
    check_response(bytes, len, true);
    return 0;
}
