/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what pid 1 saw to a record: what is kept of the plan of the run for that says by which rule
 * it is refused and what would allow it (plan/explain.c, the same that answers `why`).
 *
 * What pid 1 tells was written by the command: a path, an address, a name. It is resolved as `why`
 * does, and becomes a record only if the plan refuses it and the file's own permissions would not;
 * nothing else depends on it.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/explain.h"
#include "api/explain_net.h"
#include "api/internal.h"
#include "api/kept.h"
#include "base/str.h"
#include "plan/watch.h"

#define DNS_PORT 53

struct explainer {
    struct arena own;  /* until the command runs: the plan's view */
    struct kept *kept; /* from then on: what is kept of the plan */
    struct arena plan; /* or all of it, where there was no memory for that */
    char *program, *cwd;
    abx_manager *manager;
    struct explain_context context;
};

static void free_explainer(void *user)
{
    struct explainer *e = user;

    kept_release(e->kept);
    arena_done(&e->own);
    arena_done(&e->plan);
    free(e->program);
    free(e->cwd);
    free(e);
}

static void add_record(struct explainer *e, struct run *run, const struct watch_msg *msg,
                       struct abx_violation *v)
{
    char process[WATCH_PROCESS_MAX + 1] = "";
    bool is_new;

    for (size_t i = 0; i < WATCH_PROCESS_MAX; i++)
        process[i] = msg->process[i];
    v->pid = msg->pid;
    v->process = process;
    const struct abx_violation *record = violations_add(&run->violations, v, &is_new);
    if (!record)
        return;
    run->watch.records[msg->id - 1] = (uint16_t)(record - run->violations.list + 1);
    if (is_new && e->manager->hooks.notice)
        e->manager->hooks.notice(e->manager->hooks.user, ABX_NOTICE_VIOLATION, "monitor",
                                 record->text);
}

static void copy_answer(const struct explain_answer *says, struct abx_violation *v)
{
    v->rule = says->rule;
    v->origin = says->origin;
    v->source = says->source;
    v->grant = says->grant;
    v->grant_path = says->grant_path;
    v->first = says->first;
    v->note = says->note;
}

/*
 * To make, move or remove a name is to change its directory: that is what a grant must be about,
 * unless the very name is what a mount stands on.
 */
static bool mean_directory(const struct explainer *e, struct resolved *where, struct arena *arena)
{
    const struct mount_op *op = view_find(&e->context.view, where->path);
    const char *slash = strrchr(where->path, '/');

    if (!where->exists || !slash || slash == where->path || (op && str_eq(op->path, where->path)))
        return true;
    where->exists = false;
    where->ancestor = arena_strndup(arena, where->path, (size_t)(slash - where->path));
    return where->ancestor;
}

static enum explain_making making_of(const struct watch_msg *msg, const char *call)
{
    if (!(msg->flags & WATCH_NAME))
        return EXPLAIN_FILE;
    return str_has_prefix(call, "mkdir") ? EXPLAIN_DIRECTORY : EXPLAIN_ENTRY;
}

static void tell_path(struct explainer *e, struct run *run, const struct watch_msg *msg,
                      const char *detail)
{
    _arena_ struct arena arena = { 0 };
    const bool read = msg->flags & WATCH_READ, fixed = msg->flags & WATCH_ROOT;
    struct explain_answer says;
    struct resolved where;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *path = arena_strndup(&arena, msg->path, msg->path_len);
    if (!path || path[0] != '/' ||
        explain_resolve(&e->context, path, &arena, &where, NULL) != ABX_OK ||
        ((msg->flags & WATCH_NAME) && !mean_directory(e, &where, &arena)) ||
        explain_resolved(&e->context, read ? EXPLAIN_READ : EXPLAIN_WRITE, making_of(msg, detail),
                         &where, &arena, &says, NULL) != ABX_OK)
        return;
    const char *asked = where.exists ? where.path : where.ancestor;
    if ((says.allowed && !fixed) || (asked && !host_allows(asked, read           ? R_OK
                                                                  : where.exists ? W_OK
                                                                                 : W_OK | X_OK)))
        return; /* not refused, or by the host's own permissions */
    struct abx_violation v = {
        .operation = read ? VIOLATION_READ : VIOLATION_WRITE,
        .path = where.path,
        .detail = detail,
        .attempt = true,
    };
    copy_answer(&says, &v);
    add_record(e, run, msg, &v);
}

/*
 * Past the proxy, if there is one: then no grant helps, only to use it. Where there is none, the
 * host that was looked up is not known (port 53): the next run's proxy will say it.
 */
static bool explain_direct(const struct policy *policy, const char *text, uint16_t port,
                           struct arena *arena, struct explain_answer *says)
{
    struct host host;

    if (policy->network == NETWORK_FILTERED) {
        says->rule = "network.mode filtered";
        says->grant = "";
        says->note =
            port == DNS_PORT
                ? "a name was looked up; here only the proxy does that"
                : "only the proxy leads out (HTTP_PROXY, ALL_PROXY), and this went around it";
    } else if (port == DNS_PORT) {
        says->grant = "--network filtered";
        says->note = "a name was looked up; with --allow-domain HOST the proxy does that";
    } else if (explain_host(text, &host, NULL) == ABX_OK) {
        says->grant = explain_filtered_grant(&host, port, arena);
        says->note = "by the proxy (HTTP_PROXY, ALL_PROXY); what cannot use one, as UDP, takes "
                     "--network allowed";
    }
    return says->grant;
}

static void tell_address(struct explainer *e, struct run *run, const struct watch_msg *msg,
                         const char *detail)
{
    _arena_ struct arena arena = { 0 };
    char host[INET6_ADDRSTRLEN];
    const uint16_t port = (uint16_t)msg->port;
    struct explain_answer says;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    if ((msg->path_len != 4 && msg->path_len != 16) ||
        !inet_ntop(msg->path_len == 4 ? AF_INET : AF_INET6, msg->path, host, sizeof host) ||
        explain_network(e->context.policy, &arena, &says, NULL) != ABX_OK || says.allowed ||
        !explain_direct(e->context.policy, host, port, &arena, &says))
        return;
    struct abx_violation v = {
        .operation = VIOLATION_NETWORK,
        .host = host,
        .port = port,
        .detail = detail,
        .lead = str_eq(says.grant, "--network filtered") ? "to allow a host: --allow-domain HOST "
                                                         : NULL,
        .attempt = true,
    };
    copy_answer(&says, &v);
    add_record(e, run, msg, &v);
}

/* A socket of the host that nobody named, or one without a path. */
static void tell_socket(struct explainer *e, struct run *run, const struct watch_msg *msg,
                        const char *detail)
{
    _arena_ struct arena arena = { 0 };

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *path = arena_strndup(&arena, msg->path, msg->path_len);
    if (!path)
        return;
    const bool named = path[0] == '/';
    const char *word = named ? explain_word(&arena, path) : "";
    const char *grant = named && word ? arena_printf(&arena, "--unix-socket %s", word) : "";
    struct abx_violation v = {
        .operation = VIOLATION_NETWORK,
        .path = path,
        .detail = detail,
        .rule = "network.allowUnixSockets",
        .origin = origin_name(ORIGIN_BUILTIN),
        .grant = grant,
        .grant_path = named ? path : "",
        .note = named ? "" : "sockets without a path are never let in",
        .attempt = true,
    };

    add_record(e, run, msg, &v);
}

/* The rule that the wrapper spoke of; NULL: nobody's, so it was not the wrapper. */
static const struct policy_command *find_command(const struct policy *policy, const char *word)
{
    for (size_t i = 0; i < policy->command_count; i++) {
        const struct policy_command *c = &policy->commands[i];
        const size_t len = strlen(c->name);

        if (strncmp(word, c->name, len) == 0 && (word[len] == '\0' || word[len] == ' '))
            return c;
    }
    return NULL;
}

static void tell_command(struct explainer *e, struct run *run, const struct watch_msg *msg)
{
    _arena_ struct arena arena = { 0 };

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *word = arena_strndup(&arena, msg->path, msg->path_len);
    const struct policy_command *c = word ? find_command(e->context.policy, word) : NULL;
    if (!c)
        return;
    const bool call = c->origin == ORIGIN_CALL;
    struct abx_violation v = {
        .operation = VIOLATION_PROCESS,
        .detail = arena_printf(&arena, "exec %s", word),
        .rule = arena_printf(&arena, "commands %s=%s", c->name, c->text),
        .origin = origin_name(c->origin),
        .source = call ? "" : c->source,
        .grant = arena_printf(&arena, "--cmd %s=true", c->name),
    };

    if (v.detail && v.rule && v.grant)
        add_record(e, run, msg, &v);
}

/* Which one it would have been, of the host or its own, a program says later. */
static const struct abx_violation refused_socket = {
    .operation = VIOLATION_NETWORK,
    .detail = "Unix socket",
    .rule = "network.allowAllUnixSockets",
    .grant = "--set network.allowAllUnixSockets=true",
    .lead = "to reach one of the host: --unix-socket PATH; for sockets of its own: ",
    .note = "for sockets of its own; to one of the host --unix-socket PATH leads",
};
static const struct abx_violation refused_nesting = {
    .operation = VIOLATION_PROCESS,
    .rule = "seccomp",
    .grant = "--set allowNestedNamespaces=true",
    .note = "namespaces and mounts of its own open kernel surface",
};
static const struct abx_violation refused_nested = {
    .operation = VIOLATION_PROCESS,
    .rule = "seccomp",
    .note = "it takes a capability, which a command has in namespaces of its own at most "
            "(allowNestedNamespaces)",
};
static const struct abx_violation refused_call = {
    .operation = VIOLATION_OTHER,
    .rule = "seccomp",
    .note = "no setting allows this system call",
};

static void tell_call(struct explainer *e, struct run *run, const struct watch_msg *msg,
                      const struct watch_call *call)
{
    struct abx_violation v = call->kind == WATCH_SOCKET    ? refused_socket
                             : call->kind == WATCH_NESTING ? refused_nesting
                             : call->kind == WATCH_NESTED  ? refused_nested
                                                           : refused_call;

    v.origin = origin_name(ORIGIN_BUILTIN);
    v.detail = v.detail ? v.detail : call->name;
    add_record(e, run, msg, &v);
}

static void tell(void *user, struct run *run, const struct watch_msg *msg)
{
    struct explainer *e = user;
    const struct watch_call *call = watch_find(msg->number);

    if (!call)
        return;
    if (msg->flags & WATCH_UNIX)
        tell_socket(e, run, msg, call->name);
    else if (msg->flags & WATCH_INET)
        tell_address(e, run, msg, call->name);
    else if (msg->flags & WATCH_WORD)
        tell_command(e, run, msg);
    else if (msg->path_len)
        tell_path(e, run, msg, call->name);
    else
        tell_call(e, run, msg, call);
}

int32_t command_watch(abx_command *c, struct run *run, abx_error **err)
{
    if (!c->plan->watch)
        return ABX_OK;
    struct explainer *e = calloc(1, sizeof *e);
    if (!e)
        return err_nomem(err);
    arena_init(&e->own, ARENA_DEFAULT_LIMIT);
    e->manager = c->manager;
    e->context = (struct explain_context){ c->policy, c->facts, c->plan, { 0 } };
    run->watch = (struct run_watch){
        .level = c->plan->watch,
        .tell = tell,
        .release = free_explainer,
        .user = e,
        .program = c->plan->argv[0],
        .cwd = c->facts->cwd,
    };
    return view_make(c->plan, &e->own, &e->context.view, err);
}

void command_keep_plan(abx_command *c, struct run *run)
{
    struct explainer *e = run->watch.user;

    if (!e)
        return;
    if (!(run->start.value & (STATUS_WATCHED | STATUS_READS))) { /* nobody will tell */
        free_explainer(e);
        run->watch = (struct run_watch){ .level = run->watch.level };
        return;
    }
    e->program = strdup(run->watch.program);
    e->cwd = strdup(run->watch.cwd);
    e->kept = e->program && e->cwd ? kept_plan(e->manager, &e->context) : NULL;
    if (!e->kept) {
        e->plan = c->arena;
        c->arena = (struct arena){ 0 };
        return;
    }
    e->context = *kept_context(e->kept);
    run->watch.program = e->program;
    run->watch.cwd = e->cwd;
    arena_done(&e->own);
}
