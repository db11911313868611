/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of filtered runs: a manager has one net role for all of them (net/role.h).
 *
 * A run's listeners wait here, unaccepted, until somebody inside connects; the first one who does
 * makes the role start, or the run's rules and listeners go to the one that is there. A run that
 * never talks costs two ports on its own loopback. If the role dies, the runs that it served go
 * on without network: their listeners died with it, so connections are refused; the next run gets
 * a new one.
 *
 * Whoever pumps a manager, a process or a run calls net_dispatch when net_fd is readable. Lock:
 * inside that of a process, outside that of the manager; no callback is called with it.
 */
#ifndef ABX_API_NET_H
#define ABX_API_NET_H

#include "api/internal.h"
#include "api/net_ports.h"

struct net;
struct net_run;

/* Events of the manager's epoll that are no process's: the network's; a launcher's end. */
#define NET_EVENT  UINT64_MAX
#define REST_EVENT (UINT64_MAX - 1)

int32_t net_new(abx_manager *m, struct net **ret, abx_error **err);
/*
 * A run that was started. Takes its listeners, its published ports and *call, what the command line
 * said, over. A run that is not filtered and publishes nothing has none: *ret is NULL.
 */
int32_t net_join(abx_manager *m, struct run *run, struct net_ports *ports, struct settings **call,
                 struct net_run **ret, abx_error **err);
/*
 * The same for a command that somebody else will spawn: its launcher's status socket, which the
 * caller keeps, is listened to here.
 */
int32_t net_join_form(abx_manager *m, int status_fd, struct settings **call, struct net_run **ret,
                      abx_error **err);
/* The run is over: its connections are closed, and what was refused is in `violations`. */
void net_leave(struct net_run *run, struct violations *violations);
void net_run_free(struct net_run *run);   /* leaves first */
void net_run_forget(struct net_run *run); /* in a forked process: what is ours of it */

int net_fd(const struct net *net); /* -1 for NULL */
void net_dispatch(struct net *net);
/* The manager has another configuration: it is in force when this returns. */
void net_update(struct net *net);
void net_free(struct net *net); /* runs may outlive it */

#endif
