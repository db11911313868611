/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The precedence table of precedence.h, one question at a time. plan/mounts.c answers the same
 * questions for a whole sorted list at once; tests/unit/test_precedence.c holds both against a
 * third, slower one. Trusts that paths are clean and canonical.
 */
#include "policy/precedence.h"

#include <string.h>

#include "base/path.h"

int precedence_path_order(const char *a, const char *b)
{
    /* "/" is the empty path: it comes before everything. */
    if (!a[1] || !b[1])
        return (a[1] != '\0') - (b[1] != '\0');
    while (*a && *a == *b) {
        a++;
        b++;
    }
    unsigned x = *a == '/' ? 1 : *a ? (unsigned char)*a + 2u : 0;
    unsigned y = *b == '/' ? 1 : *b ? (unsigned char)*b + 2u : 0;
    return (x > y) - (x < y);
}

int precedence_compare(const struct policy_rule *a, const struct policy_rule *b)
{
    int glob_a = (a->flags & RULE_GLOB) != 0, glob_b = (b->flags & RULE_GLOB) != 0;
    int name_a = (a->flags & RULE_NAME) != 0, name_b = (b->flags & RULE_NAME) != 0;

    if (glob_a != glob_b)
        return glob_b - glob_a;
    if (a->origin != b->origin)
        return a->origin > b->origin ? 1 : -1;
    if (name_a != name_b)
        return name_b - name_a;
    return (a->access < b->access) - (a->access > b->access);
}

/*
 * The winning claim among those that match the first len bytes of path, taken as a path; without
 * those that have a flag of skipped.
 */
static const struct access_claim *winner_at(const struct access_claim *claims, size_t count,
                                            const char *path, size_t len, uint32_t skipped)
{
    const struct access_claim *best = NULL;
    size_t best_len = 0;

    for (size_t i = 0; i < count; i++) {
        const struct access_claim *c = &claims[i];
        size_t n = c->path[1] ? strlen(c->path) : 0;

        if ((c->rule->flags & skipped) || n > len || memcmp(c->path, path, n) != 0 ||
            (n < len && path[n] != '/'))
            continue;
        if (!best || n > best_len ||
            (n == best_len && precedence_compare(c->rule, best->rule) > 0)) {
            best = c;
            best_len = n;
        }
    }
    return best;
}

static uint32_t uncapped(const struct access_claim *claims, size_t count, const char *path,
                         size_t len, const struct policy_rule **ret_rule)
{
    uint32_t cap = ACCESS_RW;

    *ret_rule = NULL;
    for (;;) {
        const struct access_claim *c = winner_at(claims, count, path, len, RULE_FINAL);
        uint32_t access = c ? c->rule->access : (uint32_t)ACCESS_RO;

        if (access < cap) {
            cap = access;
            *ret_rule = c ? c->rule : NULL;
        } else if (!*ret_rule && c) {
            *ret_rule = c->rule;
        }
        if (!c || !(c->rule->flags & RULE_PROTECT))
            return cap;
        len = c->path[1] ? strlen(c->path) : 0;
        const struct access_claim *other = winner_at(claims, count, path, len,
                                                     RULE_FINAL | RULE_PROTECT);
        if (other && strlen(other->path) == strlen(c->path)) {
            if (other->rule->access < cap)
                *ret_rule = other->rule;
            return MIN_OF(cap, other->rule->access);
        }
        if (!len)
            return MIN_OF(cap, (uint32_t)ACCESS_RO);
        /* On to the parent of the protected path. */
        while (path[len - 1] != '/')
            len--;
        len--;
    }
}

uint32_t precedence_verdict(const struct access_claim *claims, size_t claim_count, const char *path,
                            const struct policy_rule **ret_rule)
{
    const struct policy_rule *rule;
    uint32_t access = uncapped(claims, claim_count, path, path[1] ? strlen(path) : 0, &rule);

    for (size_t i = 0; i < claim_count; i++) {
        const struct access_claim *c = &claims[i];
        if ((c->rule->flags & RULE_FINAL) && c->rule->access < access &&
            path_is_beneath(path, c->path)) {
            access = c->rule->access;
            rule = c->rule;
        }
    }
    *ret_rule = rule;
    return access;
}
