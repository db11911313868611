/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /etc/hosts and /etc/resolv.conf say, from their text. Pure. Both belong to the host, not to
 * the sandbox; still, lines that make no sense are passed over, and nothing is without a limit.
 */
#ifndef ABX_NET_RESOLVCONF_H
#define ABX_NET_RESOLVCONF_H

#include "base/addr.h"
#include "base/defs.h"
#include "net/host.h"

#define RESOLV_MAX_SERVERS 3
#define RESOLV_MAX_SEARCH  6
#define RESOLV_ZONE_MAX    16 /* with a NUL */
#define HOSTS_MAX_ADDRS    16 /* further ones of the same name are passed over */

struct resolv_server {
    struct addr addr;
    char zone[RESOLV_ZONE_MAX]; /* of fe80::1%eth0; else "" */
};

struct resolv_conf {
    struct resolv_server servers[RESOLV_MAX_SERVERS]; /* none in the file: 127.0.0.1 */
    size_t server_count;
    struct host search[RESOLV_MAX_SEARCH]; /* the last "search" or "domain" line counts */
    size_t search_count;
    unsigned ndots;    /* 1; at most 15 */
    unsigned timeout;  /* seconds: 5; 1 to 30 */
    unsigned attempts; /* 2; 1 to 5 */
    bool use_tcp;
};

void resolv_conf_parse(const char *text, size_t len, struct resolv_conf *ret);
/*
 * The names to ask for in turn, like a stub resolver does it: the n-th candidate for this name, or
 * false behind the last. All but the name itself are names that nobody judged: they lie below the
 * host's own domains, and are for names of a single label, if at all.
 */
bool resolv_candidate(const struct resolv_conf *conf, const struct host *name, size_t n,
                      struct host *ret);

/*
 * The addresses that a hosts file, in small letters, gives to a name, in its order. Returns their
 * count.
 */
size_t hosts_find(const char *text, size_t len, const struct host *name,
                  struct addr addrs[HOSTS_MAX_ADDRS]);
/*
 * The addresses of "localhost" and of all names below it: this host's loopback, whatever a server
 * would say (RFC 6761), also where no hosts file says so. 0 for other names.
 */
size_t hosts_builtin(const struct host *name, struct addr addrs[HOSTS_MAX_ADDRS]);

#endif
