/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts and their reasons. What the view (view.c) does at a path decides; then the rule is
 * looked for: by precedence.h among all rules if that agrees with the view, else the one that the
 * mount itself names, else it is one of the directories that every run gets anew.
 *
 * The suggested grant is for the command line and so beats every other layer; where the rule that
 * denies is itself from the command line, the change is to leave it out; where a ceiling denies
 * (RULE_FINAL) or the system's own directories are meant, there is none. What is absent cannot be
 * granted, so its directory is; but never a whole home or top directory for the sake of one name in
 * it: then that has to be made first.
 */
#include "plan/explain.h"

#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "plan/compile.h"

/* What a mount makes of a path. */
enum effect {
    EFFECT_DEFAULT,  /* no mount: read-only */
    EFFECT_READ,     /* bound read-only */
    EFFECT_WRITE,    /* bound writable */
    EFFECT_HELD,     /* absent, and to stay so */
    EFFECT_HIDDEN,   /* masked, or beside what a grant shows */
    EFFECT_PRIVATE,  /* a writable directory of the run's own */
    EFFECT_SYSTEM,   /* /proc, /dev, /run: made for the run, readable */
    EFFECT_DEVICE,   /* one of the devices that every run has */
    EFFECT_NOWHERE,  /* in /dev or /run, and not among what they have */
    EFFECT_WRITABLE, /* /proc with nested namespaces */
};

struct question {
    const struct explain_context *context;
    enum explain_operation operation;
    const struct explain_path *path;
    struct arena *arena;
    const struct mount_op *op;
    const struct policy_rule *rule;
    enum effect effect;
};

static bool is_device(const char *name)
{
    static const char *const names[] = { "fd",     "full",  "null",   "ptmx", "pts",     "random",
                                         "stderr", "stdin", "stdout", "tty",  "urandom", "zero" };
    size_t len = strcspn(name, "/");

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return true;
    return false;
}

static enum effect effect_in_dev(const struct mount_op *op, const char *path)
{
    const char *rest = path + strlen(op->path);

    if (!rest[0])
        return EFFECT_SYSTEM;
    if (str_eq(rest, "/shm") || str_has_prefix(rest, "/shm/"))
        return EFFECT_PRIVATE;
    return is_device(rest + 1) ? EFFECT_DEVICE : EFFECT_NOWHERE;
}

static enum effect effect_of(const struct mount_op *op, const char *path)
{
    if (!op)
        return EFFECT_DEFAULT;
    switch (op->kind) {
    case MOUNT_BIND_RW:
    case MOUNT_PIN:
        return EFFECT_WRITE;
    case MOUNT_WRAP:
        return EFFECT_READ;
    case MOUNT_BIND_RO:
        return op->flags & MOUNT_HELD ? EFFECT_HELD : EFFECT_READ;
    case MOUNT_TMPFS:
        if (!(op->flags & MOUNT_SEAL))
            return EFFECT_PRIVATE;
        FALLTHROUGH;
    case MOUNT_DIR:
        if (!(op->mode & 0444))
            return EFFECT_HIDDEN;
        return str_eq(op->path, path) ? EFFECT_SYSTEM : EFFECT_NOWHERE;
    case MOUNT_FILE:
    case MOUNT_LINK:
    case MOUNT_COPY:
        return EFFECT_SYSTEM;
    case MOUNT_PROC:
        return op->flags & MOUNT_WRITABLE ? EFFECT_WRITABLE : EFFECT_SYSTEM;
    case MOUNT_DEV:
        return effect_in_dev(op, path);
    default:
        return EFFECT_HIDDEN;
    }
}

static bool effect_allows(const struct question *q)
{
    bool write = q->operation == EXPLAIN_WRITE, exec = q->operation == EXPLAIN_EXEC;

    switch (q->effect) {
    case EFFECT_DEFAULT:
    case EFFECT_READ:
        return !write;
    case EFFECT_WRITE:
        return true;
    case EFFECT_PRIVATE: /* what is the host's is not there */
        return write || !q->path->exists || str_eq(q->op->path, q->path->path) ||
               str_eq(q->path->path, "/dev/shm");
    case EFFECT_DEVICE:
    case EFFECT_WRITABLE:
        return !exec;
    case EFFECT_SYSTEM:
        return q->operation == EXPLAIN_READ;
    default:
        return false;
    }
}

/* ---- the rule ---- */

static const struct policy_rule *rule_of_op(const struct facts *facts, const struct mount_op *op)
{
    for (size_t i = 0; op && op->text && i < facts->path_count; i++) {
        const struct path_fact *f = &facts->paths[i];
        bool here = op->flags & MOUNT_HELD ? path_is_beneath(f->path, op->path)
                                           : str_eq(f->path, op->path);
        if (here && f->why && str_eq(f->why, op->text))
            return f->rule;
    }
    return NULL;
}

const struct access_claim *explain_claims(const struct facts *facts, struct arena *arena)
{
    struct access_claim *claims = arena_alloc(arena, facts->path_count, sizeof *claims);

    for (size_t i = 0; claims && i < facts->path_count; i++)
        claims[i] = (struct access_claim){ facts->paths[i].path, facts->paths[i].rule };
    return claims;
}

const struct policy_rule *explain_rule(const struct explain_context *context,
                                       const struct access_claim *claims, const char *path)
{
    const struct facts *facts = context->facts;
    const struct mount_op *op = view_find(&context->view, path);
    const struct policy_rule *rule;
    uint32_t access = precedence_verdict(claims, facts->path_count, path, &rule);
    enum effect effect = effect_of(op, path);

    if (effect >= EFFECT_PRIVATE)
        return NULL; /* a directory that every run gets anew */
    if (effect == EFFECT_HELD || access != view_access(&context->view, path) || !rule)
        return rule_of_op(facts, op);
    return rule;
}

/* "--ro src" for the command line, "ro src" for files, "@base ~/.ssh" for what is built in. */
static const char *rule_text(struct arena *arena, const struct policy_rule *rule)
{
    if (rule->flags & RULE_SOCKET)
        return arena_printf(arena, "%s %s", rule->flags & RULE_DOCKER ? "docker" : "unix-socket",
                            rule->text);
    if (rule->origin == ORIGIN_CALL)
        return arena_printf(arena, "--%s %s", access_name(rule->access), rule->text);
    if (rule->origin == ORIGIN_BUILTIN)
        return arena_printf(arena, "%s %s", rule->source, rule->text);
    return arena_printf(arena, "%s %s", access_name(rule->access), rule->text);
}

static const char *place_text(const struct question *q)
{
    const struct facts *f = q->context->facts;
    static const char *const names[PLACE_COUNT] = {
        [PLACE_DEV] = "/dev", [PLACE_PROC] = "/proc", [PLACE_RUN] = "/run",
        [PLACE_SHM] = "/dev", [PLACE_SYS] = "/sys",   [PLACE_TMP] = "filesystem.tmp private",
    };

    for (size_t i = 0; i < PLACE_COUNT; i++)
        if (f->places[i] && path_is_beneath(q->path->path, f->places[i]))
            return names[i];
    return q->op && q->op->text ? q->op->text : "default";
}

/* ---- what to do ---- */

static bool place_is_fixed(const struct question *q)
{
    static const enum place fixed[] = { PLACE_DEV, PLACE_PROC };
    const struct facts *f = q->context->facts;

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (f->places[fixed[i]] && path_is_beneath(q->path->path, f->places[fixed[i]]))
            return true;
    if (!f->places[PLACE_RUN])
        return false;
    return str_eq(q->path->path, f->places[PLACE_RUN]) ||
           path_is_beneath(q->path->path, "/run/agentbox");
}

/* Where the rule that decides lies, if it decides from an absent path or from this very one. */
static const char *path_of_rule(const struct question *q)
{
    const struct facts *f = q->context->facts;

    for (size_t i = 0; q->rule && i < f->path_count; i++)
        if (f->paths[i].rule == q->rule && (path_is_beneath(q->path->path, f->paths[i].path) ||
                                            path_is_beneath(f->paths[i].path, q->path->path)))
            return f->paths[i].path;
    return NULL;
}

const char *explain_word(struct arena *arena, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+@%:,=";
    struct buf b;

    if (text[0] && strspn(text, plain) == strlen(text))
        return text;
    buf_init(&b, 8 * strlen(text) + 16);
    const char *word = str_quote(&b, text) < 0 ? NULL : arena_strdup(arena, b.data);
    buf_done(&b);
    return word;
}

/* A top directory, a home, what is above it or everybody's in it: too much for one name. */
static bool is_broad(const struct question *q, const char *directory)
{
    static const char *const shared[] = { ".cache", ".config", ".local", ".local/share",
                                          ".local/state" };
    const char *home = q->context->facts->home;

    if (str_eq(directory, q->context->facts->cwd))
        return false; /* where somebody works: "--rw ." is what a notice says, too */
    if (path_depth(directory) <= 1 || (home && path_is_beneath(home, directory)))
        return true;
    if (!home || !path_is_beneath(directory, home))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(shared); i++)
        if (str_eq(directory + strlen(home) + 1, shared[i]))
            return true;
    return false;
}

/* A name that /run lacks: no rule changes that directory, only what the host has in it. */
static bool is_new_in_run(const struct question *q)
{
    const char *run = q->context->facts->places[PLACE_RUN], *ancestor = q->path->ancestor;

    return !q->path->exists && q->effect == EFFECT_NOWHERE && run && ancestor &&
           str_eq(ancestor, run);
}

/* What could be made and then granted: the name itself, or the last of its absent directories. */
static const char *path_to_make(const struct question *q)
{
    const char *path = q->path->path, *ancestor = q->path->ancestor;

    if (q->path->exists || q->operation != EXPLAIN_WRITE ||
        (q->effect != EFFECT_DEFAULT && !is_new_in_run(q)) || q->path->making == EXPLAIN_ENTRY ||
        !ancestor || !ancestor[1] || !is_broad(q, ancestor))
        return NULL;
    size_t len = strlen(path) - strlen(path_basename(path)) - 1;
    return path_depth(path) == path_depth(ancestor) + 1 ? path : arena_strndup(q->arena, path, len);
}

/* An entry that cannot be made first, in a directory that is too much to be granted for it. */
static bool is_too_much(const struct question *q)
{
    const char *ancestor = q->path->ancestor;

    return !q->path->exists && q->path->making == EXPLAIN_ENTRY && q->effect == EFFECT_DEFAULT &&
           ancestor && ancestor[1] && is_broad(q, ancestor);
}

static const char *too_much_note(const struct question *q)
{
    const char *word = explain_word(q->arena, q->path->ancestor);

    return word ? arena_printf(q->arena, "only --rw %s would do, and that is much for one name",
                               word)
                : NULL;
}

/* The path to name in a grant; NULL: there is none that would help. */
static const char *grant_path(const struct question *q)
{
    const char *at_rule = path_of_rule(q), *made = path_to_make(q);

    if (q->path->exists)
        return q->path->path;
    if (q->effect == EFFECT_HELD || q->effect == EFFECT_HIDDEN)
        return at_rule;
    if (made || is_too_much(q) || is_new_in_run(q))
        return made;
    /* What does not exist cannot be mounted; new entries of "/" itself are never possible. */
    return q->path->ancestor && q->path->ancestor[1] ? q->path->ancestor : NULL;
}

static const char *grant_text(const struct question *q, const char **ret_path)
{
    const char *at_rule = path_of_rule(q), *path = grant_path(q);
    bool write = q->operation == EXPLAIN_WRITE;

    if ((q->op && q->op->kind == MOUNT_WRAP) || place_is_fixed(q) ||
        (q->rule && (q->rule->flags & RULE_FINAL)) || !path || !path[1])
        return "";
    if (q->rule && q->rule->origin == ORIGIN_CALL && at_rule && str_eq(at_rule, path) &&
        !(q->rule->flags & RULE_GLOB))
        return arena_printf(q->arena, "leave out --%s %s", access_name(q->rule->access),
                            q->rule->text);
    const char *word = explain_word(q->arena, path);
    *ret_path = path;
    return word ? arena_printf(q->arena, "%s %s", write ? "--rw" : "--ro", word) : NULL;
}

/* How to make the path of the grant, if that is absent. */
static const char *first_text(const struct question *q, const char *granted)
{
    const char *made = granted[0] ? path_to_make(q) : NULL;
    bool is_file = q->path->making == EXPLAIN_FILE && made == q->path->path;
    const char *word = made ? explain_word(q->arena, made) : NULL;

    return word ? arena_printf(q->arena, "%s %s", is_file ? "touch" : "mkdir -p", word) : "";
}

static const char *denial_note(const struct question *q, const char *first)
{
    const char *refusal = plan_notice(q->context->policy, q->context->facts);

    if (q->rule && (q->rule->flags & RULE_KERNEL))
        return "the kernel's own file system, mounted elsewhere than usual; no rule opens it";
    if (q->rule && (q->rule->flags & RULE_FINAL))
        return q->rule->origin == ORIGIN_BUILTIN
                   ? "agentbox keeps its own files so; no rule changes that"
                   : "the rule is final: no other rule reopens it";
    if (first[0])
        return arena_printf(q->arena, "what does not exist cannot be granted; first: %s%s", first,
                            q->path->making == EXPLAIN_ANYTHING ? " (a file: touch)" : "");
    switch (q->effect) {
    case EFFECT_DEFAULT:
        if (refusal && path_is_beneath(q->path->path, q->context->facts->cwd))
            return arena_printf(q->arena, "%s, and so it is not made writable by itself", refusal);
        if (is_too_much(q))
            return too_much_note(q);
        if (q->operation == EXPLAIN_WRITE && !q->path->exists && !grant_path(q))
            return "what does not exist cannot be granted, and a run makes nothing in /";
        return "what no rule names can be read, not written";
    case EFFECT_HELD:
        return "it does not exist, and the run cannot create it";
    case EFFECT_PRIVATE:
        return "the run has a directory of its own here; the host's files are not in it";
    case EFFECT_SYSTEM:
    case EFFECT_NOWHERE:
    case EFFECT_DEVICE:
    case EFFECT_WRITABLE:
        return "the directory is made anew for every run";
    default:
        return q->rule && (q->rule->flags & RULE_GLOB)
                   ? "a pattern speaks about what exists when the run starts"
                   : "";
    }
}

/* A rule that would hide the path if it existed; NULL: none would. Patterns are left out. */
static const struct policy_rule *find_hider(const struct question *q)
{
    const struct policy *p = q->context->policy;
    const char *home = q->context->facts->home;

    for (size_t i = 0; i < p->rule_count; i++) {
        const struct policy_rule *rule = &p->rules[i];
        const char *path = rule->text;

        if (rule->access != ACCESS_EXCLUDE || (rule->flags & RULE_GLOB))
            continue;
        if (home && path[0] == '~' && path[1] == '/')
            path = path_join(q->arena, home, path + 2);
        if (path && path[0] == '/' && path_is_beneath(q->path->path, path))
            return rule;
    }
    return NULL;
}

static const char *allowance_note(const struct question *q)
{
    bool here = q->op && str_eq(q->op->path, q->path->path);
    const struct policy_rule *hider = q->path->exists ? NULL : find_hider(q);

    if (here && (q->op->flags & MOUNT_SOCKET))
        return "the command may connect to it";
    if (hider && q->operation != EXPLAIN_WRITE)
        return arena_printf(q->arena,
                            "it does not exist; once it does, %s %s hides it from the next run on",
                            hider->source, hider->text);
    if (q->effect == EFFECT_PRIVATE)
        return "the run has a directory of its own here, empty at the start and gone at the end";
    if (q->operation != EXPLAIN_WRITE || q->effect != EFFECT_WRITE || !here)
        return "";
    if (q->op->kind == MOUNT_PIN)
        return arena_printf(q->arena, "it cannot be renamed or removed: it %s", q->op->text);
    return "it cannot itself be renamed or removed, only what is in it";
}

/* A ceiling that would deny whatever other rules say; NULL: there is none. */
static const struct policy_rule *find_ceiling(const struct question *q)
{
    uint32_t needed = q->operation == EXPLAIN_WRITE ? ACCESS_RW : ACCESS_RO;
    const struct facts *f = q->context->facts;

    for (size_t i = 0; i < f->path_count; i++)
        if ((f->paths[i].rule->flags & RULE_FINAL) && f->paths[i].rule->access < needed &&
            path_is_beneath(q->path->path, f->paths[i].path))
            return f->paths[i].rule;
    return NULL;
}

int32_t explain_path(const struct explain_context *context, enum explain_operation operation,
                     const struct explain_path *path, struct arena *arena,
                     struct explain_answer *ret, abx_error **err)
{
    struct question q = {
        .context = context, .operation = operation, .path = path, .arena = arena
    };
    const struct access_claim *claims = explain_claims(context->facts, arena);

    if (!claims)
        return err_nomem(err);
    q.rule = explain_rule(context, claims, path->path);
    q.op = view_find(&context->view, path->path);
    q.effect = effect_of(q.op, path->path);

    struct explain_answer answer = {
        .allowed = effect_allows(&q), .source = "", .grant = "", .grant_path = "", .first = ""
    };
    const struct policy_rule *ceiling = answer.allowed ? NULL : find_ceiling(&q);

    if (ceiling)
        q.rule = ceiling;

    answer.origin = origin_name(q.rule ? q.rule->origin : ORIGIN_BUILTIN);
    answer.rule = q.rule ? rule_text(arena, q.rule) : arena_strdup(arena, place_text(&q));
    if (q.rule && q.rule->origin != ORIGIN_BUILTIN && q.rule->origin != ORIGIN_CALL)
        answer.source = arena_strdup(arena, q.rule->source);
    if (!answer.allowed)
        answer.grant = grant_text(&q, &answer.grant_path);
    if (answer.grant && answer.grant_path[0])
        answer.first = first_text(&q, answer.grant_path);
    if (!answer.first)
        return err_nomem(err);
    answer.note = answer.allowed ? allowance_note(&q) : denial_note(&q, answer.first);
    if (!answer.rule || !answer.source || !answer.grant || !answer.note)
        return err_nomem(err);
    *ret = answer;
    return ABX_OK;
}

int32_t explain_network(const struct policy *policy, struct arena *arena,
                        struct explain_answer *ret, abx_error **err)
{
    bool allowed = policy->network == NETWORK_ALLOWED;
    struct explain_answer answer = {
        .allowed = allowed,
        .rule = allowed ? "network.mode allowed" : "network.mode blocked",
        .origin = origin_name(policy->network_origin),
        .source = "",
        .grant = "",
        .grant_path = "",
        .first = "",
        .note = allowed ? "the host's network as it is: every address, its own services included"
                        : "the run has a network of its own with nothing in it but loopback",
    };

    if (policy->network_origin != ORIGIN_BUILTIN && policy->network_origin != ORIGIN_CALL)
        answer.source = arena_strdup(arena, policy->network_source);
    if (!answer.source)
        return err_nomem(err);
    *ret = answer;
    return ABX_OK;
}
