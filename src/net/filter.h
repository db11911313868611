/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the network: who may be talked to. Pure.
 *
 * A filter is made once from lists of patterns and never changes; a new set of rules is a new
 * filter. Patterns are those of the configuration (src/policy/domain.h says them): host, *.host,
 * address, network, each with an optional port.
 *
 * A target is judged in this order; the first that applies decides:
 *   1. the address is blocked (addr_blocked) and no allowed address or network holds it   DENY
 *   2. a denied pattern matches                                                           DENY
 *   3. an allowed pattern matches                                                         ALLOW
 *   4. nothing does                                                                       UNLISTED
 * UNLISTED is for the caller: ask, if there is somebody to ask, else refuse.
 *
 * A connection is judged twice. filter_check_host before anything is resolved; a name that is not
 * allowed must not even be looked up. Then filter_check_addresses with all that the name resolved
 * to: one address that is blocked or denied refuses them all. A pattern with a name never opens a
 * blocked address; only the address or a network listed does.
 */
#ifndef ABX_NET_FILTER_H
#define ABX_NET_FILTER_H

#include "base/addr.h"
#include "base/defs.h"
#include "base/err.h"
#include "net/host.h"

#define FILTER_MAX_RULES 65536 /* of all lists together */

struct filter;

struct filter_pattern {
    const char *text;
    const char *origin; /* where it comes from, for people: "FILE:LINE:COLUMN", "command line" */
};

struct filter_list {
    const struct filter_pattern *patterns;
    size_t count;
};

struct filter_lists {
    struct filter_list allowed, denied;
    struct filter_list mitm; /* hosts that go to the socket of mitmProxy; no addresses */
};

enum filter_decision { FILTER_DENY, FILTER_ALLOW, FILTER_UNLISTED };

#define FILTER_GRANT_MAX (HOST_AUTHORITY_MAX + 16)

struct filter_verdict {
    enum filter_decision decision;
    /* The rule that decided: a pattern and its origin; "blocked" or "default" of "built-in". */
    const char *rule, *origin;
    const char *blocked; /* what kind of address it is, if that decided; else NULL */
    struct addr addr;    /* … and which one */
    char grant
        [FILTER_GRANT_MAX]; /* the smallest grant; "" if none helps, as with a denied pattern */
};

/* Copies all texts. ABX_E_CONFIG names the first pattern that is none. */
int32_t filter_new(const struct filter_lists *lists, struct filter **ret, abx_error **err);
void filter_free(struct filter *f);
void filter_freep(struct filter **f);
#define _filter_ __attribute__((cleanup(filter_freep)))

/* The verdict's texts live as long as the filter. */
void filter_check_host(const struct filter *f, const struct host *host, uint16_t port,
                       struct filter_verdict *ret);
/*
 * The name was allowed; may these be dialled? ALLOW with the first rule that opened a blocked one,
 * or with "resolved"; DENY. Never UNLISTED; no addresses at all are DENY. Also for a literal.
 */
void filter_check_addresses(const struct filter *f, const struct addr *addrs, size_t count,
                            uint16_t port, struct filter_verdict *ret);
/* Does this host go through mitmProxy? Asked after both checks. */
bool filter_routes_to_mitm(const struct filter *f, const struct host *host, uint16_t port);

#endif
