/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random sets of rules in a small world of paths, and a slow model, plainly right, of what they
 * mean: the mounts of Linux and the profile of macOS are both held against it.
 */
#ifndef ABX_TESTS_ACCESS_MODEL_H
#define ABX_TESTS_ACCESS_MODEL_H

#include "base/str.h"
#include "lib/facts_case.h"

#define MAX_RULES  12
#define NAME_COUNT 3
#define DEPTH      4

static uint64_t seed = 1;

static inline unsigned random_below(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % n;
}

/* A path of the small world /a … /c/c/c/c. depth 0 is "/". */
static inline const char *random_path(struct arena *a, unsigned min_depth)
{
    static const char *const names[NAME_COUNT] = { "a", "b", "a-" };
    unsigned depth = min_depth + random_below(DEPTH + 1 - min_depth);
    char *path = arena_strdup(a, "");

    for (unsigned i = 0; i < depth; i++)
        path = arena_printf(a, "%s/%s", path, names[random_below(NAME_COUNT)]);
    return depth ? path : "/";
}

/* ---- the model: the table of PRODUCT.md 3, word by word ------------------------------------- */

static inline bool model_better(const struct policy_rule *a, const struct policy_rule *b)
{
    bool exact_a = !(a->flags & RULE_GLOB), exact_b = !(b->flags & RULE_GLOB);
    bool name_a = a->flags & RULE_NAME, name_b = b->flags & RULE_NAME;

    if (exact_a && !exact_b)
        return true;
    if (!exact_a && exact_b)
        return false;
    if (a->origin > b->origin)
        return true;
    if (a->origin < b->origin)
        return false;
    if (name_a != name_b)
        return name_b;
    return a->access < b->access;
}

static inline uint32_t model_open(struct facts_case *c, const char *path)
{
    for (const char *at = path;; at = path_parent(&c->arena, at)) {
        const struct policy_rule *best = NULL;
        for (size_t i = 0; i < c->facts.path_count; i++) {
            const struct policy_rule *rule = c->paths[i].rule;
            if (!(rule->flags & RULE_FINAL) && str_eq(c->paths[i].path, at) &&
                (!best || model_better(rule, best)))
                best = rule;
        }
        const struct policy_rule *plain = NULL; /* what would decide without protection */
        for (size_t i = 0; i < c->facts.path_count; i++) {
            const struct policy_rule *rule = c->paths[i].rule;
            if (!(rule->flags & (RULE_FINAL | RULE_PROTECT)) && str_eq(c->paths[i].path, at) &&
                (!plain || model_better(rule, plain)))
                plain = rule;
        }
        if (best && plain && (best->flags & RULE_PROTECT))
            return best->access < plain->access ? best->access : plain->access;
        if (best && (best->flags & RULE_PROTECT) && at[1]) {
            uint32_t above = model_open(c, path_parent(&c->arena, at));
            return best->access < above ? best->access : above;
        }
        if (best && (best->flags & RULE_PROTECT))
            return best->access < ACCESS_RO ? best->access : (uint32_t)ACCESS_RO;
        if (best)
            return best->access;
        if (!at[1])
            return ACCESS_RO;
    }
}

static inline uint32_t model(struct facts_case *c, const char *path)
{
    uint32_t access = model_open(c, path);

    for (size_t i = 0; i < c->facts.path_count; i++)
        if ((c->paths[i].rule->flags & RULE_FINAL) && c->paths[i].rule->access < access &&
            path_is_beneath(path, c->paths[i].path))
            access = c->paths[i].rule->access;
    return access;
}

static inline void random_rules(struct facts_case *c, unsigned min_depth)
{
    unsigned n = 1 + random_below(MAX_RULES);

    for (unsigned i = 0; i < n; i++) {
        uint32_t flags = 0;
        if (random_below(4) == 0)
            flags |= RULE_GLOB;
        if (random_below(6) == 0)
            flags |= RULE_FINAL;
        else if (random_below(5) == 0)
            flags |= RULE_PROTECT | (random_below(2) ? RULE_NAME : 0);
        case_rule(c, random_below(3), random_below(ORIGIN_COUNT), flags,
                  random_path(&c->arena, min_depth), "d");
    }
}

#endif
