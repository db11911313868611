/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of sandboxes that are published on the host: whoever connects to a listener of the host's
 * gets a connection to a port inside (bridge.h).
 *
 * A socket stays in the network namespace that it was made in. So whoever sets a sandbox up makes
 * some inside, not connected to anything, and passes them out; from here they are connected to the
 * loopback inside, and after a connection they are disconnected and used for the next one. As
 * many as a run was given for IPv4, as many connections it can have at one time; who comes beyond
 * that waits.
 */
#ifndef ABX_NET_PUBLISH_H
#define ABX_NET_PUBLISH_H

#include "base/defs.h"
#include "base/loop.h"

#define PUBLISH_SOCKETS 64 /* of one run and family, at most */
#define PUBLISH_PORTS   64 /* … ports */

struct publish;

/* 0 or -ENOMEM. */
int publish_new(struct loop *loop, struct publish **ret);
void publish_free(struct publish *p);

/* A stream socket made inside, of IPv4 or IPv6: each reaches its own loopback. Takes fd. */
int publish_give_socket(struct publish *p, uint32_t run, int fd);
/* Clients of the listening socket get to this port inside. Takes fd. 0 or -errno. */
int publish_open(struct publish *p, uint32_t run, uint16_t port, int fd);
/* The run is over: its ports, sockets and connections are closed. */
void publish_drop(struct publish *p, uint32_t run);

#endif
