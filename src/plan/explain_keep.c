/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of a plan while its run goes on, perhaps for hours: as much as explaining a refusal
 * takes (explain.c), and nothing of what the plan was made from. Whatever is not named here is
 * zero in the copy, never the original's: that goes away.
 *
 * Left out are rules that were about nothing, which only answers about what is allowed speak of,
 * and the programs that are covered, which only `why` asks about.
 *
 * Each keep_x has a same_x beside it, which compares what that one copies: runs of one project, of
 * which a host may have hundreds, share one copy (api/kept.c).
 */
#include "base/str.h"
#include "plan/explain.h"

struct keeper {
    struct arena *arena;
    bool failed;
};

static const char *keep_text(struct keeper *k, const char *text)
{
    const char *copy = text ? arena_strdup(k->arena, text) : NULL;

    k->failed = k->failed || (text && !copy);
    return copy;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && str_eq(a, b));
}

static void *keep_room(struct keeper *k, size_t count, size_t size)
{
    void *room = arena_alloc(k->arena, count, size);

    k->failed = k->failed || !room;
    return room;
}

static const struct policy *keep_policy(struct keeper *k, const struct policy *from)
{
    struct policy *to = keep_room(k, 1, sizeof *to);
    struct policy_command *commands = keep_room(k, from->command_count, sizeof *commands);

    if (k->failed)
        return NULL;
    for (size_t i = 0; i < from->command_count; i++) {
        const struct policy_command *c = &from->commands[i];

        commands[i] = (struct policy_command){ c->kind, c->origin, keep_text(k, c->name),
                                               keep_text(k, c->text), keep_text(k, c->source) };
    }
    *to = (struct policy){
        .presets = from->presets,
        .tmp_private = from->tmp_private,
        .network = from->network,
        .network_origin = from->network_origin,
        .network_source = keep_text(k, from->network_source),
        .commands = commands,
        .command_count = from->command_count,
    };
    return to;
}

static bool same_command(const struct policy_command *a, const struct policy_command *b)
{
    return a->kind == b->kind && a->origin == b->origin && same_text(a->name, b->name) &&
           same_text(a->text, b->text) && same_text(a->source, b->source);
}

static bool same_policy(const struct policy *a, const struct policy *b)
{
    bool same = a->presets == b->presets && a->tmp_private == b->tmp_private &&
                a->network == b->network && a->network_origin == b->network_origin &&
                same_text(a->network_source, b->network_source) &&
                a->command_count == b->command_count;

    for (size_t i = 0; same && i < a->command_count; i++)
        same = same_command(&a->commands[i], &b->commands[i]);
    return same;
}

static const struct policy_rule *keep_rule(struct keeper *k, const struct policy_rule *from)
{
    struct policy_rule *to = keep_room(k, 1, sizeof *to);

    if (to)
        *to = (struct policy_rule){ from->access, from->origin, from->flags,
                                    keep_text(k, from->text), keep_text(k, from->source) };
    return to;
}

static bool same_rule(const struct policy_rule *a, const struct policy_rule *b)
{
    return a->access == b->access && a->origin == b->origin && a->flags == b->flags &&
           same_text(a->text, b->text) && same_text(a->source, b->source);
}

static const struct facts *keep_facts(struct keeper *k, const struct facts *from)
{
    struct facts *to = keep_room(k, 1, sizeof *to);
    struct path_fact *paths = keep_room(k, from->path_count, sizeof *paths);

    for (size_t i = 0; !k->failed && i < from->path_count; i++) {
        const struct path_fact *f = &from->paths[i];
        const bool again = i > 0 && f->rule == f[-1].rule; /* the matches of a pattern */

        paths[i] = (struct path_fact){ .rule = again ? paths[i - 1].rule : keep_rule(k, f->rule),
                                       .why = keep_text(k, f->why),
                                       .path = keep_text(k, f->path) };
    }
    if (k->failed)
        return NULL;
    *to = (struct facts){
        .home = keep_text(k, from->home),
        .cwd = keep_text(k, from->cwd),
        .paths = paths,
        .path_count = from->path_count,
    };
    for (size_t i = 0; i < PLACE_COUNT; i++)
        to->places[i] = keep_text(k, from->places[i]);
    return to;
}

static bool same_facts(const struct facts *a, const struct facts *b)
{
    bool same = same_text(a->home, b->home) && same_text(a->cwd, b->cwd) &&
                a->path_count == b->path_count;

    for (size_t i = 0; same && i < PLACE_COUNT; i++)
        same = same_text(a->places[i], b->places[i]);
    for (size_t i = 0; same && i < a->path_count; i++) {
        const struct path_fact *f = &a->paths[i], *g = &b->paths[i];

        same = same_rule(f->rule, g->rule) && same_text(f->why, g->why) &&
               same_text(f->path, g->path);
    }
    return same;
}

static const struct plan *keep_plan(struct keeper *k, const struct plan *from)
{
    struct plan *to = keep_room(k, 1, sizeof *to);
    struct mount_op *mounts = keep_room(k, from->mount_count, sizeof *mounts);

    if (k->failed)
        return NULL;
    for (uint32_t i = 0; i < from->mount_count; i++) {
        const struct mount_op *op = &from->mounts[i];

        mounts[i] = (struct mount_op){ .kind = op->kind,
                                       .flags = op->flags,
                                       .mode = op->mode,
                                       .path = keep_text(k, op->path),
                                       .text = keep_text(k, op->text) };
    }
    *to = (struct plan){ .backend = from->backend, .mounts = mounts };
    to->mount_count = from->mount_count;
    return to;
}

static bool same_plan(const struct plan *a, const struct plan *b)
{
    bool same = a->backend == b->backend && a->mount_count == b->mount_count;

    for (uint32_t i = 0; same && i < a->mount_count; i++) {
        const struct mount_op *m = &a->mounts[i], *n = &b->mounts[i];

        same = m->kind == n->kind && m->flags == n->flags && m->mode == n->mode &&
               same_text(m->path, n->path) && same_text(m->text, n->text);
    }
    return same;
}

bool explain_same(const struct explain_context *a, const struct explain_context *b)
{
    /* The view follows from the plan. */
    return same_policy(a->policy, b->policy) && same_facts(a->facts, b->facts) &&
           same_plan(a->plan, b->plan);
}

bool explain_keep(const struct explain_context *from, struct arena *arena,
                  struct explain_context *ret)
{
    struct keeper k = { .arena = arena };
    struct view_entry *entries = keep_room(&k, from->view.count, sizeof *entries);
    struct explain_context kept = {
        .policy = keep_policy(&k, from->policy),
        .facts = keep_facts(&k, from->facts),
        .plan = keep_plan(&k, from->plan),
        .view = { entries, from->view.count },
    };

    if (k.failed)
        return false;
    for (size_t i = 0; i < from->view.count; i++) {
        const struct view_entry *e = &from->view.entries[i];

        entries[i] = (struct view_entry){ kept.plan->mounts + (e->op - from->plan->mounts),
                                          e->parent };
    }
    *ret = kept;
    return true;
}
