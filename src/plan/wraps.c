/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second half of `commands` in a plan. A covered program is needed by its wrapper, so it is
 * also mounted in a directory of this run's, whose name cannot be guessed and which cannot be
 * listed:
 *
 *   /run/agentbox/<secret>/<number>/<its own name>     the real program
 *                                  /<name of a rule>   links to it, for programs that look at their
 *                                                      name
 *   /run/agentbox/<secret>/s<number>/<script>          a script of the user's
 *
 * Trusts that the mounts were compiled: what is hidden there has no operation and stays hidden.
 */
#include "plan/wraps.h"

#include <string.h>

#include "base/path.h"
#include "base/str.h"

#define ROOTS_BYTES 2048 /* half of what a wrapper can know */

struct wraps {
    const struct facts *facts;
    struct arena *arena;
    struct mount_op *ops; /* those that are there, then ours */
    size_t op_count;
    const char **words;
    size_t word_count;
    const char *root;
    const char *tmp; /* the private one, or "" */
    const char *roots[WRAP_MAX_ROOTS];
    size_t root_count;
    bool failed; /* out of memory */
};

static void add_op(struct wraps *w, uint32_t kind, const char *path, const char *text,
                   uint32_t mode)
{
    if (!path || !text)
        w->failed = true;
    else
        w->ops[w->op_count++] =
            (struct mount_op){ .kind = kind, .path = path, .text = text, .mode = mode };
}

static void add_word(struct wraps *w, const char *word)
{
    if (!word)
        w->failed = true;
    else
        w->words[w->word_count++] = word;
}

/* A file of the host, also at path. */
static void add_copy(struct wraps *w, const char *path, const char *source, uint64_t dev,
                     uint64_t ino)
{
    add_op(w, MOUNT_FILE, path, "mount point", 0444);
    add_op(w, MOUNT_COPY, path, source, 0);
    if (w->failed)
        return;
    w->ops[w->op_count - 1].flags = MOUNT_EARLY;
    w->ops[w->op_count - 1].dev = dev;
    w->ops[w->op_count - 1].ino = ino;
}

static bool command_has(const struct command_fact *c, uint32_t target)
{
    for (size_t i = 0; i < c->target_count; i++)
        if (c->targets[i] == target)
            return true;
    return false;
}

/* The real program, and its other names. */
static const char *add_real(struct wraps *w, uint32_t target)
{
    const struct target_fact *t = &w->facts->targets[target];
    const char *dir = arena_printf(w->arena, "%s/%u", w->root, target);
    const char *own = path_basename(t->path);
    const char *path = dir ? path_join(w->arena, dir, own) : NULL;

    if (t->real)
        return t->real;
    add_op(w, MOUNT_DIR, dir, "a wrapped program", 0111);
    add_copy(w, path, t->path, t->dev, t->ino);
    for (size_t i = 0; i < w->facts->command_count && !w->failed; i++) {
        const struct command_fact *c = &w->facts->commands[i];
        if (command_has(c, target) && !str_eq(c->rule->name, own))
            add_op(w, MOUNT_LINK, path_join(w->arena, dir, c->rule->name), own, 0);
    }
    return path;
}

static const char *rule_action(struct wraps *w, size_t command)
{
    const struct command_fact *c = &w->facts->commands[command];

    if (c->rule->kind == COMMAND_GUARD)
        return arena_printf(w->arena, "%c%s", WRAP_GUARD, c->rule->text);
    if (c->rule->kind == COMMAND_SCRIPT)
        return arena_printf(w->arena, "%c%s/s%zu/%s", WRAP_SCRIPT, w->root, command,
                            path_basename(c->script));
    return arena_printf(w->arena, "%c", WRAP_BLOCK);
}

static void add_script(struct wraps *w, size_t command)
{
    const struct command_fact *c = &w->facts->commands[command];
    const char *dir = arena_printf(w->arena, "%s/s%zu", w->root, command);

    if (c->rule->kind != COMMAND_SCRIPT)
        return;
    add_op(w, MOUNT_DIR, dir, "a wrapper", 0111);
    if (!w->failed)
        add_copy(w, path_join(w->arena, dir, path_basename(c->script)), c->script, c->script_dev,
                 c->script_ino);
}

/*
 * What is thrown away in the private /tmp was nobody's; what is mounted there from the host is not
 * in it. Only what is not below another one is named.
 */
static void find_private(struct wraps *w, const struct policy *policy, const struct plan *plan)
{
    const char *tmp = w->facts->places[PLACE_TMP];
    size_t size = 0;

    w->tmp = policy->tmp_private && tmp ? tmp : "";
    for (uint32_t i = 0; i < plan->mount_count && w->tmp[0]; i++) {
        const char *path = plan->mounts[i].path;
        bool named = plan->mounts[i].kind != MOUNT_BIND_RW || !path_is_beneath(path, tmp);
        for (size_t j = 0; j < w->root_count && !named; j++)
            named = path_is_beneath(path, w->roots[j]);
        if (named)
            continue;
        size += strlen(path) + 1;
        if (w->root_count == WRAP_MAX_ROOTS || size > ROOTS_BYTES) {
            w->tmp = "";
            w->root_count = 0;
        } else {
            w->roots[w->root_count++] = path;
        }
    }
}

static size_t words_size(const struct wraps *w, size_t from)
{
    size_t size = 0;

    for (size_t i = from; i < w->word_count; i++)
        size += strlen(w->words[i]) + 1;
    return size;
}

static int32_t add_cover(struct wraps *w, uint32_t target, struct mount_op *op, abx_error **err)
{
    const struct target_fact *t = &w->facts->targets[target];
    size_t first = w->word_count;

    add_word(w, add_real(w, target));
    add_word(w, path_basename(t->path));
    add_word(w, w->tmp);
    for (size_t i = 0; i < w->root_count; i++)
        add_word(w, w->roots[i]);
    add_word(w, "");
    for (size_t i = 0; i < w->facts->command_count && !w->failed; i++) {
        const struct command_fact *c = &w->facts->commands[i];
        if (!command_has(c, target))
            continue;
        add_word(w, c->rule->name);
        add_word(w, rule_action(w, i));
        op->text = c->rule->source;
    }
    if (w->failed)
        return err_nomem(err);
    op->flags |= t->real ? MOUNT_LINKED : 0;
    op->size = first;
    op->mode = (uint32_t)(w->word_count - first);
    if (words_size(w, first) <= sizeof((struct wrap_slot *)NULL)->text)
        return ABX_OK;
    int32_t r = err_new(err, ABX_E_CONFIG, "wrap '%s': too many rules, or too long names", t->path);
    err_subject(err, "commands");
    err_hint(err, "use fewer names of one program in `commands` (--cmd)");
    return r;
}

int32_t wraps_compile(const struct policy *policy, const struct facts *facts, const uint32_t *wraps,
                      struct arena *arena, struct plan *plan, abx_error **err)
{
    const size_t commands = facts->command_count, targets = facts->target_count;
    struct wraps w = { .facts = facts, .arena = arena, .op_count = plan->mount_count };
    int32_t r = ABX_OK;

    if (!facts->places[PLACE_RUN] || !str_eq(facts->places[PLACE_RUN], "/run"))
        return err_new(err, ABX_E_UNSUPPORTED, "wrap commands: this system has no /run");
    w.ops = arena_alloc(arena, plan->mount_count + (targets + commands) * (commands + 4) + 1,
                        sizeof *w.ops);
    find_private(&w, policy, plan);
    w.words = arena_alloc(arena, targets * (2 * commands + w.root_count + 4) + 1, sizeof *w.words);
    w.root = arena_printf(arena, "%s/%s", facts->own_dir, facts->secret);
    if (!w.ops || !w.words || !w.root)
        return err_nomem(err);
    memcpy(w.ops, plan->mounts, plan->mount_count * sizeof *w.ops);
    add_op(&w, MOUNT_DIR, w.root, "of wrapped programs", 0111);
    for (uint32_t i = 0; i < targets && r == ABX_OK; i++)
        if (wraps[i] != WRAPS_NO_OP)
            r = add_cover(&w, i, &w.ops[wraps[i]], err);
    for (size_t i = 0; i < commands && r == ABX_OK; i++)
        add_script(&w, i);
    if (r != ABX_OK || w.failed)
        return r != ABX_OK ? r : err_nomem(err);
    plan->mounts = w.ops;
    plan->mount_count = (uint32_t)w.op_count;
    plan->words = w.words;
    plan->word_count = (uint32_t)w.word_count;
    return ABX_OK;
}
