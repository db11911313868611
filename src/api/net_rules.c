/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From settings to the rules of the network.
 *
 * What a project's file grants counts once it was accepted; what it denies, always. Origins are the
 * places that people can go to: "FILE:LINE:COLUMN", an option's name.
 */
#include "api/net_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "plan/dump.h"

static bool counts(const struct settings_entry *e, bool untrusted)
{
    return !untrusted || e->origin != ORIGIN_PROJECT || e->key == KEY_DENIED_DOMAINS;
}

static bool make_list(const struct layers *l, enum settings_key key, bool untrusted,
                      struct arena *arena, struct filter_list *ret)
{
    struct filter_pattern *patterns = arena_alloc(arena, l->count, sizeof *patterns);
    size_t n = 0;

    if (!patterns)
        return false;
    for (size_t i = 0; i < l->count; i++)
        if (l->entries[i]->key == key && counts(l->entries[i], untrusted))
            patterns[n++] = (struct filter_pattern){ l->entries[i]->value, l->entries[i]->source };
    *ret = (struct filter_list){ patterns, n };
    return true;
}

/* "~/…" is the user's; the schema lets nothing else be relative. NULL: no memory. */
static const char *expand_home(const char *path, struct arena *arena)
{
    if (!str_has_prefix(path, "~/"))
        return path;
    const char *home = configfiles_home(arena);
    return arena_printf(arena, "%s%s", home ? home : "", path + 1);
}

/*
 * The name and password for the upstream proxy do not belong into a configuration: they are in the
 * environment, as NAME:PASSWORD. They go into the URL (which goes to the role alone), in
 * hexadecimal. NULL: no memory.
 */
static const char *add_credentials(const char *url, struct arena *arena)
{
    const char *auth = getenv(UPSTREAM_AUTH_VARIABLE), *rest = strstr(url, "://");
    size_t len = auth ? strlen(auth) : 0;

    if (len == 0 || !rest)
        return url;
    char *encoded = arena_alloc(arena, len + 1, 3);
    if (!encoded)
        return NULL;
    for (size_t i = 0, n = 0; i < len; i++)
        n += (size_t)sprintf(encoded + n, auth[i] == ':' ? ":" : "%%%02x", (uint8_t)auth[i]);
    return arena_printf(arena, "%.*s%s@%s", (int)(rest + 3 - url), url, encoded, rest + 3);
}

const char *net_rules_layer(const abx_config *config, const struct settings *call,
                            const char *value, const char *source)
{
    const struct settings *const lists[] = { call, config ? config->settings : NULL };

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (size_t j = 0; lists[i] && j < lists[i]->count; j++) {
            const struct settings_entry *e = &lists[i]->entries[j];

            if (layers_is_of(e, value, source))
                return origin_name(e->origin);
        }
    return NULL;
}

static bool is_true(const struct layers *l, enum settings_key key)
{
    return str_eq(layers_value(l, key), "true");
}

/* How strictly; 0 as a size is no limit. */
static void fill_how(const struct layers *l, struct server_rules *rules)
{
    uint64_t bytes = 0;

    (void)str_to_size(layers_value(l, KEY_MAX_REQUEST_BODY), &bytes); /* checked on entry */
    rules->request_body = bytes ? bytes : UINT64_MAX;
    rules->allow_tls_without_name = is_true(l, KEY_TLS_WITHOUT_NAME);
    rules->refuse_ech = is_true(l, KEY_REFUSE_ECH);
}

int32_t net_rules_make(const abx_config *config, const struct settings *call, struct arena *arena,
                       struct net_rules *ret, abx_error **err)
{
    struct layers all = { 0 }, granted = { 0 };
    struct server_rules *rules = &ret->rules;

    *ret = (struct net_rules){ .upstream = "" };
    if (!config)
        return ABX_OK; /* nothing is allowed */
    const struct config_file *project = config_project(config);
    bool untrusted = project && !project->trusted;
    int32_t code = config_check_place(config, err);
    if (code == ABX_OK)
        code = config_merge(config, call, 0, arena, &all, err);
    if (code == ABX_OK)
        code = config_merge(config, call, untrusted ? LAYERS_SKIP(ORIGIN_PROJECT) : 0, arena,
                            &granted, err);
    if (code != ABX_OK)
        return code;
    fill_how(&granted, rules);
    ret->blocked = str_eq(layers_value(&all, KEY_NETWORK), "blocked");
    ret->upstream = layers_value(&granted, KEY_UPSTREAM_PROXY);
    ret->upstream = add_credentials(ret->upstream ? ret->upstream : "", arena);
    const char *mitm = layers_value(&granted, KEY_MITM_SOCKET);
    rules->mitm_path = expand_home(mitm ? mitm : "", arena);
    if (!rules->mitm_path || !ret->upstream ||
        !make_list(&all, KEY_ALLOWED_DOMAINS, untrusted, arena, &rules->lists.allowed) ||
        !make_list(&all, KEY_DENIED_DOMAINS, untrusted, arena, &rules->lists.denied) ||
        !make_list(&all, KEY_MITM_DOMAINS, untrusted, arena, &rules->lists.mitm))
        return err_nomem(err);
    return ABX_OK;
}

/* ---- for people ---- */

static void show_list(const struct filter_list *list, const char *verdict, struct plan_host *hosts,
                      uint32_t *count)
{
    for (size_t i = 0; i < list->count; i++)
        hosts[(*count)++] = (struct plan_host){ verdict, list->patterns[i].text,
                                                list->patterns[i].origin };
}

static bool show_ports(const struct policy *policy, struct arena *arena, struct plan *plan)
{
    struct plan_port *ports = arena_alloc(arena, policy->port_count, sizeof *ports);

    for (size_t i = 0; ports && i < policy->port_count; i++)
        ports[i] = (struct plan_port){ policy->ports[i].host, policy->ports[i].inside };
    plan->ports = ports;
    plan->port_count = ports ? (uint32_t)policy->port_count : 0;
    return ports;
}

static int32_t show_network(const abx_command *c, struct arena *arena, struct plan *plan,
                            abx_error **err)
{
    struct net_rules net;

    if (plan->publishes && !show_ports(c->policy, arena, plan))
        return err_nomem(err);
    if (!plan->proxied && !plan->relayed)
        return ABX_OK;
    int32_t code = net_rules_make(c->config, c->wish.settings, arena, &net, err);
    if (code != ABX_OK)
        return code;
    const struct filter_lists *lists = &net.rules.lists;
    struct plan_host *hosts = arena_alloc(
        arena, lists->denied.count + lists->allowed.count + lists->mitm.count, sizeof *hosts);
    if (!hosts)
        return err_nomem(err);
    plan->host_count = 0;
    show_list(&lists->denied, "deny", hosts, &plan->host_count);
    show_list(&lists->allowed, "allow", hosts, &plan->host_count);
    show_list(&lists->mitm, "mitm", hosts, &plan->host_count);
    plan->hosts = hosts;
    return ABX_OK;
}

int32_t net_rules_dump(const abx_command *c, const struct plan *plan, const char *format,
                       struct buf *b, abx_error **err)
{
    _arena_ struct arena arena;
    struct plan shown = *plan;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    int32_t code = show_network(c, &arena, &shown, err);
    return code == ABX_OK ? plan_dump(&shown, format, b, err) : code;
}
