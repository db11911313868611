/* SPDX-License-Identifier: Apache-2.0 */
/* May a filtered run talk to a host? By the filter that the proxy would use. */
#ifndef ABX_API_EXPLAIN_NET_H
#define ABX_API_EXPLAIN_NET_H

#include "api/internal.h"
#include "plan/explain.h"

/* port 0: none was named. *ret_host is the host's canonical form, in the arena. */
int32_t explain_filtered(const abx_command *c, const char *text, uint16_t port, struct arena *arena,
                         const char **ret_host, struct explain_answer *ret, abx_error **err);

#endif
