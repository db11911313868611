/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of api/net*.c share. */
#ifndef ABX_API_NET_INTERNAL_H
#define ABX_API_NET_INTERNAL_H

#include "api/net.h"
#include "api/net_names.h"
#include "api/role.h"
#include "net/client.h"

#define NET_NEWS_MAX 32 /* one more is in the result all the same */

enum net_state {
    NET_WAITS,  /* nobody has connected yet; the listeners are here */
    NET_SERVED, /* by the role */
    NET_CLOSED, /* by nobody: connections are refused */
};

/* ---- net_ask.c; with the lock, but for the second ---- */

struct net_question;
struct net_answer;
struct net_asks {
    struct net_question *questions;
    size_t question_count;
    struct net_answer *answers; /* for the session */
    size_t answer_count;
    uint32_t last_id;
};

void net_asked(void *user, uint32_t question, uint32_t listener, const char *host, uint16_t port);
/* Asks the host's callback what it was not asked yet. */
void net_ask_untold(struct net *net);
void net_asks_clear(struct net_asks *asks); /* the role that wanted to know is gone */
void net_asks_done(struct net_asks *asks);

/* ---- net.c ---- */

struct net_run {
    struct net *net; /* NULL: it has left */
    struct net_run *next, **prev;
    uint32_t id; /* of its rules; its listeners: listener_id */
    enum net_state state;
    bool filtered; /* it has listeners and rules */
    int fds[LISTENER_COUNT];
    size_t count;
    struct net_ports ports; /* published … */
    int sockets[2 * SOCKET_COUNT];
    size_t socket_count;
    int status_fd; /* of an exec form, until its listeners came; -1: none */
    struct settings *call;
    uint32_t first_serial, last_serial; /* of the calls about it */
    struct violations violations;       /* until it has left */
    struct violations failures;         /* of allowed connections: each is told once */
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
    struct net_asks asks;
    struct net_news {
        int32_t level; /* of the notice */
        char *text;
    } news[NET_NEWS_MAX]; /* to be told when the lock is free */
    size_t news_count;
    bool died; /* … and that */
};

#endif
