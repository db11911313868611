/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published ports: for each run a pool of inside sockets and a bridge for each port.
 *
 * A socket that comes back is disconnected (connect to AF_UNSPEC), which also throws away whatever
 * the last connection left in it; one that cannot be is closed. The server inside may listen on
 * either loopback: 127.0.0.1 is tried first, then ::1, each with sockets of its own family (one of
 * IPv6 that was connected to an IPv4 address once is of no use for IPv6 any more).
 *
 * What comes from both sides is passed on unread. Clients are the host's own programs, the server
 * is the sandbox's; neither can make this connect to anything but the loopback inside, because the
 * sockets know no other network.
 */
#include "net/publish.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "net/bridge.h"

struct port {
    struct port *next;
    struct bridge *bridge;
};

/* Sockets that lead to one of the two loopbacks. */
struct pool {
    int fds[PUBLISH_SOCKETS];
    size_t free, all; /* all: free ones and those at work */
};

struct run {
    struct publish *publish;
    struct run *next;
    uint32_t id;
    struct pool pools[2]; /* IPv4, IPv6 */
    struct port *ports;
    size_t port_count;
    struct loop_task resume; /* a socket came back */
};

struct publish {
    struct loop *loop;
    struct run *runs;
};

/* ---- sockets ---- */

static int take_socket(void *user, unsigned target)
{
    struct run *r = user;
    struct pool *pool = &r->pools[target];

    return pool->free > 0 ? pool->fds[--pool->free] : pool->all > 0 ? -EAGAIN : -ENOTCONN;
}

/* Not connected any more, or -errno. */
static int disconnect(int fd)
{
    const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
    socklen_t len = sizeof(int);
    int error;

    if (connect(fd, &nowhere, sizeof nowhere) < 0)
        return -errno;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? -errno : 0; /* and forget it */
}

static void give_back(void *user, unsigned target, int fd)
{
    struct run *r = user;
    struct pool *pool = &r->pools[target];

    if (disconnect(fd) < 0) {
        fd_close(fd);
        pool->all--;
    } else {
        pool->fds[pool->free++] = fd;
    }
    loop_post(r->publish->loop, &r->resume);
}

static void resume(struct loop_task *task)
{
    const struct run *r = CONTAINER_OF(task, struct run, resume);

    for (struct port *port = r->ports; port; port = port->next)
        bridge_resume(port->bridge);
}

/* ---- runs ---- */

static struct run *find(const struct publish *p, uint32_t id)
{
    struct run *r = p->runs;

    while (r && r->id != id)
        r = r->next;
    return r;
}

static struct run *find_or_make(struct publish *p, uint32_t id)
{
    struct run *r = find(p, id);

    if (r)
        return r;
    r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->publish = p;
    r->id = id;
    r->resume.run = resume;
    r->next = p->runs;
    p->runs = r;
    return r;
}

static bool is_stream(int fd, int *ret_family)
{
    socklen_t len = sizeof(int);
    int type = 0, listens = 1;

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_STREAM)
        return false;
    len = sizeof(int);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 || listens)
        return false;
    len = sizeof(int);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, ret_family, &len) == 0 &&
           (*ret_family == AF_INET || *ret_family == AF_INET6);
}

int publish_give_socket(struct publish *p, uint32_t run, int fd)
{
    _fd_ int own = fd;
    int family;

    if (!is_stream(own, &family))
        return -EINVAL;
    struct run *r = find_or_make(p, run);
    if (!r)
        return -ENOMEM;
    struct pool *pool = &r->pools[family == AF_INET6];
    if (pool->all == PUBLISH_SOCKETS)
        return -ENOBUFS;
    pool->fds[pool->free++] = TAKE_FD(own);
    pool->all++;
    loop_post(p->loop, &r->resume);
    return 0;
}

static void fill_targets(uint16_t port, struct bridge_config *config)
{
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&config->to[0];
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&config->to[1];

    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    in6->sin6_addr = in6addr_loopback;
    config->to_count = 2;
}

int publish_open(struct publish *p, uint32_t run, uint16_t port, int fd)
{
    _fd_ int own = fd;
    struct run *r = find(p, run);
    socklen_t len = sizeof(int);
    int listens = 0;

    if (!r || port == 0 || getsockopt(own, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 ||
        !listens)
        return -EINVAL; /* sockets come first */
    if (r->port_count == PUBLISH_PORTS)
        return -ENOBUFS;
    struct port *new = calloc(1, sizeof *new);
    if (!new)
        return -ENOMEM;
    struct bridge_config config = { .listener = TAKE_FD(own),
                                    .connections = PUBLISH_SOCKETS,
                                    .user = r,
                                    .take_socket = take_socket,
                                    .give_back = give_back };
    fill_targets(port, &config);
    int e = bridge_new(p->loop, &config, &new->bridge);
    if (e < 0) {
        free(new);
        return e;
    }
    new->next = r->ports;
    r->ports = new;
    r->port_count++;
    return 0;
}

static void run_free(struct run *r)
{
    while (r->ports) {
        struct port *next = r->ports->next;

        bridge_free(r->ports->bridge);
        free(r->ports);
        r->ports = next;
    }
    for (unsigned i = 0; i < ARRAY_LEN(r->pools); i++)
        while (r->pools[i].free > 0)
            fd_close(r->pools[i].fds[--r->pools[i].free]);
    loop_unpost(r->publish->loop, &r->resume);
    free(r);
}

void publish_drop(struct publish *p, uint32_t run)
{
    struct run **at = &p->runs;

    while (*at && (*at)->id != run)
        at = &(*at)->next;
    struct run *r = *at;
    if (!r)
        return;
    *at = r->next;
    run_free(r);
}

/* ---- life ---- */

int publish_new(struct loop *loop, struct publish **ret)
{
    struct publish *p = calloc(1, sizeof *p);

    if (!p)
        return -ENOMEM;
    p->loop = loop;
    *ret = p;
    return 0;
}

void publish_free(struct publish *p)
{
    while (p && p->runs) {
        struct run *next = p->runs->next;

        run_free(p->runs);
        p->runs = next;
    }
    free(p);
}
