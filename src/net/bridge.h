/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bridge: whoever connects to a listening socket gets a connection to one fixed address, and
 * bytes go both ways until both ends are done. Nothing is judged and nothing is read by us; who may
 * connect is decided by who can reach the listener.
 *
 * One thread, one loop. What comes beyond the limit of connections waits in the kernel's backlog.
 */
#ifndef ABX_NET_BRIDGE_H
#define ABX_NET_BRIDGE_H

#include <sys/socket.h>

#include "base/defs.h"
#include "base/loop.h"

#define BRIDGE_CONNECTIONS 100
#define BRIDGE_DIAL_NS     (5 * NSEC_PER_SEC)
#define BRIDGE_CHUNK       32768 /* bytes in flight a direction, while they are copied */

struct bridge;

struct bridge_config {
    int listener;                  /* taken over, also on failure */
    struct sockaddr_storage to[2]; /* where every connection leads: the first that answers */
    unsigned to_count;
    uint32_t connections; /* 0: BRIDGE_CONNECTIONS */
    int64_t dial_ns;      /* 0: BRIDGE_DIAL_NS */
    void *user;
    /*
     * A stream socket for to[target] that is not connected yet, perhaps of another network
     * namespace; the bridge's now. -EAGAIN: there is none for the moment, bridge_resume tells when.
     * Another -errno: the client is turned away. NULL: the bridge makes its own.
     */
    int (*take_socket)(void *user, unsigned target);
    /* … and gets it back, in whatever state, in no loop. NULL: the bridge closes it. */
    void (*give_back)(void *user, unsigned target, int fd);
    void (*ended)(void *user); /* after bridge_stop: the last connection is gone. NULL: not told */
};

/* 0 or -errno. The loop outlives the bridge. */
int bridge_new(struct loop *loop, const struct bridge_config *config, struct bridge **ret);
void bridge_free(struct bridge *b); /* at once, with all its connections */

/* take_socket has one again. */
void bridge_resume(struct bridge *b);
/* Accepts no more and gives up what is still dialling; what stands goes on to its end. */
void bridge_stop(struct bridge *b);
/* … and what stands is closed, too. */
void bridge_cut(struct bridge *b);

#endif
