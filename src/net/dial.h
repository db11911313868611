/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to servers: to addresses that were checked, and to no others; or through a proxy of
 * the host's (HTTP CONNECT, SOCKS5) or a Unix socket that speaks HTTP CONNECT.
 *
 * Of several addresses the next is tried when one fails, or after DIAL_STAGGER without an answer;
 * the first that answers wins. All together have the time that the caller gives.
 */
#ifndef ABX_NET_DIAL_H
#define ABX_NET_DIAL_H

#include "base/addr.h"
#include "base/defs.h"
#include "base/loop.h"
#include "net/host.h"

#define DIAL_MAX_ADDRS 16
#define DIAL_AT_ONCE   3
#define DIAL_STAGGER   (250 * NSEC_PER_MSEC)

enum dial_via {
    DIAL_DIRECT,  /* the addresses are the server's */
    DIAL_CONNECT, /* they are an HTTP proxy's */
    DIAL_SOCKS5,  /* they are a SOCKS proxy's */
    DIAL_PLAIN,   /* they are an HTTP proxy's, which gets a whole request: no handshake */
    DIAL_UNIX,    /* a socket's path, which gets a whole request */
    DIAL_UNIX_CONNECT,
};

struct dial_target {
    enum dial_via via;
    const struct addr *addrs; /* copied; more than DIAL_MAX_ADDRS are cut off */
    size_t addr_count;
    uint16_t port;         /* of the addresses */
    const char *unix_path; /* DIAL_UNIX* */
    /* Whom to ask the proxy for, and as whom ("" or NULL: nobody). */
    const struct host *host;
    uint16_t host_port;
    const char *user, *password;
    int64_t timeout;
};

struct dial;

/*
 * fd >= 0: connected, non-blocking, CLOEXEC, TCP_NODELAY, in no loop; the receiver's now.
 * fd < 0: -errno, or -EPROTO when the proxy refused.
 * The dial is gone already. Never called from dial_start.
 */
typedef void (*dial_done_fn)(void *user, int fd);

/* NULL: no memory. Every other failure comes by `done`. */
struct dial *dial_start(struct loop *loop, const struct dial_target *target, dial_done_fn done,
                        void *user);
void dial_cancel(struct dial *dial); /* NULL is fine */

#endif
