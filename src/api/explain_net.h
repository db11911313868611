/* SPDX-License-Identifier: Apache-2.0 */
/* May a filtered run talk to a host? By the filter that the proxy would use. */
#ifndef ABX_API_EXPLAIN_NET_H
#define ABX_API_EXPLAIN_NET_H

#include "api/internal.h"
#include "net/host.h"
#include "plan/explain.h"

/* A host as it is judged. */
int32_t explain_host(const char *text, struct host *ret, abx_error **err);

/* port 0: none was named. */
int32_t explain_filtered(const abx_command *c, const struct host *host, uint16_t port,
                         struct arena *arena, struct explain_answer *ret, abx_error **err);
/* The same for a network that is not filtered. */
int32_t explain_unfiltered(const abx_command *c, const struct host *host, uint16_t port,
                           struct arena *arena, struct explain_answer *ret, abx_error **err);
/* Where the network is blocked: the least that leads to this host. NULL: no memory. */
const char *explain_filtered_grant(const struct host *host, uint16_t port, struct arena *arena);

#endif
