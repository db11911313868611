/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this version cannot do yet. A row goes when its feature comes. Values that change nothing
 * (the default, an empty list) are fine. At the end, what no version could do: publish a port of
 * somebody who may not listen, deny hosts of a network that is not filtered.
 */
#include "policy/gaps.h"

#include "base/str.h"

static const struct gap {
    enum settings_key key;
    const char *harmless; /* scalars: the value that changes nothing */
    const char *what;
} gaps[] = {
    { KEY_DOCKER, "false", "no socket of the host is let in" },
    { KEY_ALLOW_SOCKETS, NULL, "no socket of the host is let in" },
};

static int32_t refuse(const struct settings_entry *e, const char *what, abx_error **err)
{
    const char *name = schema_row(e->key)->name;
    int32_t r = err_new(err, ABX_E_UNSUPPORTED, "%s: '%s' cannot be kept: %s in this version",
                        e->source, name, what);

    err_subject(err, name);
    err_hint(err, "remove it");
    return r;
}

static int32_t refuse_deaf(const struct settings_entry *e, abx_error **err)
{
    int32_t r = err_new(err, ABX_E_UNSUPPORTED,
                        "%s: port %s cannot be published: the command may not listen", e->source,
                        e->value);

    err_subject(err, "network.publish");
    err_hint(err, "network.allowLocalBinding true, or leave the port out");
    return r;
}

int32_t gaps_check(const struct layers *layers, abx_error **err)
{
    const struct settings_entry *e;

    for (size_t i = 0; i < ARRAY_LEN(gaps); i++) {
        e = layers->last[gaps[i].key];
        if (e && !(gaps[i].harmless && str_eq(e->value, gaps[i].harmless)))
            return refuse(e, gaps[i].what, err);
    }
    e = layers->last[KEY_PUBLISH];
    if (e && str_eq(layers_value(layers, KEY_LOCAL_BINDING), "false"))
        return refuse_deaf(e, err);
    e = layers->last[KEY_DENIED_DOMAINS];
    if (!e || !str_eq(layers_value(layers, KEY_NETWORK), "allowed"))
        return ABX_OK;
    int32_t r = err_new(err, ABX_E_UNSUPPORTED,
                        "%s: 'network.deniedDomains' cannot be kept: the host's network is not "
                        "filtered",
                        e->source);
    err_subject(err, "network.deniedDomains");
    err_hint(err, "--network filtered, or leave it out");
    return r;
}
