/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of HTTP/1 messages: where they end and what they say.
 *
 * Requests come from the sandbox, responses from the world; both lie. A message that two programs
 * could read in two ways is refused here, so that nobody behind us sees another message than the
 * one that was judged ("smuggling"). Refused are:
 *
 *   lines that do not end in CR LF, NUL and other control bytes, empty lines before the first one;
 *   folded lines, blanks around a header's name, names that are no tokens;
 *   Content-Length twice, as a list, with a sign or zeros in front; together with
 *   Transfer-Encoding; Transfer-Encoding twice, in HTTP/1.0, or other than exactly "chunked";
 *   names that some back end folds into one of these or into Host (Content_Length);
 *   two Hosts, or none in HTTP/1.1; a body behind CONNECT; TRACE.
 *
 * Values of headers may hold bytes above 127: they mean nothing here and are passed on.
 */
#include "net/http1.h"

#include <string.h>

static bool fail(struct http1_fault *fault, int status, const char *why)
{
    *fault = (struct http1_fault){ status, why };
    return false;
}

/* ---- where the head ends ---- */

/* One byte more; false if it cannot be. */
static bool scan_byte(struct http1_scan *scan, char c, struct http1_fault *fault)
{
    if (scan->after_cr) {
        if (c != '\n')
            return fail(fault, 400, "a CR without its LF");
        scan->after_cr = false;
        if (!scan->line_begun) {
            if (scan->lines == 0)
                return fail(fault, 400, "an empty line before the first");
            scan->done = true;
            return true;
        }
        scan->line_begun = false;
        if (++scan->lines > HTTP1_HEADERS_MAX + 1)
            return fail(fault, 431, "too many headers");
        return true;
    }
    if (c == '\r') {
        scan->after_cr = true;
        return true;
    }
    if (c == '\n')
        return fail(fault, 400, "an LF without its CR");
    if (((unsigned char)c < ' ' && c != '\t') || c == 0x7f)
        return fail(fault, 400, "a control character");
    if (!scan->line_begun && (c == ' ' || c == '\t'))
        return fail(fault, 400, "a line that begins with a blank");
    scan->line_begun = true;
    return true;
}

size_t http1_scan(struct http1_scan *scan, const char *bytes, size_t len,
                  struct http1_fault *ret_fault)
{
    size_t i = 0;

    *ret_fault = (struct http1_fault){ 0, NULL };
    while (i < len && !scan->done) {
        if (scan->seen == HTTP1_HEAD_MAX) {
            (void)fail(ret_fault, 431, "the head is too long");
            return i;
        }
        if (!scan_byte(scan, bytes[i], ret_fault))
            return i;
        scan->seen++;
        i++;
    }
    return i;
}

/* ---- lines ---- */

/* The next line of a scanned head, without its end; false at the empty one. */
static bool next_line(struct span *rest, struct span *ret)
{
    if (!span_next(rest, '\n', ret) || ret->len <= 1)
        return false;
    ret->len--;
    return true;
}

/* The head must be one whole scan: all else relies on that. */
static bool check_scanned(const char *head, size_t len, struct http1_fault *fault)
{
    struct http1_scan scan = { 0 };

    if (http1_scan(&scan, head, len, fault) == len && scan.done)
        return true;
    return fault->status != 0 ? false : fail(fault, 400, "not one whole head");
}

static bool parse_header(struct span line, struct http1_header *ret, struct http1_fault *fault)
{
    struct span name;

    if (!memchr(line.at, ':', line.len))
        return fail(fault, 400, "a header without a colon");
    if (!span_next(&line, ':', &name) || name.len == 0)
        return fail(fault, 400, "a header without a name");
    for (size_t i = 0; i < name.len; i++)
        if (!ascii_is_token(name.at[i]))
            return fail(fault, 400, "a header's name with characters that no name has");
    *ret = (struct http1_header){ name, span_trim(line) };
    return true;
}

static bool parse_headers(struct span rest, struct http1_message *m, struct http1_fault *fault)
{
    struct span line;

    m->header_count = 0;
    while (next_line(&rest, &line)) {
        if (m->header_count == HTTP1_HEADERS_MAX)
            return fail(fault, 431, "too many headers");
        if (!parse_header(line, &m->headers[m->header_count], fault))
            return false;
        m->header_count++;
    }
    return true;
}

/* The first header of this name, or NULL. */
static const struct http1_header *find(const struct http1_message *message, const char *name)
{
    for (size_t i = 0; i < message->header_count; i++)
        if (span_eq_nocase(message->headers[i].name, name))
            return &message->headers[i];
    return NULL;
}

/* The only header of this name; *ret is NULL if there is none. Small letters. */
static bool find_only(const struct http1_message *m, const char *name,
                      const struct http1_header **ret, struct http1_fault *fault)
{
    *ret = NULL;
    for (size_t i = 0; i < m->header_count; i++) {
        if (!span_eq_folded(m->headers[i].name, name))
            continue;
        if (!span_eq_nocase(m->headers[i].name, name))
            return fail(fault, 400, "a header's name that is nearly Host or a length");
        if (*ret)
            return fail(fault, 400, "a header twice that stands once");
        *ret = &m->headers[i];
    }
    return true;
}

/* Is the word in a list of all headers of this name? Blanks and parameters do not matter. */
static bool list_has(const struct http1_message *m, const char *name, const char *word)
{
    for (size_t i = 0; i < m->header_count; i++) {
        struct span list = m->headers[i].value, item, value;
        if (!span_eq_nocase(m->headers[i].name, name))
            continue;
        while (span_next(&list, ',', &item))
            if (span_next(&item, ';', &value) && span_eq_nocase(span_trim(value), word))
                return true;
    }
    return false;
}

/* ---- framing ---- */

/* What the headers say about the body: HTTP1_NO_BODY if nothing. */
static bool parse_framing(struct http1_message *m, struct http1_fault *fault)
{
    const struct http1_header *length, *encoding;

    if (!find_only(m, "content-length", &length, fault) ||
        !find_only(m, "transfer-encoding", &encoding, fault))
        return false;
    m->framing = HTTP1_NO_BODY;
    if (encoding) {
        if (length)
            return fail(fault, 400, "Content-Length and Transfer-Encoding");
        if (m->minor == 0)
            return fail(fault, 400, "Transfer-Encoding in HTTP/1.0");
        if (!span_eq_nocase(encoding->value, "chunked"))
            return fail(fault, 400, "a Transfer-Encoding other than chunked");
        m->framing = HTTP1_CHUNKED;
    }
    if (length) {
        if (!span_to_u64(length->value, INT64_MAX, &m->length))
            return fail(fault, 400, "a Content-Length that is no number");
        m->framing = HTTP1_LENGTH;
        m->has_length = true;
    }
    return true;
}

/* Every header is compared with every word of Connection, so there may not be many. */
static bool check_connection(const struct http1_message *m, struct http1_fault *fault)
{
    unsigned words = 0;

    for (size_t i = 0; i < m->header_count; i++) {
        struct span list = m->headers[i].value, word;
        if (!span_eq_nocase(m->headers[i].name, "connection"))
            continue;
        while (span_next(&list, ',', &word))
            if (++words > HTTP1_CONNECTION_MAX)
                return fail(fault, 400, "Connection names too many headers");
    }
    return true;
}

static bool parse_connection(struct http1_message *m, struct http1_fault *fault)
{
    const struct http1_header *upgrade = find(m, "upgrade");
    bool close = list_has(m, "connection", "close") || list_has(m, "proxy-connection", "close");
    bool keep = list_has(m, "connection", "keep-alive") ||
                list_has(m, "proxy-connection", "keep-alive");

    if (!check_connection(m, fault))
        return false;
    m->keep_alive = !close && (m->minor == 1 || keep);
    m->upgrade = HTTP1_NO_UPGRADE;
    if (upgrade && m->minor == 1 && list_has(m, "connection", "upgrade"))
        m->upgrade = span_eq_nocase(upgrade->value, "websocket") ? HTTP1_WEBSOCKET
                                                                 : HTTP1_OTHER_UPGRADE;
    return true;
}

/* "HTTP/1.0" or "HTTP/1.1". */
static bool parse_version(struct span text, unsigned *ret_minor, struct http1_fault *fault)
{
    if (text.len != 8 || memcmp(text.at, "HTTP/", 5) != 0 || !ascii_is_digit(text.at[5]) ||
        text.at[6] != '.' || !ascii_is_digit(text.at[7]))
        return fail(fault, 400, "the first line is not HTTP");
    if (text.at[5] != '1' || text.at[7] > '1')
        return fail(fault, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    *ret_minor = (unsigned)(text.at[7] - '0');
    return true;
}

/* ---- requests ---- */

static bool set_target(struct span authority, uint16_t default_port, struct http1_request *r,
                       struct http1_fault *fault)
{
    enum host_fault wrong = host_parse_authority(authority.at, authority.len, default_port,
                                                 &r->host, &r->port);

    return wrong == HOST_OK ? true : fail(fault, 400, host_fault_text(wrong));
}

/* http://authority[/path][?query]; "http" in any case. */
static bool parse_absolute(struct span target, struct http1_request *r, struct http1_fault *fault)
{
    static const char scheme[] = "http://";
    struct span front = { target.at, MIN_OF(target.len, sizeof scheme - 1) };
    size_t end;

    if (!span_eq_nocase(front, scheme)) {
        front.len = MIN_OF(target.len, sizeof "https://" - 1);
        if (span_eq_nocase(front, "https://"))
            return fail(fault, 400, "https goes through CONNECT");
        if (target.len > 0 && (target.at[0] == '/' || target.at[0] == '*'))
            return fail(fault, 400, "this is a proxy: the target needs its http:// and host");
        return fail(fault, 400, "the target is not an http:// address");
    }
    target.at += sizeof scheme - 1;
    target.len -= sizeof scheme - 1;
    for (end = 0; end < target.len && target.at[end] != '/' && target.at[end] != '?'; end++)
        if (target.at[end] == '@')
            return fail(fault, 400, "a user's name in the target");
    r->path = (struct span){ target.at + end, target.len - end };
    return set_target((struct span){ target.at, end }, 80, r, fault);
}

static bool parse_request_line(struct span line, struct http1_request *r, struct http1_fault *fault)
{
    struct span target;

    if (!span_next(&line, ' ', &r->method) || !span_next(&line, ' ', &target))
        return fail(fault, 400, "the first line is not HTTP");
    if (r->method.len == 0 || r->method.len > HTTP1_METHOD_MAX)
        return fail(fault, 400, "not a method");
    for (size_t i = 0; i < r->method.len; i++)
        if (!ascii_is_token(r->method.at[i]))
            return fail(fault, 400, "not a method");
    if (!parse_version(line, &r->message.minor, fault))
        return false;
    for (size_t i = 0; i < target.len; i++)
        if ((unsigned char)target.at[i] <= ' ' || (unsigned char)target.at[i] >= 0x7f ||
            target.at[i] == '#')
            return fail(fault, 400, "the target has characters that no target has");
    if (span_eq(r->method, "TRACE"))
        return fail(fault, 405, "TRACE is not passed on");
    r->is_connect = span_eq(r->method, "CONNECT");
    r->is_head = span_eq(r->method, "HEAD");
    if (r->is_connect)
        return set_target(target, 443, r, fault);
    return parse_absolute(target, r, fault);
}

static bool check_request_headers(struct http1_request *r, struct http1_fault *fault)
{
    const struct http1_message *m = &r->message;
    const struct http1_header *host, *expect;

    if (!find_only(m, "host", &host, fault) || !find_only(m, "expect", &expect, fault))
        return false;
    if (!host && m->minor == 1 && !r->is_connect)
        return fail(fault, 400, "no Host");
    if (expect && !span_eq_nocase(expect->value, "100-continue"))
        return fail(fault, 417, "an expectation other than 100-continue");
    r->expects_continue = expect && m->minor == 1 && m->framing != HTTP1_NO_BODY;
    r->wants_json = list_has(m, "accept", "application/json");
    if (r->is_connect && m->framing != HTTP1_NO_BODY &&
        (m->framing != HTTP1_LENGTH || m->length > 0))
        return fail(fault, 400, "CONNECT with a body");
    return true;
}

bool http1_parse_request(const char *head, size_t len, struct http1_request *ret,
                         struct http1_fault *ret_fault)
{
    struct span rest = { head, len }, line;

    memset(ret, 0, sizeof *ret);
    if (!check_scanned(head, len, ret_fault) || !next_line(&rest, &line))
        return false;
    if (!parse_request_line(line, ret, ret_fault) ||
        !parse_headers(rest, &ret->message, ret_fault) ||
        !parse_framing(&ret->message, ret_fault) || !check_request_headers(ret, ret_fault) ||
        !parse_connection(&ret->message, ret_fault))
        return false;
    if (ret->is_connect)
        ret->message.framing = HTTP1_NO_BODY;
    return true;
}

/* ---- responses ---- */

static bool parse_status_line(struct span line, struct http1_response *r, struct http1_fault *fault)
{
    struct span version, status;
    uint64_t code = 0;

    if (!span_next(&line, ' ', &version) || !parse_version(version, &r->message.minor, fault) ||
        !span_next(&line, ' ', &status))
        return fail(fault, 502, "the first line is not HTTP");
    if (status.len != 3 || !span_to_u64(status, 599, &code) || code < 100)
        return fail(fault, 502, "not a status");
    r->status = (int)code;
    r->reason = line;
    return true;
}

bool http1_parse_response(const char *head, size_t len, bool to_head, struct http1_response *ret,
                          struct http1_fault *ret_fault)
{
    struct span rest = { head, len }, line;
    struct http1_message *m = &ret->message;

    memset(ret, 0, sizeof *ret);
    if (!check_scanned(head, len, ret_fault) || !next_line(&rest, &line) ||
        !parse_status_line(line, ret, ret_fault) || !parse_headers(rest, m, ret_fault) ||
        !parse_framing(m, ret_fault) || !parse_connection(m, ret_fault)) {
        ret_fault->status = 502;
        return false;
    }
    if (to_head || ret->status < 200 || ret->status == 204 || ret->status == 304) {
        m->framing = HTTP1_NO_BODY;
    } else if (m->framing == HTTP1_NO_BODY) {
        m->framing = HTTP1_UNTIL_CLOSE;
        m->keep_alive = false;
    }
    return true;
}
