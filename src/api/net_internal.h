/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of api/net*.c share. */
#ifndef ABX_API_NET_INTERNAL_H
#define ABX_API_NET_INTERNAL_H

#include "api/net.h"
#include "api/net_names.h"
#include "api/role.h"
#include "net/client.h"

enum net_state {
    NET_WAITS,  /* nobody has connected yet; the listeners are here */
    NET_SERVED, /* by the role */
    NET_CLOSED, /* by nobody: connections are refused */
};

struct net_run {
    struct net *net; /* NULL: it has left */
    struct net_run *next, **prev;
    uint32_t id; /* of its rules; its listeners are net_listener(id, i) */
    enum net_state state;
    int fds[LISTENER_COUNT];
    size_t count;
    struct settings *call;
    uint32_t first_serial, last_serial; /* of the calls about it */
};

struct net {
    abx_manager *manager;
    pthread_mutex_t lock;
    int epoll_fd;
    struct role_process role;
    struct client client; /* control < 0: there is no role */
    struct names_watch names;
    struct net_run *runs;
    uint32_t last_id;
    const char *notice; /* to be told when the lock is free */
};

#endif
