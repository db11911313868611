/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second half of the mount compiler: one walk over the sorted nodes, with a stack of regions.
 *
 * A region is a directory below which one access holds until a deeper node changes it. What an
 * access costs depends on where it lies: a read-only path inside a writable region needs a mount
 * and pins on the directories above it (or they could be renamed, and the mount with them); inside
 * a read-only region it needs nothing. A grant inside a hidden region turns the mask into a sealed
 * tmpfs that holds nothing but the mount points, mode 0111: what lies beside them cannot be listed.
 *
 * Invariants: parents come before children; a path gets at most one mount; whatever is writable is
 * a BIND_RW, a PIN or a tmpfs of the plan; each name that is only held gets a BIND_RO on its
 * placeholder.
 * "/" is never mounted (nothing can be mounted over the root of a process): where a rule makes it
 * writable, each of its entries is, one by one, and new entries in "/" itself stay impossible.
 */
#include "plan/mounts.h"

#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "plan/nodes.h"
#include "plan/protocol.h"
#include "plan/regions.h"
#include "plan/wraps.h"

#define TMP_DEFAULT_BYTES (UINT64_C(2) << 30)
#define COVER_BYTES       (UINT64_C(1) << 20) /* mount points only */
#define NO_OP             WRAPS_NO_OP

enum region_state { REGION_OPEN, REGION_WRITABLE, REGION_HIDDEN, REGION_PRIVATE, REGION_SYSTEM };

struct walk {
    const struct policy *policy;
    const struct facts *facts;
    struct arena *arena;
    abx_error **err;
    bool failed;             /* out of memory */
    bool hides;              /* somebody hides something that is not hidden by default */
    struct mount_op nowhere; /* written to when out of memory, never read */

    struct mount_op *ops;
    struct landlock_rule *rules;
    struct regions regions;
    const char **mounted; /* what is a mount, a pin or a made directory, above the current node */
    const char **held;    /* placeholders */
    uint32_t *wraps;      /* the operation of each target; NO_OP: hidden, so not covered */
    size_t op_count, op_room, rule_count, rule_room;
    size_t mounted_count, mounted_room, held_count, held_room;
};

/* Room for one more in a list of the walk; false: no memory, and it is noted. */
#define GROW(w, items, count, room)                                                                \
    ({                                                                                             \
        void *grown_ = arena_grow((w)->arena, (w)->items, (w)->count, sizeof *(w)->items, 32,      \
                                  &(w)->room);                                                     \
        if (grown_)                                                                                \
            (w)->items = grown_;                                                                   \
        else                                                                                       \
            (w)->failed = true;                                                                    \
        grown_ != NULL;                                                                            \
    })

static struct mount_op *add_op(struct walk *w, uint32_t kind, const char *path, const char *text)
{
    if (!path || !text || !GROW(w, ops, op_count, op_room)) {
        w->failed = true;
        return &w->nowhere;
    }
    struct mount_op *op = &w->ops[w->op_count++];
    *op = (struct mount_op){ .kind = kind, .path = path, .text = text };
    return op;
}

static void add_rule(struct walk *w, uint32_t grant, uint32_t flags, const char *path)
{
    if (GROW(w, rules, rule_count, rule_room))
        w->rules[w->rule_count++] = (struct landlock_rule){ grant, flags, path };
}

static void add_mounted(struct walk *w, const char *path)
{
    if (path && GROW(w, mounted, mounted_count, mounted_room))
        w->mounted[w->mounted_count++] = path;
}

static const char *last_mounted(const struct walk *w)
{
    return w->mounted_count ? w->mounted[w->mounted_count - 1] : "/";
}

static void add_region(struct walk *w, const struct region *region)
{
    if (!regions_push(&w->regions, w->arena, region))
        w->failed = true;
}

static struct region *here(const struct walk *w)
{
    return regions_top(&w->regions);
}

static uint32_t region_access(const struct region *r)
{
    if (r->state == REGION_OPEN)
        return ACCESS_RO;
    return r->state == REGION_WRITABLE ? ACCESS_RW : ACCESS_EXCLUDE;
}

/* Drops what does not lie above path. */
static void leave(struct walk *w, const char *path)
{
    regions_leave(&w->regions, path);
    while (w->mounted_count && !path_is_beneath(path, last_mounted(w)))
        w->mounted_count--;
}

/* A pin or a new directory for each directory between the last mount and path. */
static void add_between(struct walk *w, const char *path, uint32_t kind, uint32_t mode,
                        const char *why)
{
    const char *above = last_mounted(w);
    size_t pos = above[1] ? strlen(above) : 0;

    if (str_eq(above, path))
        return;
    for (;;) {
        pos += 1 + strcspn(path + pos + 1, "/");
        if (!path[pos])
            return;
        const char *dir = arena_strndup(w->arena, path, pos);
        add_op(w, kind, dir, why)->mode = mode;
        add_mounted(w, dir);
        if (w->failed)
            return;
    }
}

/* Whether path lies right in the directory that was mounted or made last. */
static bool is_next_to_mount(const struct walk *w, const char *path)
{
    const char *above = last_mounted(w);
    size_t len = above[1] ? strlen(above) : 0;

    return !path[len] || !strchr(path + len + 1, '/');
}

static void add_pins(struct walk *w, const char *path, const char *why)
{
    if (here(w)->state == REGION_WRITABLE && !is_next_to_mount(w, path))
        add_between(w, path, MOUNT_PIN, 0, arena_printf(w->arena, "holds %s", why));
}

/* Makes path, in a hidden or private region, something that can be mounted on. */
static void add_mount_point(struct walk *w, const struct node *n, bool itself)
{
    struct region *r = here(w);
    bool hidden = r->state == REGION_HIDDEN;
    uint32_t mode = hidden ? 0111 : 0755;

    if (hidden && r->mask != NO_OP) {
        struct mount_op *op = &w->ops[r->mask];
        if (op->kind == MOUNT_MASK_DIR)
            *op = (struct mount_op){ .kind = MOUNT_TMPFS,
                                     .flags = MOUNT_SEAL,
                                     .mode = 0111,
                                     .size = COVER_BYTES,
                                     .path = op->path,
                                     .text = op->text };
    }
    add_between(w, n->path, MOUNT_DIR, mode, "mount point");
    if (itself)
        add_op(w, n->is_dir ? MOUNT_DIR : MOUNT_FILE, n->path, "mount point")->mode =
            n->is_dir ? mode : mode & 0666;
}

static void bind_node(struct walk *w, const struct node *n, uint32_t access)
{
    bool covered = region_access(here(w)) == ACCESS_EXCLUDE;
    bool optional = n->kind == NODE_KEEP ||
                    (access == ACCESS_RW && n->rule && (n->rule->flags & RULE_IF_PRESENT));

    if (covered)
        add_mount_point(w, n, true);
    else
        add_pins(w, n->path, n->why);

    struct mount_op *op = add_op(w, access == ACCESS_RW ? MOUNT_BIND_RW : MOUNT_BIND_RO, n->path,
                                 n->why);
    op->dev = n->dev;
    op->ino = n->ino;
    op->flags = (covered ? MOUNT_EARLY : 0) | (optional ? MOUNT_OPTIONAL : 0);
    if (access == ACCESS_RW && str_eq(n->path, w->facts->cwd))
        op->flags |= MOUNT_CWD;
    if (access == ACCESS_RW)
        add_rule(w, GRANT_WRITE, optional ? MOUNT_OPTIONAL : 0, n->path);
    add_mounted(w, n->path);
}

/* Programs look into /sys for what they may use; that it is hidden concerns nobody. */
static void mask_node(struct walk *w, const struct node *n, const struct policy_rule *rule)
{
    add_pins(w, n->path, n->why);
    struct mount_op *op = add_op(w, n->is_dir ? MOUNT_MASK_DIR : MOUNT_MASK_FILE, n->path, n->why);
    op->dev = n->dev;
    op->ino = n->ino;
    op->flags = str_eq(n->path, "/sys") ? 0 : MOUNT_TELLS;
    w->hides = w->hides || (rule && rule->origin != ORIGIN_BUILTIN);
    add_mounted(w, n->path);
}

static void visit_rule(struct walk *w, const struct node *n)
{
    const struct region *r = here(w);
    const struct policy_rule *rule;
    struct region new;

    if (!regions_open(&w->regions, n, &new, &rule))
        return;
    uint32_t access = new.access;
    bool socket = access == ACCESS_RO && rule && (rule->flags & RULE_SOCKET);

    if ((access != region_access(r) || socket) && n->path[1] && r->state != REGION_SYSTEM) {
        new.mask = NO_OP;
        if (access == ACCESS_EXCLUDE) {
            mask_node(w, n, rule);
            new.state = REGION_HIDDEN;
            new.mask = (uint32_t)w->op_count - 1;
        } else {
            bind_node(w, n, access);
            if (socket && !w->failed)
                w->ops[w->op_count - 1].flags |= MOUNT_SOCKET;
            new.state = access == ACCESS_RW ? REGION_WRITABLE : REGION_OPEN;
        }
    }
    add_region(w, &new);
}

static uint64_t tmp_bytes(const struct policy *p)
{
    if (p->tmp_bytes)
        return p->tmp_bytes;
    return p->max_memory ? MIN_OF(p->max_memory, TMP_DEFAULT_BYTES) : TMP_DEFAULT_BYTES;
}

static void cover_run(struct walk *w, const struct node *n)
{
    struct mount_op *op = add_op(w, MOUNT_TMPFS, n->path, n->why);

    op->mode = 0755;
    op->size = COVER_BYTES;
    op->flags = MOUNT_SEAL;
    if (!str_eq(n->path, "/run"))
        return;
    const char *own = w->facts->own_dir ? w->facts->own_dir : "/run/agentbox";
    add_op(w, MOUNT_DIR, own, "of this sandbox")->mode = 0111;
    add_op(w, MOUNT_FILE, arena_printf(w->arena, "%s/inside", own), "marks the sandbox")->mode =
        0444;
}

static void visit_cover(struct walk *w, const struct node *n)
{
    struct mount_op *op;
    struct region new = *here(w);

    new.path = n->path;
    new.state = n->place == PLACE_PROC || n->place == PLACE_DEV ? REGION_SYSTEM : REGION_PRIVATE;
    new.access = new.uncapped = ACCESS_EXCLUDE;
    new.cap = MIN_OF(new.cap, n->cap); /* for what a rule lets in below it */
    new.mask = NO_OP;
    new.is_root = false;
    if (here(w)->state == REGION_HIDDEN || here(w)->state == REGION_PRIVATE)
        add_mount_point(w, &(struct node){ .path = n->path, .is_dir = true }, true);
    else
        add_pins(w, n->path, n->why);

    switch (n->place) {
    case PLACE_TMP:
        op = add_op(w, MOUNT_TMPFS, n->path, n->why);
        op->mode = 01777;
        op->size = tmp_bytes(w->policy);
        add_rule(w, GRANT_WRITE, 0, n->path);
        break;
    case PLACE_RUN:
        cover_run(w, n);
        break;
    case PLACE_PROC:
        op = add_op(w, MOUNT_PROC, n->path, n->why);
        /* Root's number alone lets it write sysctls of the host. */
        if (w->policy->nested && !w->facts->is_root) {
            op->flags = MOUNT_WRITABLE;
            add_rule(w, GRANT_WRITE, 0, n->path);
        }
        break;
    case PLACE_DEV:
        add_op(w, MOUNT_DEV, n->path, n->why)->size = tmp_bytes(w->policy) / 2;
        add_rule(w, GRANT_DEVICE, 0, n->path);
        break;
    default: /* PLACE_SHM: part of the new /dev */
        add_rule(w, GRANT_WRITE, 0, n->path);
        break;
    }
    add_mounted(w, n->path);
    add_region(w, &new);
}

static void visit_hold(struct walk *w, const struct node *n)
{
    struct region new = *here(w);

    if (here(w)->state != REGION_WRITABLE || str_eq(last_mounted(w), n->path) ||
        !regions_name_counts(&w->regions, n->name_root))
        return;
    add_pins(w, n->path, n->why);
    add_op(w, MOUNT_BIND_RO, n->path, n->why)->flags = MOUNT_HELD;
    add_mounted(w, n->path);
    if (GROW(w, held, held_count, held_room))
        w->held[w->held_count++] = n->path;
    new.path = n->path;
    new.state = REGION_OPEN;
    new.access = new.uncapped = ACCESS_RO;
    new.is_root = false;
    add_region(w, &new);
}

static void visit_pin(struct walk *w, const struct node *n)
{
    if (here(w)->state != REGION_WRITABLE || str_eq(last_mounted(w), n->path))
        return;
    add_pins(w, n->path, n->why);
    struct mount_op *op = add_op(w, MOUNT_PIN, n->path,
                                 arena_printf(w->arena, "leads to %s", n->why));
    op->dev = n->dev;
    op->ino = n->ino;
    op->flags = n->is_link ? MOUNT_LINKED : 0;
    add_mounted(w, n->path);
}

static void visit_keep(struct walk *w, const struct node *n)
{
    if (here(w)->state != REGION_PRIVATE)
        return;
    if (!n->target) {
        bind_node(w, n, ACCESS_RO);
        return;
    }
    add_mount_point(w, n, false);
    add_op(w, MOUNT_LINK, n->path, n->target);
}

/* Whatever else was to be mounted on the program, its cover is as strict. */
static void visit_wrap(struct walk *w, const struct node *n)
{
    struct mount_op *op = w->op_count ? &w->ops[w->op_count - 1] : NULL;

    if (region_access(here(w)) == ACCESS_EXCLUDE || !w->wraps)
        return;
    if (!op || !str_eq(op->path, n->path)) {
        add_pins(w, n->path, n->why);
        op = add_op(w, MOUNT_WRAP, n->path, n->why);
        add_mounted(w, n->path);
    }
    *op = (struct mount_op){
        .kind = MOUNT_WRAP, .path = n->path, .text = n->why, .dev = n->dev, .ino = n->ino
    };
    w->wraps[n->place] = (uint32_t)w->op_count - 1;
}

static int32_t visit_cwd(struct walk *w, const struct node *n)
{
    const struct region *r = here(w);
    bool is_cover = r->state != REGION_HIDDEN && str_eq(last_mounted(w), n->path); /* /tmp itself */

    if (region_access(r) != ACCESS_EXCLUDE || is_cover)
        return ABX_OK;
    return nodes_refuse_cwd(n->path, w->err);
}

static int32_t visit(struct walk *w, const struct node *n)
{
    leave(w, n->path);
    switch (n->kind) {
    case NODE_RULE:
    case NODE_TOP:
        visit_rule(w, n);
        break;
    case NODE_COVER:
        visit_cover(w, n);
        break;
    case NODE_MASK:
        if (here(w)->state == REGION_SYSTEM)
            add_op(w, n->is_dir ? MOUNT_MASK_DIR : MOUNT_MASK_FILE, n->path, n->why)->flags =
                MOUNT_OPTIONAL;
        break;
    case NODE_KEEP:
        visit_keep(w, n);
        break;
    case NODE_HOLD:
        visit_hold(w, n);
        break;
    case NODE_PIN:
        visit_pin(w, n);
        break;
    case NODE_WRAP:
        visit_wrap(w, n);
        break;
    case NODE_CWD:
        return visit_cwd(w, n);
    }
    return ABX_OK;
}

/* The parent of a held name ends at this byte. */
static size_t parent_length(const char *path)
{
    return (size_t)(path_basename(path) - path) - 1;
}

static bool same_parent(const char *a, const char *b)
{
    return parent_length(a) == parent_length(b) && memcmp(a, b, parent_length(a)) == 0;
}

/* Groups the placeholders by directory. */
static int32_t make_holds(struct walk *w, struct plan *plan)
{
    struct plan_hold *holds = arena_alloc(w->arena, LAUNCH_MAX_HOLDS, sizeof *holds);
    bool *done = arena_alloc(w->arena, w->held_count, sizeof *done);

    if (!holds || !done)
        return err_nomem(w->err);
    for (size_t i = 0; i < w->held_count; i++) {
        if (done[i])
            continue;
        if (plan->hold_count == LAUNCH_MAX_HOLDS) {
            int32_t r = err_new(w->err, ABX_E_CONFIG,
                                "protect absent names in more than %d directories, '%s' among them",
                                LAUNCH_MAX_HOLDS, w->held[i]);
            err_subject(w->err, w->held[i]);
            err_hint(w->err, "name a common parent, or make the directories");
            return r;
        }
        struct plan_hold *hold = &holds[plan->hold_count++];
        const char **names = arena_alloc(w->arena, w->held_count - i, sizeof *names);
        hold->directory = arena_strndup(w->arena, w->held[i], MAX_OF(parent_length(w->held[i]), 1));
        if (!names || !hold->directory)
            return err_nomem(w->err);
        for (size_t j = i; j < w->held_count; j++)
            if (!done[j] && same_parent(w->held[i], w->held[j])) {
                names[hold->count++] = path_basename(w->held[j]);
                done[j] = true;
            }
        hold->names = names;
    }
    plan->holds = holds;
    return ABX_OK;
}

/* Masks that tell cost a run something: only for who asked for one. */
static void choose_masks(struct walk *w, struct plan *plan)
{
    plan->reads = plan->reads && w->hides;
    for (size_t i = 0; i < w->op_count && !plan->reads; i++)
        w->ops[i].flags &= ~MOUNT_TELLS;
}

static int32_t check_counts(const struct walk *w, abx_error **err)
{
    size_t held = 0;
    int32_t r = ABX_OK;

    for (size_t i = 0; i < w->op_count; i++)
        held += (w->ops[i].flags & MOUNT_HELD) != 0;
    if (w->op_count > PLAN_MAX_MOUNTS || w->rule_count > PLAN_MAX_RULES) {
        r = err_new(err, ABX_E_CONFIG, "the rules need %zu mounts; at most %u are possible",
                    w->op_count, PLAN_MAX_MOUNTS);
        err_hint(err, "name parents instead of many single paths");
    } else if (held > PLAN_MAX_HELD) {
        r = err_new(err, ABX_E_CONFIG,
                    "the rules speak about %zu names that do not exist; at most %u can be held",
                    held, PLAN_MAX_HELD);
        err_hint(err, "name the directory that they would lie in; a pattern speaks about what "
                      "exists only");
    }
    return r;
}

int32_t mounts_compile(const struct policy *policy, const struct facts *facts, struct arena *arena,
                       struct plan *plan, abx_error **err)
{
    struct walk w = { .policy = policy, .facts = facts, .arena = arena, .err = err };
    const struct node *nodes;
    size_t count;
    int32_t r = nodes_collect(policy, facts, arena, &nodes, &count, err);

    if (r != ABX_OK)
        return r;
    w.wraps = arena_alloc(arena, facts->target_count + 1, sizeof *w.wraps);
    if (!w.wraps)
        return err_nomem(err);
    memset(w.wraps, 0xff, facts->target_count * sizeof *w.wraps); /* NO_OP */
    w.op_room = count + 32;
    w.ops = arena_alloc(arena, w.op_room, sizeof *w.ops);
    if (!w.ops)
        return err_nomem(err);
    add_region(&w, &(struct region){ .path = "/",
                                     .access = ACCESS_RO,
                                     .uncapped = ACCESS_RO,
                                     .cap = ACCESS_RW,
                                     .state = REGION_OPEN,
                                     .mask = NO_OP });
    add_rule(&w, GRANT_READ, 0, "/");
    for (size_t i = 0; i < count && r == ABX_OK && !w.failed; i++)
        r = visit(&w, &nodes[i]);
    if (w.failed)
        return err_nomem(err);
    if (r == ABX_OK)
        r = make_holds(&w, plan);
    if (r != ABX_OK)
        return r;
    r = check_counts(&w, err);
    if (r != ABX_OK)
        return r;
    choose_masks(&w, plan);
    plan->mounts = w.ops;
    plan->mount_count = (uint32_t)w.op_count;
    plan->rules = w.rules;
    plan->rule_count = (uint32_t)w.rule_count;
    return facts->command_count ? wraps_compile(policy, facts, w.wraps, arena, plan, err) : ABX_OK;
}
