/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the proxy itself says to a client: why something does not happen, and what to do. Pure.
 * One table (reply.def) maps each kind of failure to an HTTP status and a SOCKS code.
 */
#ifndef ABX_NET_REPLY_H
#define ABX_NET_REPLY_H

#include "base/buf.h"
#include "base/defs.h"
#include "net/filter.h"
#include "net/http1.h"
#include "net/socks5.h"

#define REPLY_LINE_MAX 512  /* of the plain-text line */
#define REPLY_MAX      4096 /* a whole reply */

enum reply_kind {
#define REPLY(kind, http, socks, about, text) REPLY_##kind,
#include "net/reply.def"
#undef REPLY
};

struct reply {
    enum reply_kind kind;
    int status;         /* instead of the table's, if not 0: http1_fault.status */
    const char *detail; /* more than the table's text: a fault's phrase, an errno's text; or NULL */
    const char *host;   /* canonical "host:port" of the target, or NULL */
    const struct filter_verdict *verdict; /* for BLOCKED, DENIED and UNLISTED; else NULL */
};

/* Which kind a refusal by the filter is: REPLY_BLOCKED, REPLY_DENIED or REPLY_UNLISTED. */
enum reply_kind reply_of_verdict(const struct filter_verdict *verdict);
/* Which kind a failed dial is: -errno of connect. */
enum reply_kind reply_of_dial(int neg_errno);

enum socks5_code reply_socks_code(enum reply_kind kind);
/*
 * "example.com:443 is not allowed; to allow it: --allow-domain example.com:443". One line without
 * its end, printable, at most REPLY_LINE_MAX bytes. For records too.
 */
void reply_line(struct buf *out, const struct reply *reply);
/* A whole response. The line is in its first line too: that is all that many clients show. */
void reply_http(struct buf *out, const struct reply *reply, bool json, bool to_head,
                bool keep_alive);

#endif
