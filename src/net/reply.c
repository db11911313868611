/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the proxy says.
 *
 * The texts reach people through programs that we do not know: terminals, logs, agents. Names of
 * targets are canonical, patterns and origins come from configurations; still, everything variable
 * goes through str_escape, and the status line gets nothing but printable ASCII, so that no text
 * can end it. What is too long is cut.
 */
#include "net/reply.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

#define PHRASE_MAX 200 /* of the status line */
#define KIND_MAX   32

enum about { TARGET, ITSELF };

static const struct {
    int http;
    enum socks5_code socks;
    enum about about;
    const char *name, *text;
} kinds[] = {
#define REPLY(kind, http, socks, about, text) { http, SOCKS5_##socks, about, #kind, text },
#include "net/reply.def"
#undef REPLY
};

#define REPLY(kind, http, socks, about, text)                                                      \
    _Static_assert(sizeof #kind <= KIND_MAX, "the name of a kind fits");
#include "net/reply.def"
#undef REPLY

enum reply_kind reply_of_verdict(const struct filter_verdict *verdict)
{
    if (verdict->blocked)
        return REPLY_BLOCKED;
    return verdict->decision == FILTER_UNLISTED ? REPLY_UNLISTED : REPLY_DENIED;
}

enum reply_kind reply_of_dial(int neg_errno)
{
    switch (-neg_errno) {
    case ECONNREFUSED:
        return REPLY_DIAL_REFUSED;
    case ENETUNREACH:
        return REPLY_NET_UNREACHABLE;
    case EHOSTUNREACH:
        return REPLY_HOST_UNREACHABLE;
    case ETIMEDOUT:
        return REPLY_DIAL_TIMEOUT;
    default:
        return REPLY_DIAL_FAILED;
    }
}

enum socks5_code reply_socks_code(enum reply_kind kind)
{
    return kinds[kind].socks;
}

static void put_text(struct buf *out, const char *text)
{
    (void)str_escape(out, text, strlen(text));
}

static void put_verdict(struct buf *out, const struct reply *r)
{
    const struct filter_verdict *v = r->verdict;
    char address[ADDR_TEXT_MAX];

    if (r->kind == REPLY_BLOCKED) {
        (void)addr_format(&v->addr, address);
        (void)buf_printf(out, " (%s, %s)", address, v->blocked);
    }
    if (r->kind == REPLY_DENIED) {
        (void)buf_puts(out, " by '");
        put_text(out, v->rule);
        (void)buf_puts(out, "' of ");
        put_text(out, v->origin);
    }
    if (v->grant[0]) {
        (void)buf_puts(out, "; to allow it: ");
        put_text(out, v->grant);
    }
}

void reply_line(struct buf *out, const struct reply *reply)
{
    _buf_ struct buf line = { .limit = REPLY_MAX };

    if (kinds[reply->kind].about == TARGET) {
        put_text(&line, reply->host ? reply->host : "the target");
        (void)buf_putc(&line, ' ');
    }
    (void)buf_puts(&line, kinds[reply->kind].text);
    if (reply->detail) {
        (void)buf_puts(&line, ": ");
        put_text(&line, reply->detail);
    }
    if (reply->verdict)
        put_verdict(&line, reply);
    (void)buf_append(out, line.data ? line.data : "", MIN_OF(line.len, REPLY_LINE_MAX));
}

static void put_json(struct buf *out, const struct reply *r, const char *line)
{
    const struct filter_verdict *v = r->verdict;
    char name[KIND_MAX] = "";
    struct json j;

    json_init(&j, out);
    json_object(&j);
    json_key(&j, "error");
    for (size_t i = 0; i < strlen(kinds[r->kind].name); i++)
        name[i] = ascii_lower(kinds[r->kind].name[i]);
    json_str(&j, name);
    json_pair_str(&j, "message", line);
    json_pair_str(&j, "host", r->host);
    json_pair_str(&j, "rule", v ? v->rule : NULL);
    json_pair_str(&j, "origin", v ? v->origin : NULL);
    json_pair_str(&j, "grant", v && v->grant[0] ? v->grant : NULL);
    json_object_end(&j);
}

static void put_phrase(struct buf *out, const char *line)
{
    for (size_t i = 0; i < PHRASE_MAX && line[i] != '\0'; i++)
        (void)buf_putc(out, line[i] >= ' ' && line[i] <= '~' ? line[i] : '?');
}

void reply_http(struct buf *out, const struct reply *reply, bool json, bool to_head,
                bool keep_alive)
{
    _buf_ struct buf text = { .limit = REPLY_MAX }, body = { .limit = REPLY_MAX };
    const char *line;

    reply_line(&text, reply);
    line = text.data ? text.data : "";
    if (json)
        put_json(&body, reply, line);
    else
        (void)buf_printf(&body, "agentbox: %s", line);
    (void)buf_putc(&body, '\n');
    (void)buf_printf(
        out, "HTTP/1.1 %d agentbox: ", reply->status ? reply->status : kinds[reply->kind].http);
    put_phrase(out, line);
    (void)buf_printf(out,
                     "\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
                     "Connection: %s\r\n\r\n",
                     json ? "application/json" : "text/plain; charset=utf-8", body.len,
                     keep_alive ? "keep-alive" : "close");
    if (!to_head && body.data)
        (void)buf_append(out, body.data, body.len);
}
