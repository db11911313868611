/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combinations that cannot be kept: to publish a port where nobody may listen, to deny hosts of a
 * network that is not filtered.
 */
#include "policy/gaps.h"

#include "base/str.h"

static int32_t refuse_deaf(const struct settings_entry *e, abx_error **err)
{
    int32_t r = err_new(err, ABX_E_UNSUPPORTED,
                        "%s: port %s cannot be published: the command may not listen", e->source,
                        e->value);

    err_subject(err, "network.publish");
    err_hint(err, "set network.allowLocalBinding to true, or leave the port out");
    return r;
}

int32_t gaps_check(const struct layers *layers, abx_error **err)
{
    const struct settings_entry *e = layers->last[KEY_PUBLISH];
    if (e && str_eq(layers_value(layers, KEY_LOCAL_BINDING), "false"))
        return refuse_deaf(e, err);
    e = layers->last[KEY_DENIED_DOMAINS];
    if (!e || !str_eq(layers_value(layers, KEY_NETWORK), "allowed"))
        return ABX_OK;
    bool in_file = !str_eq(e->source, "network.deniedDomains"); /* of an option: the key itself */
    int32_t r = err_new(err, ABX_E_UNSUPPORTED,
                        "%s%s'network.deniedDomains' cannot be kept: the host's network is not "
                        "filtered",
                        in_file ? e->source : "", in_file ? ": " : "");
    err_subject(err, "network.deniedDomains");
    err_hint(err, "use --network filtered, or leave it out");
    return r;
}
