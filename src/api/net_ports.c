/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening on the host's loopback for published ports. Only the host's own users get there, and
 * all of them do; what they reach is the sandbox's loopback.
 */
#include "api/net_ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"

#define BACKLOG   128
#define LOW_PORTS 8000 /* from a port that is root's to its usual stand-in */

void net_ports_close(struct net_ports *ports)
{
    while (ports->count > 0)
        fd_close(ports->list[--ports->count].listener);
}

/* A listening socket, or -errno. */
static int listen_on(uint16_t port)
{
    static const int on = 1;
    const struct sockaddr_in at = { .sin_family = AF_INET,
                                    .sin_port = htons(port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    _fd_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    return TAKE_FD(fd);
}

int32_t net_ports_open(const struct policy *policy, struct net_ports *ret, abx_error **err)
{
    int32_t code = ABX_OK;

    if (policy->port_count > 0 && policy->network == NETWORK_ALLOWED) {
        code = err_new(err, ABX_E_CONFIG,
                       "publish a port: the command is in the host's own network");
        err_hint(err, "leave network.publish (-p) out: what it listens on is reached already");
        return code;
    }
    if (policy->port_count > NET_PORTS_MAX)
        return err_new(err, ABX_E_CONFIG, "publish ports: more than %d", NET_PORTS_MAX);
    for (size_t i = 0; i < policy->port_count; i++) {
        const struct policy_port *port = &policy->ports[i];
        int fd = listen_on(port->host);

        if (fd < 0) {
            code = err_sys(err, ABX_E_PROXY, fd, "publish port %u on 127.0.0.1:%u", port->inside,
                           port->host);
            if (fd == -EADDRINUSE)
                err_hint(err, "choose another port of the host: -p HOSTPORT:%u", port->inside);
            else if (fd == -EACCES)
                err_hint(err, "low ports of the host are root's: -p %u:%u", port->host + LOW_PORTS,
                         port->inside);
            net_ports_close(ret);
            return code;
        }
        ret->list[ret->count++] = (struct net_port){ fd, port->inside };
    }
    return ABX_OK;
}
