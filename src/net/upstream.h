/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy through which this host reaches the network, from its URL: http://[user:password@]HOST
 * [:PORT] or socks5://… (also socks5h). Pure. With one, names are resolved by it and not here.
 */
#ifndef ABX_NET_UPSTREAM_H
#define ABX_NET_UPSTREAM_H

#include "base/defs.h"
#include "net/host.h"

#define UPSTREAM_AUTH_MAX 256 /* user and password, each with a NUL */

enum upstream_kind { UPSTREAM_NONE, UPSTREAM_HTTP, UPSTREAM_SOCKS5 };

struct upstream {
    enum upstream_kind kind;
    struct host host;
    uint16_t port;
    char user[UPSTREAM_AUTH_MAX], password[UPSTREAM_AUTH_MAX];
};

/* "" and NULL are UPSTREAM_NONE. False: not such a URL. */
bool upstream_parse(const char *url, struct upstream *ret);

#endif
