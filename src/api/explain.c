/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abx_command_explain: the question is made canonical as rules are (probe/resolve.c), then the
 * plan of the wrapped command answers (plan/explain.c). Where the plan allows what the file's own
 * permissions do not, those are the answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/explain.h"
#include "api/explain_net.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/compile.h"

struct abx_answer {
    struct arena arena;
    const char *operation, *target;
    int32_t port; /* -1: not about a network */
    struct explain_answer says;
};

static const struct {
    const char *name;
    enum explain_operation operation;
    int access;
} operations[] = {
    { "read", EXPLAIN_READ, R_OK },
    { "write", EXPLAIN_WRITE, W_OK },
    { "exec", EXPLAIN_EXEC, X_OK },
};

int32_t explain_resolve(const struct explain_context *context, const char *text,
                        struct arena *arena, struct resolved *ret, abx_error **err)
{
    _fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct resolve_base base = { .fd = root, .path = "/" };

    if (root < 0)
        return err_sys(err, ABX_E_IO, -errno, "open '/'");
    if (text[0] != '/')
        text = arena_printf(arena, "%s/%s", context->facts->cwd, text);
    return text ? resolve_path(arena, &base, text, ret, err) : err_nomem(err);
}

/* '~' as in a rule; "./~" is a file of that name. */
static const char *expand_home(const struct facts *facts, const char *text, struct arena *arena)
{
    if (text[0] != '~' || (text[1] && text[1] != '/') || !facts->home)
        return text;
    return arena_printf(arena, "%s%s", facts->home, text + 1);
}

/* What a run would execute by this name: from the PATH of the plan, else as it is. */
static const char *find_program(const abx_command *c, const char *name, struct arena *arena)
{
    for (const char *dir = c->plan->path; !strchr(name, '/') && dir && *dir;) {
        size_t len = strcspn(dir, ":");
        const char *path = arena_printf(arena, "%.*s/%s", (int)len, dir, name);
        if (!path)
            return NULL;
        if (dir[0] == '/' && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0)
            return path;
        dir += len + (dir[len] == ':');
    }
    return name;
}

static bool bits_allow(const struct stat *st, int mode)
{
    gid_t groups[256];
    bool in_group = st->st_gid == getegid();
    const int count = getgroups((int)ARRAY_LEN(groups), groups);

    for (int i = 0; i < count; i++)
        in_group = in_group || groups[i] == st->st_gid;
    unsigned bits = st->st_uid == 0 ? st->st_mode >> 6 : in_group ? st->st_mode >> 3 : st->st_mode;
    return (bits & (unsigned)mode) == (unsigned)mode;
}

/* Root has no override inside: its bits count, and those of the directories on the way. */
bool host_allows(const char *path, int mode)
{
    char part[4096];
    struct stat st;

    if (geteuid() != 0)
        return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 || errno != EACCES;
    for (size_t i = 1; path[0] == '/' && i < sizeof part && path[i]; i++) {
        part[i - 1] = path[i - 1];
        part[i] = '\0';
        if (path[i] == '/' && stat(part, &st) == 0 && !bits_allow(&st, X_OK))
            return false;
    }
    return stat(path, &st) < 0 || bits_allow(&st, mode);
}

/* Tried, because no question tells what the Landlock rules of those around are. */
static bool can_open(const char *path, int mode)
{
    struct stat st;

    if (faccessat(AT_FDCWD, path, mode, AT_EACCESS) < 0)
        return errno == ENOENT;
    if (mode == X_OK || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return true;
    _fd_ int fd = open(path, (mode == W_OK ? O_WRONLY : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 || errno == ETXTBSY;
}

/* Inside another sandbox, what that one does not allow is the answer whatever our rules say. */
static bool is_kept_by_outer(const struct explain_context *context, const struct resolved *where,
                             int mode, struct explain_answer *says)
{
    const char *path = where->exists ? where->path : where->ancestor;

    if (context->plan->backend != BACKEND_INNER || !path || (!where->exists && mode != W_OK) ||
        can_open(path, where->exists ? mode : W_OK | X_OK))
        return false;
    *says = (struct explain_answer){
        .allowed = false,
        .rule = "outer sandbox",
        .origin = "host",
        .source = "",
        .grant = "",
        .grant_path = "",
        .note = "the sandbox around this one does not allow it, and nothing inside changes that",
    };
    return true;
}

static void refuse_by_host(struct explain_answer *says, const char *note)
{
    *says = (struct explain_answer){
        .allowed = false,
        .rule = "permissions",
        .origin = "host",
        .source = "",
        .grant = "",
        .grant_path = "",
        .note = note,
    };
}

/*
 * The host's permissions are no rule of ours, but the answer must be what the kernel will say; and
 * where no rule speaks, no grant is proposed that they would make useless.
 */
static void add_permissions(const struct explain_context *context, const struct resolved *where,
                            int mode, struct explain_answer *says)
{
    const char *path = where->exists ? where->path : where->ancestor;
    const char *note =
        geteuid() == 0 ? "root has no power over permissions inside: those of the file, or of a "
                         "directory above it, do not allow it"
                       : "the file's own permissions do not allow it to you, inside or outside";

    if ((!says->allowed && (!str_eq(says->rule, "default") || !says->grant[0])) || !path ||
        view_access(&context->view, where->path) == ACCESS_EXCLUDE ||
        host_allows(path, where->exists ? mode : W_OK | X_OK) || (!where->exists && mode != W_OK))
        return;
    if (says->allowed) {
        refuse_by_host(says, note);
        return;
    }
    says->grant = says->grant_path = says->first = "";
    says->note = note;
}

/*
 * Without mounts an exception costs the directories above it (probe/enumerate.c): what the view
 * would allow there no rule grants.
 */
static void add_enumeration(const struct explain_context *context, const struct resolved *where,
                            int mode, struct explain_answer *says)
{
    const struct plan *plan = context->plan;
    const uint32_t grant = mode == W_OK ? GRANT_CHANGE : mode == X_OK ? GRANT_EXEC : GRANT_FILES;
    const char *path = where->exists ? where->path : where->ancestor;

    if (backend_has_view(plan->backend) || !says->allowed || !path ||
        (!where->exists && mode != W_OK) || (where->is_dir && mode == R_OK))
        return;
    for (uint32_t i = 0; i < plan->rule_count; i++)
        if ((plan->rules[i].grant == grant || plan->rules[i].grant == GRANT_DEVICE ||
             plan->rules[i].grant == GRANT_WRITE ||
             (plan->rules[i].grant == GRANT_READ && mode != W_OK)) &&
            path_is_beneath(path, plan->rules[i].path))
            return;
    *says = (struct explain_answer){
        .allowed = false,
        .rule = "landlock",
        .origin = "built-in",
        .source = "",
        .grant = "",
        .grant_path = "",
        .note = "without namespaces, beside what is protected or hidden nothing can be made or "
                "removed, and only what was there at the start is granted",
    };
}

/* A link that the run does not see leads it nowhere: then the answer is about the link. */
static const struct pin_fact *find_hidden_link(const struct view *view,
                                               const struct resolved *where)
{
    for (uint32_t i = 0; i < where->pin_count; i++)
        if (where->pins[i].is_link && view_access(view, where->pins[i].path) == ACCESS_EXCLUDE)
            return &where->pins[i];
    return NULL;
}

int32_t explain_resolved(const struct explain_context *context, enum explain_operation operation,
                         enum explain_making making, struct resolved *where, struct arena *arena,
                         struct explain_answer *ret, abx_error **err)
{
    const struct pin_fact *hidden = find_hidden_link(&context->view, where);

    if (hidden)
        *where = (struct resolved){ .path = hidden->path, .exists = true };
    const struct explain_path path = { where->path, where->exists, where->is_dir, where->ancestor,
                                       making };
    return explain_path(context, operation, &path, arena, ret, err);
}

/* Of one process: /proc/self, /proc/123 and below. Inside, those are others. */
static bool is_of_a_process(const char *path)
{
    return path && str_has_prefix(path, "/proc/") &&
           (strchr("0123456789", path[6]) || path_is_beneath(path, "/proc/self") ||
            path_is_beneath(path, "/proc/thread-self"));
}

static int32_t explain_file(const abx_command *c, size_t operation, const char *text, abx_answer *a,
                            abx_error **err)
{
    struct explain_context context = { c->policy, c->facts, c->plan, { 0 } };
    struct resolved where = { 0 };
    bool exec = operations[operation].operation == EXPLAIN_EXEC;
    const char *given = expand_home(c->facts, text, &a->arena);
    const char *name = given && exec ? find_program(c, given, &a->arena) : given;
    int32_t r = name ? explain_resolve(&context, name, &a->arena, &where, err) : err_nomem(err);

    if (r == ABX_OK)
        r = view_make(c->plan, &a->arena, &context.view, err);
    if (r != ABX_OK)
        return r;
    r = explain_resolved(&context, operations[operation].operation, EXPLAIN_ANYTHING, &where,
                         &a->arena, &a->says, err);
    if (r == ABX_OK && exec)
        r = explain_command(&context, name, where.path, &a->arena, &a->says, err);
    a->target = where.path;
    if (r == ABX_OK && is_kept_by_outer(&context, &where, operations[operation].access, &a->says))
        return ABX_OK;
    if (r == ABX_OK)
        add_enumeration(&context, &where, operations[operation].access, &a->says);
    if (r == ABX_OK && is_of_a_process(where.path))
        a->says.note =
            "inside, /proc has the run's own processes; the answer is about this entry, not "
            "about what one of them may lead to";
    else if (r == ABX_OK && exec && a->says.allowed && !where.exists && !where.denied)
        a->says.note = "there is no such program yet";
    else if (r == ABX_OK && where.denied && a->says.allowed)
        refuse_by_host(&a->says, "you may not enter it, inside or outside");
    else if (r == ABX_OK && where.denied)
        a->says.note = "you may not enter it, so the answer is about this directory";
    else if (r == ABX_OK)
        add_permissions(&context, &where, operations[operation].access, &a->says);
    return r;
}

static int32_t refuse_host(const char *text, abx_error **err)
{
    int32_t r = err_new(err, ABX_E_INVALID, "'%s' is neither HOST nor HOST:PORT", text);

    err_subject(err, text);
    err_hint(err, "write example.com, example.com:443, 192.0.2.1 or [2001:db8::1]:443");
    return r;
}

/* HOST, HOST:PORT, [ADDRESS]:PORT; an address with colons needs no brackets without a port. */
static int32_t split_host(const char *text, abx_answer *a, abx_error **err)
{
    const char *host = text, *colon = strrchr(text, ':');
    size_t len = strlen(text);
    uint64_t port = 0;

    if (text[0] == '[') {
        const char *end = strchr(text, ']');
        if (!end || (end[1] && end[1] != ':'))
            return refuse_host(text, err);
        host = text + 1;
        len = (size_t)(end - host);
        colon = end[1] ? end + 1 : NULL;
    } else if (colon && strchr(text, ':') == colon) {
        len = (size_t)(colon - text);
    } else {
        colon = NULL;
    }
    if (!len || memchr(host, '/', len) ||
        (colon && (!str_to_u64(colon + 1, 65535, &port) || port == 0)))
        return refuse_host(text, err);
    a->target = arena_strndup(&a->arena, host, len);
    a->port = (int32_t)port;
    return a->target ? ABX_OK : err_nomem(err);
}

/* Where a run can have no proxy there are two modes: none, and all that is around it. */
static bool is_all_or_nothing(const abx_command *c)
{
    const bool relays = c->backend == BACKEND_LANDLOCK && !c->policy->unix_sockets;

    return !backend_has_view(c->backend) && (!relays || c->policy->network == NETWORK_ALLOWED);
}

static void explain_inner_network(const abx_command *c, struct explain_answer *ret)
{
    bool shared = c->policy->network == NETWORK_ALLOWED, inner = c->backend == BACKEND_INNER;

    *ret = (struct explain_answer){
        .allowed = shared,
        .rule = shared  ? "network.mode allowed"
                : inner ? "outer sandbox"
                        : "landlock",
        .origin = shared ? origin_name(c->policy->network_origin) : "host",
        .source = "",
        .grant = shared ? "" : "--network allowed",
        .grant_path = "",
        .note = !inner   ? "without namespaces a run has no network, or all that the host has"
                : shared ? "as far as the sandbox around this one lets it through"
                         : "inside another sandbox a run has no network, or all that the outer one "
                           "has",
    };
}

static int32_t explain_any(const abx_command *c, const char *operation, const char *target,
                           abx_answer *a, abx_error **err)
{
    for (size_t i = 0; i < ARRAY_LEN(operations); i++)
        if (str_eq(operations[i].name, operation)) {
            a->operation = operations[i].name;
            a->port = -1;
            return explain_file(c, i, target, a, err);
        }
    if (!str_eq(operation, "net")) {
        int32_t r = err_new(err, ABX_E_INVALID, "explain '%.64s': not an operation", operation);
        err_subject(err, operation);
        err_hint(err, "use read, write, exec or net");
        return r;
    }
    a->operation = "net";
    struct host host;
    int32_t r = split_host(target, a, err);
    if (r == ABX_OK)
        r = explain_host(a->target, &host, err);
    if (r != ABX_OK)
        return r;
    a->target = arena_strdup(&a->arena, host.text);
    if (!a->target)
        return err_nomem(err);
    if (is_all_or_nothing(c)) {
        explain_inner_network(c, &a->says);
        return ABX_OK;
    }
    return (c->policy->network == NETWORK_FILTERED ? explain_filtered : explain_unfiltered)(
        c, &host, (uint16_t)a->port, &a->arena, &a->says, err);
}

int32_t abx_command_explain(const abx_command *c, const char *operation, const char *target,
                            abx_answer **ret_answer, abx_error **err)
{
    if (!c || !operation || !target || !ret_answer)
        return err_new(err, ABX_E_INVALID, "explain: no command, operation or target");
    if (!target[0]) {
        int32_t code = err_new(err, ABX_E_INVALID, "explain '%.64s': of what? The name is empty",
                               operation);
        err_hint(err, "name a file, a directory or a host; '.' is the working directory");
        return code;
    }
    int32_t r = command_check_wrapped(c, "explain", err);
    if (r != ABX_OK)
        return r;
    abx_answer *a = calloc(1, sizeof *a);
    if (!a)
        return err_nomem(err);
    arena_init(&a->arena, ARENA_DEFAULT_LIMIT);
    r = explain_any(c, operation, target, a, err);
    if (r != ABX_OK) {
        abx_answer_free(a);
        return r;
    }
    *ret_answer = a;
    return ABX_OK;
}

int32_t abx_answer_allowed(const abx_answer *a)
{
    return a && a->says.allowed;
}

const char *abx_answer_target(const abx_answer *a)
{
    return a ? a->target : "";
}

int32_t abx_answer_port(const abx_answer *a)
{
    return a && a->port > 0 ? a->port : 0;
}

const char *abx_answer_rule(const abx_answer *a)
{
    return a ? a->says.rule : "";
}

const char *abx_answer_origin(const abx_answer *a)
{
    return a ? a->says.origin : "";
}

const char *abx_answer_source(const abx_answer *a)
{
    return a ? a->says.source : "";
}

const char *abx_answer_grant(const abx_answer *a)
{
    return a ? a->says.grant : "";
}

const char *abx_answer_note(const abx_answer *a)
{
    return a ? a->says.note : "";
}

int32_t abx_answer_json(const abx_answer *a, char **ret_text, abx_error **err)
{
    _buf_ struct buf b = { .limit = (size_t)16 << 20 };
    struct json j;

    if (!a || !ret_text)
        return err_new(err, ABX_E_INVALID, "print an answer: there is none, or no place for it");
    json_init(&j, &b);
    json_object(&j);
    json_pair_str(&j, "operation", a->operation);
    json_pair_str(&j, a->port < 0 ? "path" : "host", a->target);
    if (a->port >= 0) {
        json_key(&j, "port");
        if (a->port)
            json_int(&j, a->port);
        else
            json_null(&j);
    }
    json_pair_str(&j, "verdict", a->says.allowed ? "allow" : "deny");
    json_pair_str(&j, "rule", a->says.rule);
    json_pair_str(&j, "origin", a->says.origin);
    json_pair_str(&j, "source", a->says.source[0] ? a->says.source : NULL);
    json_pair_str(&j, "grant", a->says.grant[0] ? a->says.grant : NULL);
    json_pair_str(&j, "note", a->says.note);
    json_object_end(&j);
    (void)buf_putc(&b, '\n');
    return take_text(&b, ret_text, err);
}

void abx_answer_free(abx_answer *a)
{
    if (!a)
        return;
    arena_done(&a->arena);
    free(a);
}
