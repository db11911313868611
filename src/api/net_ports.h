/* SPDX-License-Identifier: Apache-2.0 */
/* The host's ends of a run's published ports (network.publish). */
#ifndef ABX_API_NET_PORTS_H
#define ABX_API_NET_PORTS_H

#include "base/defs.h"
#include "base/err.h"
#include "policy/policy.h"

#define NET_PORTS_MAX 64 /* of one run */

struct net_ports { /* zeroed: none */
    struct net_port {
        int listener;
        uint16_t inside;
    } list[NET_PORTS_MAX];
    size_t count;
};

/* Listens on all of them, before anything is started: a port that is taken ends the run's start. */
int32_t net_ports_open(const struct policy *policy, struct net_ports *ret, abx_error **err);
void net_ports_close(struct net_ports *ports);
#define _net_ports_ __attribute__((cleanup(net_ports_close)))

#endif
