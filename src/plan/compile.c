/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a plan together from its parts: mounts.c (view, Landlock, placeholders), env.c, limits.c and
 * the filters of seccomp.c. Trusts policy and facts to be what policy_build and scan_facts return;
 * refuses an empty command and plans beyond the limits of plan.h.
 *
 * All layers are required, except the network namespace where the policy shares the host's network:
 * what this host cannot do is a matter for whoever applies the plan, not a reason to ask for less.
 */
#include "plan/compile.h"

#include "base/path.h"
#include "base/str.h"
#include "plan/codec.h"
#include "plan/env.h"
#include "plan/limits.h"
#include "plan/mounts.h"
#include "plan/nodes.h"
#include "plan/seccomp.h"
#include "policy/presets.h"

/* A name that every system can resolve: programs look up their own, and there is no name server. */
#define COMPILE_HOSTNAME "localhost"

static int32_t check_request(const struct plan_request *request, abx_error **err)
{
    if (request->argc == 0 || !request->argv || !request->argv[0] || !request->argv[0][0])
        return err_new(err, ABX_E_INVALID, "the command is empty");
    if (request->argc >= PLAN_MAX_STRINGS)
        return err_new(err, ABX_E_INVALID, "the command has more than %u words", PLAN_MAX_STRINGS);
    if (request->timeout_ns < 0)
        return err_new(err, ABX_E_INVALID, "the timeout is negative");
    return ABX_OK;
}

/* Inside a namespace of its own a path may mean another socket, and pid 1 could not tell. */
static int32_t check_sockets(const struct policy *policy, abx_error **err)
{
    int32_t r = ABX_OK;

    if (policy->named_count > PLAN_MAX_SOCKETS) {
        r = err_new(err, ABX_E_CONFIG, "let in %u sockets of the host: at most %u are possible",
                    policy->named_count, PLAN_MAX_SOCKETS);
        err_subject(err, "network.allowUnixSockets");
    } else if (policy->named_count && policy->nested && !policy->unix_sockets) {
        r = err_new(err, ABX_E_CONFIG,
                    "let in single sockets of the host: not together with allowNestedNamespaces");
        err_subject(err, "network.allowUnixSockets");
        err_hint(err, "leave one of them out");
    }
    return r;
}

static int32_t copy_argv(const struct plan_request *request, struct arena *arena, struct plan *plan,
                         abx_error **err)
{
    const char **argv = arena_alloc(arena, request->argc + 1, sizeof *argv);

    if (!argv)
        return err_nomem(err);
    for (size_t i = 0; i < request->argc; i++) {
        argv[i] = request->argv[i] ? arena_strdup(arena, request->argv[i]) : NULL;
        if (!argv[i])
            return request->argv[i]
                       ? err_nomem(err)
                       : err_new(err, ABX_E_INVALID, "word %zu of the command is NULL", i);
    }
    plan->argv = argv;
    plan->argv_count = (uint32_t)request->argc;
    return ABX_OK;
}

/* What somebody may miss: the other removals are nobody's business. */
static bool set_secrets(const struct env_result *env, struct arena *arena, struct plan *plan)
{
    const char **names = arena_alloc(arena, env->removed_count + 1, sizeof *names);

    for (size_t i = 0; names && i < env->removed_count; i++)
        if (env->removed[i].missed)
            names[plan->secret_count++] = env->removed[i].name;
    plan->secrets = names;
    return names != NULL;
}

/* Mounts are in the order of their paths: the last one above a file says what is there. */
static bool is_seen(const struct plan *plan, const char *file)
{
    bool seen = true;

    for (uint32_t i = 0; i < plan->mount_count; i++)
        if (path_is_beneath(file, plan->mounts[i].path))
            seen = plan->mounts[i].kind <= MOUNT_PIN; /* the host's own */
    return seen;
}

static int32_t set_env(const struct policy *policy, const struct facts *facts,
                       const struct plan_request *request, struct arena *arena, struct plan *plan,
                       abx_error **err)
{
    bool helped = request->helper && is_seen(plan, request->helper);
    const struct env_request wanted = {
        request->envp,
        !plan->proxied ? NULL
        : helped       ? request->helper_env
                       : request->proxy_env,
    };
    struct env_result env;
    int32_t r = env_compile(policy, facts, &wanted, arena, &env, err);

    if (r != ABX_OK)
        return r;
    plan->env = env.env;
    plan->env_count = (uint32_t)env.env_count;
    plan->path = env.path;
    return set_secrets(&env, arena, plan) ? ABX_OK : err_nomem(err);
}

uint32_t plan_layers(const struct policy *policy, uint32_t backend)
{
    uint32_t layers = LAYER_BIT(LAYER_COUNT) - 1;

    if (!backend_has_view(backend))
        return LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_SECCOMP) | LAYER_BIT(LAYER_LIMITS);
    if (policy->network == NETWORK_ALLOWED)
        layers &= ~LAYER_BIT(LAYER_NETNS);
    /* A Landlock domain that handles files may not mount: nested sandboxes could not be built. */
    if (policy->nested)
        layers &= ~LAYER_BIT(LAYER_LANDLOCK);
    return layers;
}

/* With Unix sockets some connect() must go on, and then its address can be another. */
bool plan_relays(const struct policy *policy, uint32_t backend)
{
    return backend == BACKEND_LANDLOCK && policy->network == NETWORK_FILTERED &&
           !policy->unix_sockets;
}

static void set_scalars(const struct policy *policy, const struct facts *facts,
                        const struct plan_request *request, struct plan *plan)
{
    bool bare = !backend_has_view(request->backend); /* no namespaces */
    struct seccomp_options options = {
        .unix_sockets = policy->unix_sockets,
        .named = policy->named_count && !policy->unix_sockets && !policy->nested && !bare,
        .nested = policy->nested && !bare, /* inside another sandbox its filter decides */
        .offline = bare && policy->network != NETWORK_ALLOWED,
        .deaf = !policy->local_binding,
    };
    const bool relayed = plan_relays(policy, request->backend);

    plan->backend = request->backend;
    plan->layers = plan->required = plan_layers(policy, request->backend);
    if (request->backend == BACKEND_LANDLOCK)
        plan->required = plan_layers(policy, BACKEND_NATIVE);
    plan->network_shared = policy->network == NETWORK_ALLOWED;
    plan->relayed = relayed;
    plan->proxied = relayed || (!bare && policy->network == NETWORK_FILTERED);
    plan->publishes = policy->port_count > 0 && policy->network != NETWORK_ALLOWED && !bare;
    plan->tty = request->tty;
    plan->nested = policy->nested;
    plan->map_all_ids = facts->is_root;
    plan->uid = facts->uid;
    plan->gid = facts->gid;
    plan->timeout_ns = request->timeout_ns;
    plan->grace_ns = policy->grace_ns;
    plan->hostname = COMPILE_HOSTNAME;
    plan->cwd = facts->cwd;
    plan->named = options.named;
    seccomp_program(&options, &plan->filter);
    /*
     * Who may make namespaces may have paths that mean something else, and listeners of its own.
     * Without a view of our own there is nothing to compare a path with.
     */
    options.watch = policy->nested || bare ? WATCH_OFF : policy->watch;
    if (options.named)
        options.watch = MAX_OF(options.watch, (uint32_t)WATCH_WRITES); /* pid 1 must be asked */
    plan->watch = options.watch;
    options.relayed = relayed; /* without a listener: offline */
    if (options.watch || relayed)
        seccomp_program(&options, &plan->watch_filter);
    plan->reads = plan->watch == WATCH_FULL; /* learning sees every open */
}

void plan_go_offline(const struct policy *policy, struct plan *plan)
{
    const struct seccomp_options options = {
        .unix_sockets = policy->unix_sockets,
        .nested = policy->nested,
        .offline = true,
        .deaf = !policy->local_binding,
    };

    plan->proxied = plan->publishes = 0;
    plan->watch = WATCH_OFF; /* its filter would let the calls through */
    plan->reads = 0;
    seccomp_program(&options, &plan->filter);
}

/*
 * Without mounts no program can be covered. Inside another sandbox, what is protected or hidden by
 * default is so already, by the outer one: what is left are grants and the rules of people.
 */
static int32_t take_own_facts(const struct facts *facts, bool inner, struct arena *arena,
                              struct facts *ret, abx_error **err)
{
    struct path_fact *own = arena_alloc(arena, facts->path_count + 1, sizeof *own);

    if (!own)
        return err_nomem(err);
    *ret = *facts;
    ret->paths = own;
    ret->path_count = ret->target_count = ret->command_count = 0;
    for (size_t i = 0; i < facts->path_count; i++)
        if (!inner || facts->paths[i].rule->origin != ORIGIN_BUILTIN ||
            facts->paths[i].rule->access == ACCESS_RW)
            own[ret->path_count++] = facts->paths[i];
    return ABX_OK;
}

int32_t plan_compile(const struct policy *policy, const struct facts *facts,
                     const struct plan_request *request, struct arena *arena,
                     const struct plan **ret, abx_error **err)
{
    int32_t r = check_request(request, err);

    if (r == ABX_OK)
        r = check_sockets(policy, err);
    if (r != ABX_OK)
        return r;
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    if (!plan)
        return err_nomem(err);

    set_scalars(policy, facts, request, plan);
    struct facts own;
    if (request->backend == BACKEND_BWRAP) {
        own = *facts;
        if (request->uncovered)
            own.target_count = own.command_count = 0;
        plan->reads = 0; /* its masks tell nobody */
        facts = &own;
    } else if (request->backend != BACKEND_NATIVE) {
        r = take_own_facts(facts, request->backend == BACKEND_INNER, arena, &own, err);
        facts = &own;
    }
    if (r == ABX_OK)
        r = mounts_compile(policy, facts, arena, plan, err);
    seccomp_init_program(plan->named, plan->reads, &plan->init_filter);
    if (!backend_has_view(request->backend))
        plan->hold_count = 0; /* names that must stay absent: what is above them grants nothing */
    if (r == ABX_OK)
        r = limits_compile(policy, facts, arena, plan, err);
    if (request->backend != BACKEND_NATIVE)
        plan->pid_max = 0; /* the pid namespace is another's, or not ours to set */
    if (r == ABX_OK)
        r = set_env(policy, facts, request, arena, plan, err);
    if (r == ABX_OK)
        r = copy_argv(request, arena, plan, err);
    if (r == ABX_OK && plan_encoded_size(plan) == 0) {
        r = err_new(err, ABX_E_INVALID, "the plan is larger than %u MiB", PLAN_MAX_BYTES >> 20);
        err_hint(err, "use fewer rules, a shorter command or a smaller environment");
    }
    if (r == ABX_OK)
        *ret = plan;
    return r;
}

const char *plan_notice(const struct policy *policy, const struct facts *facts)
{
    if (!(policy->presets & PRESET_BASE))
        return NULL;
    for (size_t i = 0; i < facts->path_count; i++) {
        const struct policy_rule *rule = facts->paths[i].rule;
        if (rule->access == ACCESS_RW && !(rule->flags & RULE_WORKDIR) &&
            path_is_beneath(facts->cwd, facts->paths[i].path))
            return NULL;
    }
    return nodes_cwd_refusal(policy, facts);
}
