/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `why net` for a filtered network: the same rules, made the same way (net_rules.c), and the same
 * filter as in the proxy. Nothing is resolved: what a name's addresses would change is said in
 * words.
 */
#include "api/explain_net.h"

#include <string.h>

#include "api/net_rules.h"
#include "base/str.h"

#define USUAL_PORT 443 /* where none was named */

static void judge(const struct filter *filter, const struct host *host, uint16_t port,
                  struct filter_verdict *ret)
{
    filter_check_host(filter, host, port, ret);
    if (ret->decision == FILTER_ALLOW && host->is_address)
        filter_check_addresses(filter, &host->addr, 1, port, ret);
}

static bool is_loopback(const struct host *host)
{
    const char *why = host->is_address ? addr_blocked(&host->addr) : NULL;

    return why && str_eq(why, "loopback");
}

/* A name of a single label has none. */
static bool has_pattern(const struct host *host)
{
    return host->is_address || strchr(host->text, '.');
}

static const char *note(const struct filter_verdict *v, const struct host *host)
{
    if ((v->blocked || v->decision == FILTER_ALLOW) && is_loopback(host))
        return "inside, this address is the sandbox's own; to reach the host's, it has to be "
               "allowed, and programs have to ask the proxy for it: --env NO_PROXY= --env "
               "no_proxy=";
    if (v->blocked)
        return "an internal address is reached only if it, or a network that holds it, is allowed "
               "itself";
    if (str_eq(host->text, "localhost"))
        return "inside, it is the sandbox's own; for what the host has there, ask about 127.0.0.1";
    if (v->decision == FILTER_UNLISTED && !has_pattern(host))
        return "no rule can name a host of one label: use its whole name, or its address; on a "
               "terminal a run would ask";
    if (v->decision == FILTER_UNLISTED)
        return "no rule names it; on a terminal a run would ask";
    if (v->decision == FILTER_DENY)
        return "what is denied stays so, whatever is allowed";
    return host->is_address ? ""
                            : "once it is resolved its addresses are judged too: internal ones "
                              "have to be allowed themselves";
}

static int32_t answer(const abx_command *c, const struct filter *filter, const struct host *host,
                      uint16_t port, struct arena *arena, struct explain_answer *ret,
                      abx_error **err)
{
    struct filter_verdict v;

    judge(filter, host, port ? port : USUAL_PORT, &v);
    const char *layer = net_rules_layer(c->config, c->wish.settings, v.rule, v.origin);
    /* Of the command line only what a group or a profile made of it. */
    bool show = layer && (!str_eq(layer, origin_name(ORIGIN_CALL)) || strchr(v.origin, '('));
    const char *shown = show ? v.origin : "";

    *ret = (struct explain_answer){
        .allowed = v.decision == FILTER_ALLOW,
        .rule = arena_strdup(arena, v.rule), /* they are the filter's */
        .origin = layer ? layer : origin_name(ORIGIN_BUILTIN),
        .source = arena_strdup(arena, shown),
        .grant = arena_strdup(arena, v.decision == FILTER_ALLOW ? "" : v.grant),
        .note = port ? note(&v, host)
                     : arena_printf(arena, "port %u is meant%s%s", USUAL_PORT,
                                    note(&v, host)[0] ? "; " : "", note(&v, host)),
    };
    return ret->rule && ret->source && ret->grant && ret->note ? ABX_OK : err_nomem(err);
}

int32_t explain_host(const char *text, struct host *ret, abx_error **err)
{
    enum host_fault fault = host_parse(text, strlen(text), ret);

    if (fault == HOST_OK)
        return ABX_OK;
    int32_t code = err_new(err, ABX_E_INVALID, "'%s' is not a host: %s", text,
                           host_fault_text(fault));
    err_subject(err, text);
    err_hint(err, "write example.com, example.com:443, 192.0.2.1 or [2001:db8::1]:443");
    return code;
}

int32_t explain_filtered(const abx_command *c, const struct host *host, uint16_t port,
                         struct arena *arena, struct explain_answer *ret, abx_error **err)
{
    _filter_ struct filter *filter = NULL;
    struct net_rules net;
    int32_t code = net_rules_make(c->config, c->wish.settings, arena, &net, err);

    if (code == ABX_OK)
        code = filter_new(&net.rules.lists, &filter, err);
    return code == ABX_OK ? answer(c, filter, host, port, arena, ret, err) : code;
}

const char *explain_filtered_grant(const struct host *host, uint16_t port, struct arena *arena)
{
    char target[HOST_AUTHORITY_MAX];

    if (!has_pattern(host))
        return "--network filtered";
    (void)host_format(host, port, target);
    return arena_printf(arena, "--network filtered --allow-domain %s", port ? target : host->text);
}

int32_t explain_unfiltered(const abx_command *c, const struct host *host, uint16_t port,
                           struct arena *arena, struct explain_answer *ret, abx_error **err)
{
    int32_t code = explain_network(c->policy, arena, ret, err);

    if (code != ABX_OK || ret->allowed)
        return code;
    if (!backend_has_view(c->backend))
        ret->note = "without namespaces the run can make no Internet socket then";
    ret->grant = explain_filtered_grant(host, port, arena);
    return ret->grant ? ABX_OK : err_nomem(err);
}
