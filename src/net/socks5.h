/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SOCKS5 (RFC 1928), the server's side: without authentication, CONNECT only. Pure.
 *
 * Both parsers look at all bytes received so far (at most 257 and 262 matter), take nothing until
 * a message is whole, and refuse as soon as they can tell.
 */
#ifndef ABX_NET_SOCKS5_H
#define ABX_NET_SOCKS5_H

#include "base/defs.h"
#include "net/host.h"

#define SOCKS5_GREETING_MAX 257
#define SOCKS5_REQUEST_MAX  262
#define SOCKS5_REPLY_LEN    10
#define SOCKS4_REPLY_LEN    8

enum socks5_step {
    SOCKS5_MORE,      /* not whole yet */
    SOCKS5_OK,        /* *ret_used bytes were the message */
    SOCKS5_NO_METHOD, /* answer 05 ff and close */
    SOCKS5_IS_SOCKS4, /* answer socks4_refusal and close */
    SOCKS5_NOT_SOCKS, /* close */
    SOCKS5_REFUSED,   /* answer socks5_reply(request.code) and close */
};

enum socks5_code {
    SOCKS5_SUCCEEDED = 0,
    SOCKS5_FAILED = 1,
    SOCKS5_NOT_ALLOWED = 2,
    SOCKS5_NET_UNREACHABLE = 3,
    SOCKS5_HOST_UNREACHABLE = 4,
    SOCKS5_CONNECTION_REFUSED = 5,
    SOCKS5_TTL_EXPIRED = 6,
    SOCKS5_BAD_COMMAND = 7,
    SOCKS5_BAD_ADDRESS_TYPE = 8,
};

struct socks5_request {
    struct host host; /* a name that spells an address is that address */
    uint16_t port;
    enum socks5_code code; /* SOCKS5_REFUSED: the reply */
    const char *why;       /* SOCKS5_REFUSED: one phrase, for the record */
};

enum socks5_step socks5_parse_greeting(const uint8_t *bytes, size_t len, size_t *ret_used);
enum socks5_step socks5_parse_request(const uint8_t *bytes, size_t len, size_t *ret_used,
                                      struct socks5_request *ret);

void socks5_method(bool accepted, uint8_t reply[2]);
/* The bound address is always 0.0.0.0:0: the host's own is nobody's business inside. */
void socks5_reply(enum socks5_code code, uint8_t reply[SOCKS5_REPLY_LEN]);
void socks4_refusal(uint8_t reply[SOCKS4_REPLY_LEN]);

#endif
