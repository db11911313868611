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

static const char *note(const struct filter_verdict *v, const struct host *host)
{
    if ((v->blocked || v->decision == FILTER_ALLOW) && is_loopback(host))
        return "inside, this address is the sandbox's own; to reach the host's, it has to be "
               "allowed, and programs have to ask the proxy for it: --env NO_PROXY= --env "
               "no_proxy=";
    if (v->blocked)
        return "an internal address is reached only if it, or a network that holds it, is allowed "
               "itself";
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
    const char *layer = net_rules_layer(c->config, c->settings, v.rule, v.origin);
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

int32_t explain_filtered(const abx_command *c, const char *text, uint16_t port, struct arena *arena,
                         const char **ret_host, struct explain_answer *ret, abx_error **err)
{
    _filter_ struct filter *filter = NULL;
    struct net_rules net;
    struct host host;
    enum host_fault fault = host_parse(text, strlen(text), &host);

    if (fault != HOST_OK) {
        int32_t code = err_new(err, ABX_E_INVALID, "'%s' is not a host: %s", text,
                               host_fault_text(fault));
        err_subject(err, text);
        return code;
    }
    int32_t code = net_rules_make(c->config, c->settings, arena, &net, err);
    if (code == ABX_OK)
        code = filter_new(&net.rules.lists, &filter, err);
    if (code == ABX_OK)
        code = answer(c, filter, &host, port, arena, ret, err);
    if (code != ABX_OK)
        return code;
    *ret_host = arena_strdup(arena, host.text);
    return *ret_host ? ABX_OK : err_nomem(err);
}
