/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.0 and 1.1, as a proxy reads and writes it. Pure.
 *
 * A message has one reading or it is refused; what was understood is written anew, never passed on
 * as it came. How to use it:
 *
 *   1. feed http1_scan with the bytes as they come; they stay in the caller's buffer. It refuses
 *      early and says where the head ends.
 *   2. http1_parse_request or _response on the whole head. The spans point into that buffer.
 *   3. http1_write_request or _response makes the head that is sent on, with the framing that the
 *      caller sends: Host, Content-Length, Transfer-Encoding and Connection are always ours.
 *   4. bodies: exactly `length` bytes, or http1_chunks_next, or (responses) until the end.
 *
 * Faults are an HTTP status and a phrase. For a response of a server, whatever the fault, the
 * client is told 502.
 */
#ifndef ABX_NET_HTTP1_H
#define ABX_NET_HTTP1_H

#include "base/buf.h"
#include "base/defs.h"
#include "net/host.h"
#include "net/span.h"

#define HTTP1_HEAD_MAX       65536 /* with the empty line */
#define HTTP1_HEADERS_MAX    100
#define HTTP1_METHOD_MAX     32
#define HTTP1_CONNECTION_MAX 64   /* words in Connection */
#define HTTP1_CHUNK_LINE     256  /* a chunk's size and its extensions */
#define HTTP1_TRAILERS_MAX   8192 /* bytes */
#define HTTP1_CHUNK_HEAD     20   /* what http1_chunk_head writes at most, with a NUL */

struct http1_fault {
    int status;      /* 0: none */
    const char *why; /* one phrase, a constant */
};

/* ---- 1. where the head ends ---- */

struct http1_scan {
    size_t seen;    /* bytes of the head so far; when done, its length */
    unsigned lines; /* complete ones */
    bool done;
    bool after_cr, line_begun; /* internal; zeroed is right */
};

/*
 * The next bytes of the head. Returns how many belong to it: all of them, or, when it becomes
 * `done`, those up to and with the empty line. A NUL, a bare CR or LF, an empty first line and a
 * folded line are 400; too many bytes or lines 431.
 */
size_t http1_scan(struct http1_scan *scan, const char *bytes, size_t len,
                  struct http1_fault *ret_fault);

/* ---- 2. heads ---- */

struct http1_header {
    struct span name, value;
};

enum http1_framing {
    HTTP1_NO_BODY,
    HTTP1_LENGTH,
    HTTP1_CHUNKED,
    HTTP1_UNTIL_CLOSE, /* responses only */
};

enum http1_upgrade { HTTP1_NO_UPGRADE, HTTP1_WEBSOCKET, HTTP1_OTHER_UPGRADE };

/* What requests and responses share. */
struct http1_message {
    struct http1_header headers[HTTP1_HEADERS_MAX];
    size_t header_count;
    unsigned minor; /* HTTP/1.minor: 0 or 1 */
    enum http1_framing framing;
    uint64_t length; /* HTTP1_LENGTH */
    bool keep_alive; /* the sender wants, or for 1.1 does not mind, another message */
    bool has_length; /* a Content-Length was there, also where there is no body (HEAD, 304) */
    enum http1_upgrade upgrade;
};

struct http1_request {
    struct http1_message message;
    struct span method;
    bool is_connect, is_head;
    struct host host; /* the target's; the Host header is not believed */
    uint16_t port;
    struct span path; /* with the query; "" stands for "/", "?…" for "/?…" */
    bool expects_continue;
    bool wants_json; /* Accept names application/json */
};

struct http1_response {
    struct http1_message message;
    int status;
    struct span reason; /* may be empty */
};

/*
 * CONNECT with an authority (port 443 if none), or any other method but TRACE with an absolute
 * http:// target. Origin form is 400: this is a proxy. https:// is 400: CONNECT is for that.
 */
bool http1_parse_request(const char *head, size_t len, struct http1_request *ret,
                         struct http1_fault *ret_fault);
/* The answer to a request: to_head tells that there is no body whatever the headers say. */
bool http1_parse_response(const char *head, size_t len, bool to_head, struct http1_response *ret,
                          struct http1_fault *ret_fault);

/* ---- 3. heads that are sent on ---- */

struct http1_out {
    enum http1_framing framing; /* how the caller sends the body */
    uint64_t length;
    bool keep_alive;   /* may the receiver expect another message on this connection */
    bool upgrade;      /* pass Upgrade: websocket on; only where message.upgrade says so */
    bool absolute;     /* requests: absolute form, for an upstream proxy */
    const char *extra; /* whole header lines of ours ("Name: value\r\n"), or NULL */
};

/*
 * Appends the head. Always HTTP/1.1. Headers of one hop (Connection and all that it names,
 * Keep-Alive, Proxy-*, TE, Trailer, Upgrade, …; hop_headers.def) stay behind. Content-Length of a
 * message without a body is passed on only where it tells something (HEAD, 304).
 */
void http1_write_request(struct buf *out, const struct http1_request *request,
                         const struct http1_out *how);
/* CONNECT to an upstream proxy, or to the socket of mitmProxy; extra as above. */
void http1_write_connect(struct buf *out, const struct host *host, uint16_t port,
                         const char *extra);
void http1_write_response(struct buf *out, const struct http1_response *response,
                          const struct http1_out *how);

/* ---- 4. chunked bodies ---- */

enum http1_chunks_step {
    HTTP1_CHUNKS_MORE, /* all bytes were used, more are needed */
    HTTP1_CHUNKS_DATA, /* *ret_data is the next piece of the body */
    HTTP1_CHUNKS_END,  /* the body and its trailers are over; what follows is another message */
    HTTP1_CHUNKS_BAD,  /* 400, or 502: close */
};

struct http1_chunks { /* zeroed to begin with */
    unsigned state;
    uint64_t left;             /* of the chunk */
    unsigned digits, line_len; /* of a chunk's first line */
    size_t trailer_bytes;
    unsigned trailer_lines;
};

/*
 * Takes bytes until there is something to tell; *ret_used of them were used. Call it again with the
 * rest after DATA. Extensions and trailers are checked and dropped.
 */
enum http1_chunks_step http1_chunks_next(struct http1_chunks *chunks, const char *bytes, size_t len,
                                         size_t *ret_used, struct span *ret_data);
/* The line in front of a chunk of so many bytes; "\r\n" follows it, "0\r\n\r\n" the last one. */
size_t http1_chunk_head(size_t len, char head[HTTP1_CHUNK_HEAD]);

#endif
