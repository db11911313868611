/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library cannot do on macOS yet: the proxy, bridges, filtered and published networks, the
 * exec form. Whoever asks is told ABX_E_UNSUPPORTED; a handle of these kinds never exists, so what
 * takes one only ever meets NULL. backend_darwin.c lets no run get here that would need a network.
 */
#include <errno.h>

#include "api/internal.h"
#include "api/net.h"
#include "api/net_env.h"
#include "run/probe.h"

static int32_t unsupported(const char *what, abx_error **err)
{
    int32_t code = err_new(err, ABX_E_UNSUPPORTED, "%s: not on macOS yet", what);

    err_hint(err, "docs/macos.md says what is missing");
    return code;
}

/* ---- the network of a run ---- */

int32_t net_new(abx_manager *m, struct net **ret, abx_error **err)
{
    (void)m;
    (void)ret;
    return unsupported("filter the network", err);
}

int32_t net_join(abx_manager *m, struct run *run, struct net_ports *ports, struct settings **call,
                 struct net_run **ret, abx_error **err)
{
    (void)m;
    (void)run;
    (void)ports;
    (void)call;
    (void)err;
    *ret = NULL; /* never filtered */
    return ABX_OK;
}

void net_leave(struct net_run *run, struct violations *violations)
{
    (void)run;
    (void)violations;
}

void net_run_free(struct net_run *run)
{
    (void)run;
}

void net_run_forget(struct net_run *run)
{
    (void)run;
}

int net_fd(const struct net *net)
{
    (void)net;
    return -1;
}

void net_dispatch(struct net *net)
{
    (void)net;
}

void net_update(struct net *net)
{
    (void)net;
}

void net_free(struct net *net)
{
    (void)net;
}

int32_t net_env_make(const abx_manager *m, const struct layers *layers, struct arena *arena,
                     struct plan_request *request, abx_error **err)
{
    (void)m;
    (void)layers;
    (void)arena;
    (void)request;
    return unsupported("filter the network", err);
}

int32_t net_ports_open(const struct policy *policy, struct net_ports *ret, abx_error **err)
{
    (void)ret;
    return policy->port_count ? unsupported("publish a port", err) : ABX_OK;
}

void net_ports_close(struct net_ports *ports)
{
    (void)ports;
}

int32_t abx_manager_answer(abx_manager *m, uint32_t question, int32_t answer, abx_error **err)
{
    (void)m;
    (void)question;
    (void)answer;
    return unsupported("answer a question about a host", err);
}

/* ---- layers that might be missing: there is one, and it is always there ---- */

int32_t probe_host(struct image *image, const char *const *state_dirs, bool refresh,
                   struct probe_facts *ret, abx_error **err)
{
    (void)image;
    (void)state_dirs;
    (void)refresh;
    (void)ret;
    return unsupported("try the layers", err);
}

uint32_t probe_layers(const struct probe_facts *facts)
{
    (void)facts;
    return 0;
}

/* ---- the exec form ---- */

void form_free(struct abx_exec_form *form)
{
    (void)form;
}

int32_t abx_command_exec_form(abx_command *c, const abx_exec_form **ret_form, abx_error **err)
{
    (void)c;
    (void)ret_form;
    return unsupported("describe a command for another spawn call", err);
}

const char *abx_exec_form_path(const abx_exec_form *form)
{
    (void)form;
    return NULL;
}

const char *const *abx_exec_form_argv(const abx_exec_form *form)
{
    (void)form;
    return NULL;
}

const char *const *abx_exec_form_envp(const abx_exec_form *form)
{
    (void)form;
    return NULL;
}

const char *abx_exec_form_cwd(const abx_exec_form *form)
{
    (void)form;
    return NULL;
}

size_t abx_exec_form_fds(const abx_exec_form *form, const int32_t **ret_fds)
{
    (void)form;
    (void)ret_fds;
    return 0;
}

/* ---- the proxy ---- */

int32_t abx_proxy_new(const abx_config *config, const abx_proxy_options *options,
                      abx_proxy **ret_proxy, abx_error **err)
{
    (void)config;
    (void)options;
    (void)ret_proxy;
    return unsupported("make a proxy", err);
}

int32_t abx_proxy_listen(abx_proxy *p, const char *address, int32_t *ret_port, abx_error **err)
{
    (void)p;
    (void)address;
    (void)ret_port;
    return unsupported("listen", err);
}

int32_t abx_proxy_update(abx_proxy *p, const abx_config *config, abx_error **err)
{
    (void)p;
    (void)config;
    return unsupported("update a proxy", err);
}

int32_t abx_proxy_answer(abx_proxy *p, uint32_t question, int32_t answer, abx_error **err)
{
    (void)p;
    (void)question;
    (void)answer;
    return unsupported("answer a question about a host", err);
}

int32_t abx_proxy_fd(const abx_proxy *p)
{
    (void)p;
    return -1;
}

int32_t abx_proxy_dispatch(abx_proxy *p, int32_t timeout_ms, abx_error **err)
{
    (void)p;
    (void)timeout_ms;
    return unsupported("dispatch for a proxy", err);
}

int32_t abx_proxy_close(abx_proxy *p, int32_t timeout_ms, abx_error **err)
{
    (void)p;
    (void)timeout_ms;
    return unsupported("close a proxy", err);
}

void abx_proxy_free(abx_proxy *p)
{
    (void)p;
}

/* ---- bridges ---- */

int32_t abx_bridge_new(const abx_bridge_options *options, abx_bridge **ret_bridge, abx_error **err)
{
    (void)options;
    (void)ret_bridge;
    return unsupported("make a bridge", err);
}

const char *abx_bridge_path(const abx_bridge *b)
{
    (void)b;
    return NULL;
}

int32_t abx_bridge_start(abx_bridge *b, abx_error **err)
{
    (void)b;
    return unsupported("start a bridge", err);
}

int32_t abx_bridge_shutdown(abx_bridge *b, int32_t timeout_ms, abx_error **err)
{
    (void)b;
    (void)timeout_ms;
    return unsupported("shut a bridge down", err);
}

void abx_bridge_free(abx_bridge *b)
{
    (void)b;
}

int32_t abx_bridge_pair_new(const char *socket_dir, const char *http_target,
                            const char *socks_target, abx_bridge_pair **ret_pair, abx_error **err)
{
    (void)socket_dir;
    (void)http_target;
    (void)socks_target;
    (void)ret_pair;
    return unsupported("make a bridge", err);
}

const abx_bridge *abx_bridge_pair_http(const abx_bridge_pair *pair)
{
    (void)pair;
    return NULL;
}

const abx_bridge *abx_bridge_pair_socks(const abx_bridge_pair *pair)
{
    (void)pair;
    return NULL;
}

int32_t abx_bridge_pair_start(abx_bridge_pair *pair, abx_error **err)
{
    (void)pair;
    return unsupported("start a bridge", err);
}

void abx_bridge_pair_shutdown(abx_bridge_pair *pair, int32_t timeout_ms)
{
    (void)pair;
    (void)timeout_ms;
}

void abx_bridge_pair_free(abx_bridge_pair *pair)
{
    (void)pair;
}
