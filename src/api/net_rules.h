/* SPDX-License-Identifier: Apache-2.0 */
/* The keys network.* of a configuration, as the proxy wants them. */
#ifndef ABX_API_NET_RULES_H
#define ABX_API_NET_RULES_H

#include "api/internal.h"
#include "net/server.h"

/* NAME:PASSWORD for network.upstreamProxy. */
#define UPSTREAM_AUTH_VARIABLE "AGENTBOX_UPSTREAM_AUTH"

struct net_rules {
    struct server_rules rules; /* lists in the arena; its upstream is not filled in */
    const char *upstream;      /* the URL, or "" */
    bool blocked;              /* network.mode is */
};

/* The layer ("project", …) of the entry that says this value at this source; NULL: none. */
const char *net_rules_layer(const abx_config *config, const struct settings *call,
                            const char *value, const char *source);

/*
 * call may be NULL; config, too. A project's file that nobody accepted may only deny. The texts are
 * in the arena, or the settings', which must live on.
 */
int32_t net_rules_make(const abx_config *config, const struct settings *call, struct arena *arena,
                       struct net_rules *ret, abx_error **err);

/* plan_dump, with what it says about hosts and ports. */
int32_t net_rules_dump(const abx_command *c, const struct plan *plan, const char *format,
                       struct buf *b, abx_error **err);

#endif
