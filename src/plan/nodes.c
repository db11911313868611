/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts to nodes: everything that claims a path is put into one list, sorted so that a directory
 * comes right before what lies below it, and for each path the winner is chosen
 * (policy/precedence.h).
 *
 * Trusts that the facts' paths are canonical. Refuses rules for what every run gets anew (/proc,
 * /dev, /run itself), for hiding "/", and grants whose text leads through a symlink that the
 * command itself could have placed: whoever writes the working directory must not choose what
 * becomes writable.
 *
 * A restriction on a path that does not exist becomes a hold on the first component that is
 * missing. Symlinks that a restriction's text leads through become pins: the kernel lets a mount
 * cover the link itself, so the name cannot be taken away from under the rule.
 */
#include "plan/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "policy/precedence.h"

#define NODE_MARKER_DIR "/run/agentbox"

struct collector {
    const struct policy *policy;
    const struct facts *facts;
    struct arena *arena;
    struct node *nodes;
    size_t count;
    /* Only where a grant leads through a link: claims that can be trusted, sorted, and room. */
    struct access_claim *claims, *above;
    size_t claim_count;
    abx_error **err;
};

static const struct policy_rule rule_sys = { ACCESS_EXCLUDE, ORIGIN_BUILTIN, 0, "/sys",
                                             "built-in" };
static const struct policy_rule rule_tmp = { ACCESS_RW, ORIGIN_BUILTIN, RULE_STORE, "/tmp",
                                             "--tmp host" };

static bool is_place(const struct facts *f, enum place place, const char *path)
{
    return f->places[place] && str_eq(f->places[place], path);
}

static bool is_below_place(const struct facts *f, enum place place, const char *path)
{
    return f->places[place] && path_is_beneath(path, f->places[place]) && !is_place(f, place, path);
}

/* Paths that are the same in every run. */
static bool path_is_reserved(const struct facts *f, const char *path)
{
    if (is_place(f, PLACE_PROC, path) || is_below_place(f, PLACE_PROC, path))
        return true;
    if (is_place(f, PLACE_DEV, path))
        return true;
    if (is_below_place(f, PLACE_DEV, path) && !is_below_place(f, PLACE_SHM, path))
        return true;
    return is_place(f, PLACE_RUN, path) || str_has_prefix(path, NODE_MARKER_DIR);
}

const char *nodes_cwd_refusal(const struct policy *policy, const struct facts *facts)
{
    const char *cwd = facts->cwd;

    if (!cwd[1])
        return "the working directory is '/'";
    if (facts->home && path_is_beneath(facts->home, cwd))
        return str_eq(facts->home, cwd) ? "the working directory is the home directory"
                                        : "the home directory lies in the working directory";
    if (policy->tmp_private && is_place(facts, PLACE_TMP, cwd))
        return "the working directory is /tmp, which is private";
    if (path_is_reserved(facts, cwd) || is_place(facts, PLACE_SYS, cwd) ||
        is_below_place(facts, PLACE_SYS, cwd))
        return "the working directory belongs to the system";
    return NULL;
}

int32_t nodes_refuse_cwd(const char *cwd, abx_error **err)
{
    int32_t code = err_new(err, ABX_E_INVALID, "working directory '%s': hidden in the sandbox",
                           cwd);

    err_subject(err, cwd);
    err_hint(err, "grant it with --ro or --rw, or start elsewhere with -C DIR");
    return code;
}

static struct node *add_node(struct collector *c, enum node_kind kind, const char *path)
{
    struct node *n = &c->nodes[c->count++];

    n->kind = kind;
    n->path = path;
    n->cap = ACCESS_RW;
    return n;
}

static bool fact_is_grant(const struct path_fact *f)
{
    return f->rule->access != ACCESS_EXCLUDE &&
           !(f->rule->flags & (RULE_FINAL | RULE_PROTECT | RULE_NAME));
}

/*
 * A link that leads out of its directory, where we can write, may come from an earlier run that had
 * that directory. In the home and above it no command makes links.
 */
static bool link_may_be_planted(const struct collector *c, const struct pin_fact *link,
                                const char *target)
{
    const char *home = c->facts->home, *dir = path_parent(c->arena, link->path);

    if (!link->is_loose || (dir && path_is_beneath(target, dir)))
        return false;
    return !dir || !home || !path_is_beneath(home, dir);
}

/*
 * Whether the text of f leads through a symlink that a command may have made: in a place that some
 * other rule makes writable, or that one may have in an earlier run.
 */
static bool link_is_foreign(const struct collector *c, const struct path_fact *f)
{
    for (uint32_t i = 0; i < f->pin_count; i++) {
        if (!f->pins[i].is_link)
            continue;
        if (link_may_be_planted(c, &f->pins[i], f->path))
            return true;
        for (size_t j = 0; j < c->facts->path_count; j++) {
            const struct path_fact *other = &c->facts->paths[j];
            if (other != f && other->rule->access == ACCESS_RW &&
                path_is_beneath(f->pins[i].path, other->path))
                return true;
        }
    }
    return false;
}

static int compare_claims(const void *left, const void *right)
{
    const struct access_claim *a = left, *b = right;

    return precedence_path_order(a->path, b->path);
}

/* All facts but grants through foreign links. */
static int32_t collect_claims(struct collector *c)
{
    const struct facts *facts = c->facts;
    size_t n = 0;

    c->claims = arena_alloc(c->arena, facts->path_count, sizeof *c->claims);
    c->above = arena_alloc(c->arena, facts->path_count, sizeof *c->above);
    if (!c->claims || !c->above)
        return err_nomem(c->err);
    for (size_t i = 0; i < facts->path_count; i++) {
        const struct path_fact *f = &facts->paths[i];
        if (!fact_is_grant(f) || !link_is_foreign(c, f))
            c->claims[n++] = (struct access_claim){ f->path, f->rule };
    }
    qsort(c->claims, n, sizeof *c->claims, compare_claims);
    c->claim_count = n;
    return ABX_OK;
}

/* Puts the claims at path behind the first n of c->above. */
static size_t add_claims_at(struct collector *c, const char *path, size_t n)
{
    const struct access_claim key = { path, NULL };
    size_t low = 0, high = c->claim_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_claims(&c->claims[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < c->claim_count && str_eq(c->claims[low].path, path); low++)
        c->above[n++] = c->claims[low];
    return n;
}

/* Such a rule may narrow what holds at its target, and is refused where it would widen it. */
static int32_t check_foreign_link(struct collector *c, const struct path_fact *f, bool *ret_use)
{
    const struct policy_rule *decides;
    int32_t r = c->claims ? ABX_OK : collect_claims(c);
    size_t n = 0;

    if (r != ABX_OK)
        return r;
    for (const char *at = f->path;; at = path_parent(c->arena, at)) {
        if (!at)
            return err_nomem(c->err);
        n = add_claims_at(c, at, n);
        if (!at[1])
            break;
    }
    bool narrows = !(f->rule->flags & RULE_SOCKET) &&
                   precedence_verdict(c->above, n, f->path, &decides) >= f->rule->access;

    *ret_use = narrows && f->rule->access != ACCESS_RW;
    if (narrows || (f->rule->flags & RULE_GLOB) || f->rule->origin == ORIGIN_BUILTIN)
        return ABX_OK;

    r = err_new(c->err, ABX_E_CONFIG, "%s: a symbolic link in a writable directory leads to '%s'",
                f->why, f->path);
    err_subject(c->err, f->path);
    err_hint(c->err, "if that is meant, name the target itself: '%s'", f->path);
    return r;
}

static int32_t refuse_fact(struct collector *c, const struct path_fact *f, const char *problem,
                           const char *hint)
{
    int32_t r = err_new(c->err, ABX_E_CONFIG, "%s: '%s' %s", f->why, f->path, problem);

    err_subject(c->err, f->path);
    err_hint(c->err, "%s", hint);
    return r;
}

/* Whether the fact takes part. */
static int32_t check_fact(struct collector *c, const struct path_fact *f, bool *ret_use)
{
    bool builtin = f->rule->origin == ORIGIN_BUILTIN;

    *ret_use = false;
    if ((f->rule->flags & RULE_WORKDIR) && nodes_cwd_refusal(c->policy, c->facts))
        return ABX_OK;
    if (!f->exists && (f->rule->flags & RULE_IF_PRESENT))
        return ABX_OK;
    if (path_is_reserved(c->facts, f->path)) {
        if (builtin ||
            (f->rule->access == ACCESS_EXCLUDE && is_place(c->facts, PLACE_RUN, f->path)))
            return ABX_OK;
        return refuse_fact(c, f, "is made anew for every run",
                           "no rule can change /proc, /dev or /run; leave it out");
    }
    if (!f->path[1] && f->rule->access == ACCESS_EXCLUDE)
        return refuse_fact(c, f, "cannot be hidden",
                           "the command itself lies there; exclude what it must not see");
    if (fact_is_grant(f) && f->pin_count && link_is_foreign(c, f))
        return check_foreign_link(c, f, ret_use);
    *ret_use = true;
    return ABX_OK;
}

static int32_t add_facts(struct collector *c)
{
    for (size_t i = 0; i < c->facts->path_count; i++) {
        const struct path_fact *f = &c->facts->paths[i];
        bool use;
        int32_t r = check_fact(c, f, &use);

        if (r != ABX_OK)
            return r;
        if (use) {
            struct node *n = add_node(c, NODE_RULE, f->path);
            n->rule = f->rule;
            n->exists = f->exists;
            n->is_dir = f->is_dir;
            n->dev = f->dev;
            n->ino = f->ino;
            n->why = f->why;
            n->name_root = f->name_root;
            n->target = f->ancestor; /* until holds are made */
        }
        for (uint32_t j = 0; j < f->pin_count && f->rule->access != ACCESS_RW; j++) {
            struct node *n = add_node(c, NODE_PIN, f->pins[j].path);
            n->dev = f->pins[j].dev;
            n->ino = f->pins[j].ino;
            n->is_link = f->pins[j].is_link;
            n->why = f->why;
        }
    }
    return ABX_OK;
}

static void add_rule_place(struct collector *c, enum place place, const struct policy_rule *rule,
                           const char *why)
{
    struct node *n = add_node(c, NODE_RULE, c->facts->places[place]);

    n->rule = rule;
    n->exists = n->is_dir = true;
    n->why = why;
}

static void add_places(struct collector *c)
{
    static const char *const why[PLACE_COUNT] = {
        [PLACE_DEV] = "minimal devices",  [PLACE_PROC] = "processes of the sandbox only",
        [PLACE_RUN] = "no host services", [PLACE_SHM] = "private shared memory",
        [PLACE_SYS] = "hidden",           [PLACE_TMP] = "private",
    };

    for (uint32_t i = 0; i < PLACE_COUNT; i++) {
        if (!c->facts->places[i])
            continue;
        if (i == PLACE_SYS) {
            add_rule_place(c, PLACE_SYS, &rule_sys, why[i]);
        } else if (i == PLACE_TMP && !c->policy->tmp_private) {
            add_rule_place(c, PLACE_TMP, &rule_tmp, "--tmp host");
        } else if (i != PLACE_SHM || str_eq(c->facts->places[i], "/dev/shm")) {
            struct node *n = add_node(c, NODE_COVER, c->facts->places[i]);
            n->place = i;
            n->why = why[i];
        }
    }
}

static void add_entries(struct collector *c)
{
    const struct facts *f = c->facts;

    for (size_t i = 0; i < f->proc_count && !c->policy->nested; i++) {
        struct node *n = add_node(c, NODE_MASK, f->procs[i].path);
        n->is_dir = f->procs[i].is_dir;
        n->why = "about the host";
    }
    for (size_t i = 0; i < f->keep_count + f->top_count; i++) {
        bool keep = i < f->keep_count;
        const struct keep_fact *k = keep ? &f->keeps[i] : &f->top[i - f->keep_count];
        struct node *n = add_node(c, keep ? NODE_KEEP : NODE_TOP, k->path);
        n->is_dir = k->is_dir;
        n->exists = true;
        n->target = k->target;
        n->dev = k->dev;
        n->ino = k->ino;
        n->why = keep ? "needed by programs" : "below '/'";
    }
    for (size_t i = 0; i < f->target_count; i++) {
        struct node *n = add_node(c, NODE_WRAP, f->targets[i].path);
        n->place = (uint32_t)i;
        n->dev = f->targets[i].dev;
        n->ino = f->targets[i].ino;
        n->why = "commands";
    }
    add_node(c, NODE_CWD, f->cwd)->why = "working directory";
}

static int compare_nodes(const void *left, const void *right)
{
    const struct node *a = left, *b = right;
    int r = precedence_path_order(a->path, b->path);

    if (r != 0)
        return r;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->kind == NODE_RULE ? strcmp(a->why, b->why) : 0; /* the same list for the same input */
}

/* The winner of nodes[0 … count): all rules, all at one path. */
static struct node pick_rule(const struct node *nodes, size_t count)
{
    const struct node *best = NULL, *plain = NULL; /* plain: without RULE_PROTECT */
    uint32_t cap = ACCESS_RW;
    const char *cap_why = NULL;

    for (size_t i = 0; i < count; i++) {
        if (nodes[i].rule->flags & RULE_FINAL) {
            if (nodes[i].rule->access < cap) {
                cap = nodes[i].rule->access;
                cap_why = nodes[i].why;
            }
            continue;
        }
        if (!best || precedence_compare(nodes[i].rule, best->rule) > 0)
            best = &nodes[i];
        if (!(nodes[i].rule->flags & RULE_PROTECT) &&
            (!plain || precedence_compare(nodes[i].rule, plain->rule) > 0))
            plain = &nodes[i];
    }
    if (plain && plain->rule->access <= best->rule->access)
        best = plain; /* as strict, and it does not ask what lies above */

    struct node result = best ? *best : nodes[0];

    result.cap = cap;
    if (plain && best != plain && (best->rule->flags & RULE_PROTECT))
        result.without = plain->rule;
    if (!best)
        result.rule = NULL;
    if (cap_why)
        result.why = cap_why;
    if (cap < ACCESS_RW)
        result.name_root = NULL;
    return result;
}

/* Rules of the user replace a cover; rules of presets do not. */
static bool rule_beats_cover(const struct node *rule)
{
    return rule->rule && rule->rule->origin > ORIGIN_BUILTIN;
}

/* One node a path, before pins and the rest. Returns the new count. */
static size_t pick_winners(struct node *nodes, size_t count)
{
    size_t out = 0;

    for (size_t i = 0, end; i < count; i = end) {
        struct node main = { .path = NULL };
        size_t rules = 0;

        for (end = i; end < count && str_eq(nodes[end].path, nodes[i].path); end++)
            rules += nodes[end].kind == NODE_RULE;
        if (rules)
            main = pick_rule(nodes + i, rules);
        for (size_t j = i + rules; j < end && nodes[j].kind < NODE_HOLD; j++) {
            bool cover = nodes[j].kind == NODE_COVER;
            bool only_cap = main.path && !main.rule;
            if (!main.path || only_cap || (cover && !rule_beats_cover(&main))) {
                uint32_t cap = main.path ? main.cap : (uint32_t)ACCESS_RW;
                main = nodes[j];
                main.cap = cap;
            }
            if (main.kind != NODE_RULE)
                break; /* the kinds are in the order of their strength */
        }
        size_t rest = i + rules;
        while (rest < end && nodes[rest].kind < NODE_HOLD)
            rest++;
        if (main.path)
            nodes[out++] = main;
        while (rest < end)
            nodes[out++] = nodes[rest++];
    }
    return out;
}

static void sort_nodes(struct node *nodes, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (compare_nodes(&nodes[i - 1], &nodes[i]) > 0) {
            qsort(nodes, count, sizeof *nodes, compare_nodes);
            return;
        }
}

/* Restrictions on absent paths become holds; grants of absent paths have done their work. */
static int32_t make_holds(struct collector *c)
{
    size_t out = 0;

    for (size_t i = 0; i < c->count; i++) {
        struct node n = c->nodes[i];

        if (n.kind == NODE_RULE && !n.exists) {
            uint32_t access = n.rule ? MIN_OF(n.rule->access, n.cap) : n.cap;
            if (access == ACCESS_RW || !n.target)
                continue;
            size_t skip = n.target[1] ? strlen(n.target) + 1 : 1;
            size_t len = skip + strcspn(n.path + skip, "/");
            n.kind = NODE_HOLD;
            n.path = arena_strndup(c->arena, n.path, len);
            if (!n.path)
                return err_nomem(c->err);
        }
        c->nodes[out++] = n;
    }
    c->count = out;
    sort_nodes(c->nodes, c->count); /* mostly in order already */
    return ABX_OK;
}

int32_t nodes_collect(const struct policy *policy, const struct facts *facts, struct arena *arena,
                      const struct node **ret, size_t *ret_count, abx_error **err)
{
    struct collector c = { .policy = policy, .facts = facts, .arena = arena, .err = err };
    size_t n = facts->path_count + PLACE_COUNT + facts->keep_count + facts->proc_count +
               facts->top_count + facts->target_count + 1;

    for (size_t i = 0; i < facts->path_count; i++)
        n += facts->paths[i].pin_count;
    c.nodes = arena_alloc(arena, n, sizeof *c.nodes);
    if (!c.nodes)
        return err_nomem(err);

    int32_t r = add_facts(&c);
    if (r != ABX_OK)
        return r;
    add_places(&c);
    add_entries(&c);
    qsort(c.nodes, c.count, sizeof *c.nodes, compare_nodes);
    c.count = pick_winners(c.nodes, c.count);
    r = make_holds(&c);
    if (r != ABX_OK)
        return r;
    *ret = c.nodes;
    *ret_count = c.count;
    return ABX_OK;
}
