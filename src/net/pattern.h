/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pattern of hosts, read for matching. Pure. The grammar is that of src/policy/domain.h, which
 * explains to people what is wrong with a pattern; a test holds the two together.
 */
#ifndef ABX_NET_PATTERN_H
#define ABX_NET_PATTERN_H

#include "base/addr.h"
#include "base/defs.h"
#include "net/host.h"

enum pattern_kind { PATTERN_HOST, PATTERN_BELOW, PATTERN_NETWORK };

struct pattern {
    enum pattern_kind kind;
    uint16_t port;       /* 0: any */
    struct host host;    /* PATTERN_HOST, PATTERN_BELOW: without the "*." */
    struct addr_net net; /* PATTERN_NETWORK; an address is a network of all its bits */
};

bool pattern_parse(const char *text, struct pattern *ret);
/* One pattern against one target, by definition; the filter's tables do the same, faster. */
bool pattern_matches(const struct pattern *p, const struct host *host, uint16_t port);

#endif
