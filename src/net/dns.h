/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS messages (RFC 1035, 6891): the question we send, and what an answer to it says. Pure.
 *
 * An answer is read as hostile. It must be for the question asked, its id included; aliases (CNAME)
 * are followed from the name asked, and addresses count only at the end of that chain. Names are
 * unpacked with pointers that go backwards only.
 */
#ifndef ABX_NET_DNS_H
#define ABX_NET_DNS_H

#include "base/addr.h"
#include "base/defs.h"
#include "net/host.h"

#define DNS_QUERY_MAX   (12 + 255 + 4 + 11)
#define DNS_UDP_SIZE    1232 /* what we say we take over UDP */
#define DNS_MESSAGE_MAX 65535
#define DNS_MAX_ADDRS   64 /* more in an answer: DNS_MALFORMED, since all must be judged */
#define DNS_MAX_ALIASES 16
#define DNS_TTL_MAX     86400 /* seconds; more is cut down to it */

enum dns_type { DNS_A = 1, DNS_AAAA = 28 };

enum dns_status {
    DNS_OK,            /* at least one address */
    DNS_NO_DATA,       /* the name has none of this type */
    DNS_NO_NAME,       /* NXDOMAIN */
    DNS_TRUNCATED,     /* ask again over TCP */
    DNS_SERVER_FAILED, /* SERVFAIL, REFUSED, …: ask another server */
    DNS_NO_EDNS,       /* FORMERR, NOTIMP: ask again without EDNS, if it was with */
    DNS_NOT_OURS,      /* another id or question, or no answer at all: keep waiting */
    DNS_MALFORMED,     /* ours, and nonsense: ask another server */
};

struct dns_answer {
    struct addr addrs[DNS_MAX_ADDRS];
    size_t count;
    uint32_t ttl; /* the smallest on the way; without addresses how long that holds (0: unknown) */
};

/* The name must be one (not an address). 0 < length <= DNS_QUERY_MAX. */
size_t dns_build_query(const struct host *name, enum dns_type type, uint16_t id, bool edns,
                       uint8_t query[DNS_QUERY_MAX]);
/* *ret is filled with DNS_OK, DNS_NO_DATA and DNS_NO_NAME. */
enum dns_status dns_parse_answer(const uint8_t *message, size_t len, const struct host *name,
                                 enum dns_type type, uint16_t id, struct dns_answer *ret);

#endif
