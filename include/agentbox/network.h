/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libagentbox: the parts of its network that are of use without a sandbox. Comes with agentbox.h,
 * whose rules hold here, too; runs need none of it.
 */
#ifndef AGENTBOX_NETWORK_H
#define AGENTBOX_NETWORK_H

#include <agentbox/agentbox.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the filtering proxy on its own ---- */

/*
 * HTTP and SOCKS5 on the same port, by the keys network.* of a configuration: what is not allowed
 * is answered with the reason. It runs in a process of its own that can do nothing but talk over
 * sockets, and ends with the abx_proxy that it belongs to.
 */
typedef struct abx_proxy abx_proxy;

#define ABX_PROXY_TELL_ALLOWED 1u /* records also for what is let through */

typedef struct abx_proxy_options {
    uint32_t size; /* sizeof(abx_proxy_options) of the caller */
    uint32_t flags;
    const char *program;     /* the agentbox program; NULL: the installed one */
    const char *hosts_file;  /* NULL: /etc/hosts */
    const char *resolv_file; /* NULL: /etc/resolv.conf */
    int32_t dns_port;        /* 0: 53 */
    /* A decision, as one JSON object. */
    void (*record)(void *user, const char *json);
    /*
     * What no rule mentions; NULL: refused. Answer with abx_proxy_answer, at once or later; silence
     * for a minute is a no.
     */
    void (*ask)(void *user, uint32_t question, const char *host, int32_t port);
    void *user;
} abx_proxy_options;

/*
 * A project's file that was not accepted (abx_config_trust) may only deny. config NULL: everything
 * is refused. A network.mode of "blocked" is an error; by an update, everything is refused then.
 */
ABX_API int32_t abx_proxy_new(const abx_config *config, const abx_proxy_options *options,
                              abx_proxy **ret_proxy, abx_error **err);
/* address is "127.0.0.1:0", "[::1]:3128", …; port 0: any. */
ABX_API int32_t abx_proxy_listen(abx_proxy *proxy, const char *address, int32_t *ret_port,
                                 abx_error **err);
/* Other rules; open connections that they do not allow are closed. */
ABX_API int32_t abx_proxy_update(abx_proxy *proxy, const abx_config *config, abx_error **err);
/* May be called by the callback. */
ABX_API int32_t abx_proxy_answer(abx_proxy *proxy, uint32_t question, int32_t answer,
                                 abx_error **err);
/* Readable when abx_proxy_dispatch has work: callbacks are called from it, and from other calls. */
ABX_API int32_t abx_proxy_fd(const abx_proxy *proxy);
ABX_API int32_t abx_proxy_dispatch(abx_proxy *proxy, int32_t timeout_ms, abx_error **err);
/* What is going on has timeout_ms to end; then it is cut off. */
ABX_API int32_t abx_proxy_close(abx_proxy *proxy, int32_t timeout_ms, abx_error **err);
ABX_API void abx_proxy_free(abx_proxy *proxy); /* at once */

/* ---- the network's rules, asked by hand ---- */

#define ABX_FILTER_DENY     0
#define ABX_FILTER_ALLOW    1
#define ABX_FILTER_UNLISTED 2 /* no rule mentions it: asked about, or refused */

/*
 * What the rules of a configuration (network.*) say of a host, before it is resolved: a name that
 * is allowed may still lead to an address that is not. ret_json, if not NULL, has host (canonical),
 * port, decision, rule, origin and the smallest grant.
 */
ABX_API int32_t abx_filter_check(const abx_config *config, const char *host, int32_t port,
                                 int32_t *ret_decision, char **ret_json, abx_error **err);
/* Is it a pattern for network.allowedDomains? ABX_E_CONFIG says why not. */
ABX_API int32_t abx_domain_pattern_validate(const char *pattern, abx_error **err);
/*
 * The variables that lead programs to a proxy on these ports of 127.0.0.1 (0: there is none), as
 * "NAME=value", NULL-terminated; one block, the caller's: abx_free. all_proxy is "socks5h" (NULL,
 * too), "socks5" or "http": what ALL_PROXY says.
 */
ABX_API int32_t abx_proxy_env(int32_t http_port, int32_t socks_port, const char *all_proxy,
                              char ***ret_env, abx_error **err);

/* ---- bridges: a Unix socket that leads to a TCP address ---- */

/*
 * Clients of SOCKET_DIR/LABEL.sock, which only this user can open, get connections to the target.
 * Bytes go both ways unread; an end is passed on by itself. It works in a thread of its own.
 */
typedef struct abx_bridge abx_bridge;
typedef struct abx_bridge_pair abx_bridge_pair;

typedef struct abx_bridge_options {
    uint32_t size;           /* sizeof(abx_bridge_options) of the caller */
    int32_t max_connections; /* 0: 100; who comes beyond that waits */
    int32_t dial_timeout_ms; /* 0: five seconds */
    const char *socket_dir;  /* exists */
    const char *target;      /* "127.0.0.1:8080", "[::1]:8080", "localhost:8080" */
    const char *label;       /* NULL: "bridge" */
} abx_bridge_options;

ABX_API int32_t abx_bridge_new(const abx_bridge_options *options, abx_bridge **ret_bridge,
                               abx_error **err);
ABX_API const char *abx_bridge_path(const abx_bridge *bridge); /* the socket's */
/* Once. A socket that is in the way is removed, anything else is not. */
ABX_API int32_t abx_bridge_start(abx_bridge *bridge, abx_error **err);
/*
 * Accepts no more; what is open has timeout_ms (negative: all the time) to end, then it is closed.
 * The socket is removed. Any thread may call it, several at once; before a start it does nothing
 * but prevent one.
 */
ABX_API int32_t abx_bridge_shutdown(abx_bridge *bridge, int32_t timeout_ms, abx_error **err);
ABX_API void abx_bridge_free(abx_bridge *bridge); /* at once */

/* Two: http-proxy.sock and socks-proxy.sock. They start together or not at all. */
ABX_API int32_t abx_bridge_pair_new(const char *socket_dir, const char *http_target,
                                    const char *socks_target, abx_bridge_pair **ret_pair,
                                    abx_error **err);
ABX_API const abx_bridge *abx_bridge_pair_http(const abx_bridge_pair *pair);
ABX_API const abx_bridge *abx_bridge_pair_socks(const abx_bridge_pair *pair);
ABX_API int32_t abx_bridge_pair_start(abx_bridge_pair *pair, abx_error **err);
ABX_API void abx_bridge_pair_shutdown(abx_bridge_pair *pair, int32_t timeout_ms); /* both at once */
ABX_API void abx_bridge_pair_free(abx_bridge_pair *pair);

#ifdef __cplusplus
}
#endif

#endif
