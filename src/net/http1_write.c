/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of HTTP/1 messages that are sent on.
 *
 * They are written from what was parsed: first line, Host, framing and Connection are ours, one way
 * for each; of the headers those that are for the other end are copied, "Name: value". The sender
 * names further headers of this hop in Connection; they stay behind as well. What we write
 * ourselves cannot be talked away by that.
 */
#include "net/http1.h"

#include <inttypes.h>
#include <string.h>

static bool is_hop_header(struct span name)
{
    static const char *const names[] = {
#define HOP_HEADER(name) name,
#include "net/hop_headers.def"
#undef HOP_HEADER
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (span_eq_folded(name, names[i]))
            return true;
    return name.len > 6 && span_eq_folded((struct span){ name.at, 6 }, "proxy-");
}

static bool same_name(struct span a, struct span b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (ascii_lower(a.at[i]) != ascii_lower(b.at[i]))
            return false;
    return true;
}

static bool is_named_by_connection(const struct http1_message *m, struct span name)
{
    for (size_t i = 0; i < m->header_count; i++) {
        struct span list = m->headers[i].value, item;
        if (!span_eq_nocase(m->headers[i].name, "connection"))
            continue;
        while (span_next(&list, ',', &item))
            if (same_name(span_trim(item), name))
                return true;
    }
    return false;
}

static void put(struct buf *out, struct span s)
{
    (void)buf_append(out, s.at, s.len);
}

static void put_header(struct buf *out, struct span name, struct span value)
{
    put(out, name);
    (void)buf_append(out, ": ", 2);
    put(out, value);
    (void)buf_append(out, "\r\n", 2);
}

static void put_headers(struct buf *out, const struct http1_message *m)
{
    for (size_t i = 0; i < m->header_count; i++) {
        struct span name = m->headers[i].name;
        if (!is_hop_header(name) && !is_named_by_connection(m, name))
            put_header(out, name, m->headers[i].value);
    }
}

static void put_end(struct buf *out, const struct http1_message *m, const struct http1_out *how,
                    bool tell_length)
{
    if (how->framing == HTTP1_LENGTH)
        (void)buf_printf(out, "Content-Length: %" PRIu64 "\r\n", how->length);
    else if (how->framing == HTTP1_CHUNKED)
        (void)buf_puts(out, "Transfer-Encoding: chunked\r\n");
    else if (tell_length && m->has_length)
        (void)buf_printf(out, "Content-Length: %" PRIu64 "\r\n", m->length);
    if (how->upgrade && m->upgrade == HTTP1_WEBSOCKET)
        (void)buf_puts(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    else
        (void)buf_puts(out,
                       how->keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n");
    if (how->extra)
        (void)buf_puts(out, how->extra);
    (void)buf_puts(out, "\r\n");
}

void http1_write_request(struct buf *out, const struct http1_request *request,
                         const struct http1_out *how)
{
    char authority[HOST_AUTHORITY_MAX];
    struct span host = { authority, 0 };

    host.len = host_format(&request->host, request->port == 80 ? 0 : request->port, authority);
    put(out, request->method);
    (void)buf_putc(out, ' ');
    if (how->absolute) {
        (void)buf_puts(out, "http://");
        put(out, host);
    }
    if (request->path.len == 0 && span_eq(request->method, "OPTIONS"))
        (void)buf_puts(out, how->absolute ? "" : "*"); /* about the server as a whole */
    else if (request->path.len == 0 || request->path.at[0] != '/')
        (void)buf_putc(out, '/');
    put(out, request->path);
    (void)buf_puts(out, " HTTP/1.1\r\n");
    put_header(out, SPAN("Host"), host);
    put_headers(out, &request->message);
    if (request->expects_continue && how->framing != HTTP1_NO_BODY)
        (void)buf_puts(out, "Expect: 100-continue\r\n");
    put_end(out, &request->message, how, false);
}

void http1_write_connect(struct buf *out, const struct host *host, uint16_t port, const char *extra)
{
    char authority[HOST_AUTHORITY_MAX];

    (void)host_format(host, port, authority);
    (void)buf_printf(out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", authority, authority,
                     extra ? extra : "");
}

void http1_write_response(struct buf *out, const struct http1_response *response,
                          const struct http1_out *how)
{
    bool tell_length = response->status >= 200 && response->status != 204;

    (void)buf_printf(out, "HTTP/1.1 %d ", response->status);
    put(out, response->reason);
    (void)buf_puts(out, "\r\n");
    put_headers(out, &response->message);
    put_end(out, &response->message, how, tell_length);
}
