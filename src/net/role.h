/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The net role: the filtering proxy (server.h) as a process of its own, because it reads what the
 * sandbox writes.
 *
 * How to start it: a SOCK_STREAM Unix socketpair, and posix_spawn of the agentbox program with the
 * words `agentbox net-role`, one end as descriptor ROLE_CONTROL_FD, standard input a pipe that
 * nobody writes to, the other streams on /dev/null, nothing else open, any environment, its own
 * session or group as you like. It shuts itself in (confine.h) before it reads a byte and lives as
 * long as the other end of the socket: closing that ends it at once with all its connections, so
 * whoever started it can die in any way. One that is stopped then (SIGSTOP) is killed by the end of
 * the pipe; without a pipe it would stay.
 *
 * How to talk to it: client.h does all of this, or by hand (protocol.h):
 *   1. SETUP (limits), NAMES (/etc/hosts and /etc/resolv.conf: it can open neither; send NAMES
 *      again when they change), RULES with a number, LISTEN with a number, the number of the rules
 *      and a listening socket (SCM_RIGHTS, one a message; of any network namespace). All may be
 *      sent at once. Each is answered by a DONE with its serial, in order; a code other than
 *      ABX_OK comes with a text. Connections are accepted from a LISTEN on.
 *   2. RULES with the same number replaces them; open connections that the new ones do not allow
 *      are closed. Each run has a number of its own for its rules, and listeners of its own, by
 *      which its records are told apart. DROP_RULES when it ends closes all that hangs on them.
 *      SOCKET and PUBLISH, with the number of the run's rules: sockets that were made inside and
 *      are not connected yet, then for each published port its number and the host's listener
 *      (publish.h). DROP_RULES closes these, too; the rules themselves need not exist.
 *   3. RECORD comes for each refusal (and each connection, with tell_allowed), QUESTION for what no
 *      rule mentions, with `ask`; ANSWER it within limits.ask_ns. LOST says how many records were
 *      dropped because nobody read.
 *   4. STOP lets what is going on end (limits.stop_ns at most), then STOPPED, and it exits with 0.
 * A role that dies closes the socket: connections are gone, listeners refuse, nothing opens.
 */
#ifndef ABX_NET_ROLE_H
#define ABX_NET_ROLE_H

#include "base/defs.h"

#define ROLE_CONTROL_FD 3

/* Exit statuses besides 0 (stopped, or the host is gone). */
#define ROLE_EXIT_MISUSED  125 /* started by hand */
#define ROLE_EXIT_CONFINE  124 /* could not shut itself in */
#define ROLE_EXIT_PROTOCOL 123 /* the host spoke nonsense, or there is no memory */

/* The role's main. Returns its exit status. */
int role_main(void);

#endif
