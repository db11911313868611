/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network's rules for those who only want to ask: what they say of a host, whether a pattern is
 * one, which variables lead to a proxy. Nothing is resolved and nobody is connected to.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/net_rules.h"
#include "base/json.h"
#include "net/envvars.h"
#include "policy/domain.h"

#define PORT_MAX 65535

static char *verdict_json(const struct host *host, uint16_t port, const struct filter_verdict *v)
{
    static const char *const words[] = { "deny", "allow", "unlisted" };
    _buf_ struct buf out = { .limit = 65536 };
    struct json j;

    json_init(&j, &out);
    json_object(&j);
    json_pair_str(&j, "host", host->text);
    json_pair_uint(&j, "port", port);
    json_pair_str(&j, "decision", words[v->decision]);
    json_pair_str(&j, "rule", v->rule);
    json_pair_str(&j, "origin", v->origin);
    json_pair_str(&j, "grant", v->decision == FILTER_ALLOW ? "" : v->grant);
    json_object_end(&j);
    return out.failed ? NULL : strdup(out.data);
}

int32_t abx_filter_check(const abx_config *config, const char *host, int32_t port,
                         int32_t *ret_decision, char **ret_json, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    _filter_ struct filter *filter = NULL;
    struct filter_verdict verdict;
    struct net_rules net;
    struct host target;

    if (!host || port < 1 || port > PORT_MAX || !ret_decision)
        return err_new(err, ABX_E_INVALID, "judge a host: no host, no port or no result");
    enum host_fault fault = host_parse(host, strlen(host), &target);
    if (fault != HOST_OK)
        return err_new(err, ABX_E_INVALID, "judge '%s': the host is not valid: %s", host,
                       host_fault_text(fault));
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    int32_t code = net_rules_make(config, NULL, &arena, &net, err);
    if (code == ABX_OK)
        code = filter_new(&net.rules.lists, &filter, err);
    if (code != ABX_OK)
        return code;
    filter_check_host(filter, &target, (uint16_t)port, &verdict);
    char *json = ret_json ? verdict_json(&target, (uint16_t)port, &verdict) : NULL;
    if (ret_json && !json)
        return err_nomem(err);
    *ret_decision = (int32_t)verdict.decision;
    if (ret_json)
        *ret_json = json;
    return ABX_OK;
}

_Static_assert(ABX_FILTER_DENY == FILTER_DENY && ABX_FILTER_ALLOW == FILTER_ALLOW &&
                   ABX_FILTER_UNLISTED == FILTER_UNLISTED,
               "the header's decisions are the filter's");

int32_t abx_domain_pattern_validate(const char *pattern, abx_error **err)
{
    struct domain_fault fault = { 0 };

    if (!pattern)
        return err_new(err, ABX_E_INVALID, "check a pattern: it is NULL");
    if (domain_is_pattern(pattern, &fault))
        return ABX_OK;
    int32_t code = err_new(err, ABX_E_CONFIG, "'%s' is no pattern of hosts: %s", pattern,
                           fault.why);
    if (fault.hint)
        err_hint(err, "%s", fault.hint);
    return code;
}

static bool parse_scheme(const char *text, enum envvars_all *ret)
{
    static const char *const names[] = {
        [ENVVARS_SOCKS5H] = "socks5h", [ENVVARS_SOCKS5] = "socks5", [ENVVARS_HTTP] = "http"
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!text || strcmp(text, names[i]) == 0) {
            *ret = (enum envvars_all)i;
            return true;
        }
    return false;
}

/* The pointers, then the texts, in one block. NULL: no memory. */
static char **pack(const char *const *list)
{
    size_t count = 0, bytes = 0;

    for (; list[count]; count++)
        bytes += strlen(list[count]) + 1;
    char **block = malloc((count + 1) * sizeof *block + bytes);
    if (!block)
        return NULL;
    char *at = (char *)(block + count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(list[i]) + 1;

        block[i] = memcpy(at, list[i], len);
        at += len;
    }
    block[count] = NULL;
    return block;
}

int32_t abx_proxy_env(int32_t http_port, int32_t socks_port, const char *all_proxy, char ***ret_env,
                      abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    struct envvars_ports ports = { .http = (uint16_t)http_port, .socks = (uint16_t)socks_port };
    const char *const *list;

    if (!ret_env || http_port < 0 || http_port > PORT_MAX || socks_port < 0 ||
        socks_port > PORT_MAX)
        return err_new(err, ABX_E_INVALID, "the proxy's variables: a port is out of range");
    if (!parse_scheme(all_proxy, &ports.all))
        return err_new(err, ABX_E_INVALID, "the proxy's variables: '%s' is no scheme", all_proxy);
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    char **block = envvars_make(&ports, &arena, &list) == 0 ? pack(list) : NULL;
    if (!block)
        return err_nomem(err);
    *ret_env = block;
    return ABX_OK;
}
