/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a walk is to look for. A pattern is cut at its first special character: what comes before is
 * resolved like any path, at once, so that the walk starts as deep as it can and the characters of
 * the directories above mean themselves. Refuses patterns that are not valid, or have too many
 * components.
 */
#include <errno.h>
#include <string.h>

#include "base/glob.h"
#include "base/path.h"
#include "base/str.h"
#include "probe/kernelfs.h"
#include "probe/walk.h"

static int32_t add_search(struct scan *s, struct walk_search search)
{
    if (s->search_count == s->search_room) {
        size_t room = s->search_room ? 2 * s->search_room : 32;
        struct walk_search *grown = arena_alloc(s->arena, room, sizeof *grown);
        if (!grown)
            return err_nomem(s->err);
        if (s->search_count)
            memcpy(grown, s->searches, s->search_count * sizeof *grown);
        s->searches = grown;
        s->search_room = room;
    }
    s->searches[s->search_count++] = search;
    return ABX_OK;
}

bool walk_is_system(const struct scan *s, const char *path)
{
    static const enum place skipped[] = { PLACE_DEV, PLACE_PROC, PLACE_RUN, PLACE_SYS };

    for (size_t i = 0; i < ARRAY_LEN(skipped); i++) {
        const char *place = s->facts->places[skipped[i]];
        if (place && str_eq(place, path))
            return true;
    }
    return kernelfs_holds(s, path);
}

/* Length of the part of text that holds no special character, up to and with a '/'. */
static size_t fixed_length(const char *text)
{
    size_t n = strcspn(text, "*?[\\");

    while (n > 0 && text[n - 1] != '/')
        n--;
    return n;
}

static int32_t refuse_pattern(struct scan *s, const struct policy_rule *rule, int error)
{
    if (error == -ENOMEM)
        return err_nomem(s->err);
    int32_t r = err_new(s->err, ABX_E_CONFIG, "%s %s: %s", rule->source, rule->text,
                        error == -E2BIG ? "the pattern is too long" : "no valid pattern");
    err_subject(s->err, rule->text);
    err_hint(s->err, "at most %u components; a special character is taken literally after '\\'",
             (unsigned)GLOB_MAX_PARTS);
    return r;
}

/* For the compiler: what comes to match later. Rules about what exists have said all. */
static int32_t add_pattern_fact(struct scan *s, const struct policy_rule *rule, const char *start,
                                const char *pattern)
{
    if (rule->access == ACCESS_RW || (rule->flags & RULE_IF_PRESENT))
        return ABX_OK;
    if (s->pattern_count == s->pattern_room) {
        size_t room = s->pattern_room ? 2 * s->pattern_room : 16;
        struct pattern_fact *grown = arena_alloc(s->arena, room, sizeof *grown);
        if (!grown)
            return err_nomem(s->err);
        if (s->pattern_count)
            memcpy(grown, s->patterns, s->pattern_count * sizeof *grown);
        s->patterns = grown;
        s->pattern_room = room;
    }
    const char *why = arena_join(s->arena, rule->source, " ", rule->text);
    s->patterns[s->pattern_count++] = (struct pattern_fact){ rule, why, start, pattern };
    return why ? ABX_OK : err_nomem(s->err);
}

int32_t walk_add_pattern(struct scan *s, const struct policy_rule *rule,
                         const struct resolve_base *base, const char *text)
{
    struct walk_search search = { .rule = rule };
    size_t fixed = fixed_length(text);
    const char *prefix = arena_strndup(s->arena, text, fixed);
    const char *pattern = path_clean(s->arena, "/", text + fixed);

    if (!prefix || !pattern)
        return err_nomem(s->err);
    int e = glob_split(s->arena, pattern + 1, strlen(pattern + 1), &search.parts);
    if (e < 0)
        return refuse_pattern(s, rule, e);
    int32_t r = resolve_path(s->arena, base, prefix, &search.start, s->err);
    if (r != ABX_OK)
        return r;
    if (search.start.denied)
        return scan_add(s, rule, &search.start);
    r = add_pattern_fact(s, rule, search.start.path, pattern + 1);
    if (r != ABX_OK)
        return r;
    if (!search.start.exists || !search.start.is_dir || walk_is_system(s, search.start.path))
        return ABX_OK;
    return add_search(s, search);
}

int32_t walk_add_names(struct scan *s, const char *root)
{
    const struct walk_search search = { .start = { .path = root } };

    return walk_is_system(s, root) ? ABX_OK : add_search(s, search);
}
