/* SPDX-License-Identifier: Apache-2.0 */
/* What a filtered run's environment says about the proxy. */
#ifndef ABX_API_NET_ENV_H
#define ABX_API_NET_ENV_H

#include "api/internal.h"
#include "plan/compile.h"

/* Fills in proxy_env, helper and helper_env; texts are in the arena. */
int32_t net_env_make(const abx_manager *m, const struct layers *layers, struct arena *arena,
                     struct plan_request *request, abx_error **err);

#endif
