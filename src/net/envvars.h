/* SPDX-License-Identifier: Apache-2.0 */
/* The variables that lead programs to the proxy (proxy_env.def). Pure. */
#ifndef ABX_NET_ENVVARS_H
#define ABX_NET_ENVVARS_H

#include "base/arena.h"
#include "base/defs.h"

/* What ALL_PROXY says: not every client knows every scheme. */
enum envvars_all { ENVVARS_SOCKS5H, ENVVARS_SOCKS5, ENVVARS_HTTP };

struct envvars_ports {
    uint16_t http, socks; /* inside, on 127.0.0.1; 0: there is none */
    enum envvars_all all;
    /*
     * The command that ssh runs to reach a host through the SOCKS port: it is given the proxy's
     * address ("127.0.0.1:1080"), host and port. NULL: git over ssh is not led anywhere. Plain
     * words only: letters, digits, blanks and "/._-+=:,@".
     */
    const char *connect;
};

/* "K=V" texts, sorted, NULL-terminated, in the arena. 0, -EINVAL (connect) or -ENOMEM. */
int envvars_make(const struct envvars_ports *ports, struct arena *arena, const char *const **ret);

#endif
