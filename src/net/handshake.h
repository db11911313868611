/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of HTTP CONNECT and SOCKS5, for a proxy that the host's traffic goes through.
 * Reads exactly the proxy's answer, nothing of what comes behind it.
 */
#ifndef ABX_NET_HANDSHAKE_H
#define ABX_NET_HANDSHAKE_H

#include "base/buf.h"
#include "base/defs.h"
#include "net/host.h"
#include "net/http1.h"

#define HANDSHAKE_MAX 8192 /* of the proxy's answer */

enum handshake_kind { HANDSHAKE_NONE, HANDSHAKE_CONNECT, HANDSHAKE_SOCKS5 };

struct handshake {
    enum handshake_kind kind;
    struct buf out; /* still to be sent, from `sent` on */
    size_t sent;
    struct buf in; /* the answer so far */
    struct http1_scan scan;
    unsigned stage; /* SOCKS5: greeting, password, request */
    size_t want;    /* SOCKS5: bytes of the answer of this stage */
    struct host host;
    uint16_t port;
    char user[256], password[256];
};

/* 0, -ENOMEM, or -EINVAL: user or password is too long. */
int handshake_init(struct handshake *h, enum handshake_kind kind, const struct host *host,
                   uint16_t port, const char *user, const char *password);
void handshake_done(struct handshake *h);
/* Goes as far as the socket lets it. 0: the tunnel stands; -EAGAIN: call again when it is ready;
 * -EPROTO: the proxy refused or spoke nonsense; another -errno of the socket. */
int handshake_go(struct handshake *h, int fd);

/* "Basic …" of "user:password"; 0 or -errno in the buffer. */
void handshake_basic(struct buf *out, const char *user, const char *password);

#endif
