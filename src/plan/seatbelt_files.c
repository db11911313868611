/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in a Seatbelt profile: one walk over the sorted nodes of nodes.c, the list that also
 * becomes the mounts of Linux, with a stack of regions. A directory comes before what lies below
 * it, so the last rule that matches a path is that of the nearest node above it: the longest path
 * wins.
 *
 * Patterns are nodes where something matches now. For what comes to match later, behind each node
 * that opens something stands a regex of what is left of each restricting pattern below that node;
 * deeper nodes open what they open again. So a pattern never takes away what a longer rule grants,
 * and a new file never gets more than the table of precedence.h gives it.
 *
 * Names that must stay absent are denied in every spelling that a case-insensitive volume would
 * take for them. Whatever leads to a rule (the directories above it, the roots of grants, links in
 * its text) cannot be renamed or removed: the rule goes by the path. That is a last section of its
 * own.
 *
 * "Files" of /dev are not the policy's business; of the covers of Linux only /tmp has a meaning.
 */
#include "plan/seatbelt_files.h"

#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "plan/nodes.h"
#include "plan/regions.h"
#include "plan/seatbelt_text.h"
#include "policy/precedence.h"
#include "policy/presets.h"

#define READ_OPS   "file-read* file-map-executable process-exec*"
#define WRITE_OPS  "file-write*"
#define TMP_FILTER "(subpath (param \"" SEATBELT_PARAM_TMP "\"))"

struct pattern {
    const struct pattern_fact *fact;
    struct glob_parts parts;
};

struct walk {
    struct seatbelt *s;
    struct regions regions; /* those above the current node */
    const char **pinned;    /* the pins above the current node */
    size_t pinned_count;
    struct buf pins; /* the last section, while it grows */
    struct pattern *patterns;
    size_t pattern_count;
};

static const struct policy_rule home_rules[] = {
#define HOME_ROW(preset, access, path) { ACCESS_##access, ORIGIN_BUILTIN, 0, "~/" path, #preset },
#include "plan/seatbelt_home.def"
#undef HOME_ROW
};
static const uint32_t home_presets[] = {
#define HOME_ROW(preset, access, path) PRESET_##preset,
#include "plan/seatbelt_home.def"
#undef HOME_ROW
};

/* The facts with the places of a Mac, and what the presets mean there. */
static int32_t make_facts(const struct seatbelt *s, struct facts *ret)
{
    const char *home = s->facts->home;
    size_t count = s->facts->path_count;
    struct path_fact *paths = arena_alloc(s->arena, count + ARRAY_LEN(home_rules), sizeof *paths);

    if (!paths)
        return err_nomem(s->err);
    if (count)
        memcpy(paths, s->facts->paths, count * sizeof *paths);
    for (size_t i = 0; home && i < ARRAY_LEN(home_rules); i++) {
        const struct policy_rule *rule = &home_rules[i];
        if (!(s->policy->presets & home_presets[i]))
            continue;
        struct path_fact *f = &paths[count++];
        *f = (struct path_fact){ .rule = rule, .exists = true, .is_dir = true };
        f->path = path_join(s->arena, home, rule->text + 2);
        f->why = rule->access == ACCESS_RW ? "@caches" : "@base";
        if (!f->path)
            return err_nomem(s->err);
    }
    *ret = *s->facts;
    ret->paths = paths;
    ret->path_count = count;
    memset(ret->places, 0, sizeof ret->places);
    ret->places[PLACE_DEV] = "/dev";
    ret->places[PLACE_TMP] = "/private/tmp";
    ret->keep_count = ret->proc_count = ret->top_count = 0;
    return ABX_OK;
}

static const struct region *here(const struct walk *w)
{
    return regions_top(&w->regions);
}

static void add_region(struct walk *w, const struct region *region)
{
    if (!regions_push(&w->regions, w->s->arena, region))
        w->s->code = err_nomem(w->s->err);
}

/* Drops what does not lie above path. */
static void leave(struct walk *w, const char *path)
{
    regions_leave(&w->regions, path);
    while (w->pinned_count && !path_is_beneath(path, w->pinned[w->pinned_count - 1]))
        w->pinned_count--;
}

static uint32_t access_above(const struct walk *w, const char *path)
{
    struct regions above = w->regions;

    regions_leave(&above, path);
    return regions_top(&above)->access;
}

/* ---- what must stay in its place ---- */

static void pin(struct walk *w, const char *path, const char *why)
{
    struct buf *out = w->s->out;

    for (size_t i = 0; i < w->pinned_count; i++)
        if (str_eq(w->pinned[i], path))
            return;
    w->pinned[w->pinned_count++] = path;
    w->s->out = &w->pins;
    seatbelt_rule(w->s, "deny", "file-write-unlink", "literal", path, why);
    w->s->out = out;
}

/* The writable directories above path, and path itself if it is to stay too. */
static void pin_above(struct walk *w, const char *path, bool itself, const char *why)
{
    const char *reason = arena_printf(w->s->arena, "holds %s", why);

    for (size_t at = 1 + strcspn(path + 1, "/"); reason && path[at];
         at += 1 + strcspn(path + at + 1, "/")) {
        const char *dir = arena_strndup(w->s->arena, path, at);
        if (!dir) {
            w->s->code = err_nomem(w->s->err);
            return;
        }
        if (access_above(w, dir) == ACCESS_RW)
            pin(w, dir, reason);
    }
    if (itself && path[1])
        pin(w, path, why);
    if (!reason)
        w->s->code = err_nomem(w->s->err);
}

/* ---- patterns ---- */

/* The states of a pattern behind dir: what may match below it. 0: nothing. */
static uint64_t pattern_states(const struct pattern *p, const char *dir)
{
    const char *start = p->fact->start;
    uint64_t states = glob_begin(&p->parts);

    if (path_is_beneath(start, dir))
        return states; /* all of the pattern, from its own start */
    if (!path_is_beneath(dir, start))
        return 0;
    for (const char *name = dir + (start[1] ? strlen(start) : 0); *name && states;) {
        bool match;
        size_t len = strcspn(++name, "/");
        states = glob_advance(&p->parts, states, name, len, &match);
        name += len;
    }
    return states;
}

/* Whether a pattern may speak about path, or about something below it. */
static bool patterns_touch(const struct walk *w, const char *path)
{
    for (size_t i = 0; i < w->pattern_count; i++) {
        const char *start = w->patterns[i].fact->start;
        if (path_is_beneath(path, start) || path_is_beneath(start, path))
            return true;
    }
    return false;
}

/* The text of a pattern from its n-th component on. */
static const char *pattern_from(const char *text, uint32_t n)
{
    for (; n > 0; n--)
        text = strchr(text, '/') + 1;
    return text;
}

static bool is_globstar(const char *text)
{
    return text[0] == '*' && text[1] == '*' && (text[2] == '/' || !text[2]);
}

/* One regex; one that is too long stays away: what matches now has its nodes. */
static void put_pattern(struct walk *w, const struct pattern *p, const char *dir, const char *rest)
{
    _buf_ struct buf regex, filter;
    const char *ops = p->fact->rule->access == ACCESS_EXCLUDE ? READ_OPS " " WRITE_OPS : WRITE_OPS;

    buf_init(&regex, (size_t)4 * GLOB_MAX_PATTERN);
    buf_init(&filter, (size_t)4 * GLOB_MAX_PATTERN);
    (void)buf_putc(&regex, '^');
    (void)seatbelt_regex_plain(&regex, dir, dir[1] ? strlen(dir) : 0);
    (void)buf_putc(&regex, '/');
    (void)seatbelt_regex_glob(&regex, rest, strlen(rest));
    if (buf_puts(&regex, "(/|$)") != 0) {
        w->s->code = err_nomem(w->s->err);
        return;
    }
    if (regex.len > SEATBELT_MAX_REGEX)
        return;
    (void)buf_puts(&filter, "(regex ");
    (void)seatbelt_string(&filter, regex.data, regex.len);
    if (buf_putc(&filter, ')') != 0)
        w->s->code = err_nomem(w->s->err);
    else
        seatbelt_rule_raw(w->s, "deny", ops, filter.data, p->fact->why);
}

/* What the patterns deny below dir, where access holds; the strictest last. final: those alone. */
static void put_patterns(struct walk *w, const char *dir, uint32_t access, bool final)
{
    for (uint32_t step = ACCESS_RO + 1; step-- > ACCESS_EXCLUDE;)
        for (size_t i = 0; i < w->pattern_count; i++) {
            const struct pattern *p = &w->patterns[i];
            const struct policy_rule *rule = p->fact->rule;
            uint64_t states = pattern_states(p, dir);

            if (rule->access != step || rule->access >= access ||
                final != ((rule->flags & RULE_FINAL) != 0))
                continue;
            const char *from = path_is_beneath(dir, p->fact->start) ? dir : p->fact->start;
            for (uint32_t n = 0; n < p->parts.count; n++) {
                const char *rest = pattern_from(p->fact->pattern, n);
                if (!(states >> n & 1))
                    continue;
                put_pattern(w, p, from, rest);
                n += is_globstar(rest); /* which may stand for nothing: the next is included */
            }
        }
}

static int32_t split_patterns(struct walk *w)
{
    const struct facts *facts = w->s->facts;

    w->patterns = arena_alloc(w->s->arena, facts->pattern_count, sizeof *w->patterns);
    if (!w->patterns)
        return err_nomem(w->s->err);
    for (size_t i = 0; i < facts->pattern_count; i++) {
        const char *text = facts->patterns[i].pattern;
        struct pattern *p = &w->patterns[w->pattern_count++];

        p->fact = &facts->patterns[i];
        if (glob_split(w->s->arena, text, strlen(text), &p->parts) < 0)
            return err_nomem(w->s->err); /* the scanner has refused what is not valid */
    }
    return ABX_OK;
}

/* ---- nodes ---- */

/* The way to a grant inside something hidden: it can be walked, not listed. */
static void put_way(struct walk *w, const char *path)
{
    size_t at = strlen(here(w)->path);

    while (path[at]) {
        const char *dir = arena_strndup(w->s->arena, path, at);
        if (!dir) {
            w->s->code = err_nomem(w->s->err);
            return;
        }
        seatbelt_rule(w->s, "allow", "file-read-metadata", "literal", dir, NULL);
        at += 1 + strcspn(path + at + 1, "/");
    }
}

static void put_access(struct walk *w, const char *path, uint32_t access, const char *why)
{
    uint32_t above = here(w)->access;
    bool all = patterns_touch(w, path); /* a pattern further up may have taken any of it */

    if (access == ACCESS_EXCLUDE) {
        seatbelt_rule(w->s, "deny", READ_OPS " " WRITE_OPS, "subpath", path, why);
        return;
    }
    if (above == ACCESS_EXCLUDE)
        put_way(w, path);
    if (above == ACCESS_EXCLUDE || all)
        seatbelt_rule(w->s, "allow", READ_OPS, "subpath", path, why);
    if (access == ACCESS_RW)
        seatbelt_rule(w->s, "allow", WRITE_OPS, "subpath", path, why);
    else if (above == ACCESS_RW || all)
        seatbelt_rule(w->s, "deny", WRITE_OPS, "subpath", path, why);
    put_patterns(w, path, access, false);
}

static void enter(struct walk *w, const struct region *region, const char *why)
{
    uint32_t above = here(w)->access;

    if (region->access < above)
        pin_above(w, region->path, false, why);
    else if (region->access == ACCESS_RW && above != ACCESS_RW)
        pin_above(w, region->path, true, why);
    if (region->access != above || patterns_touch(w, region->path))
        put_access(w, region->path, region->access, why);
    add_region(w, region);
}

static void visit_rule(struct walk *w, const struct node *n)
{
    const struct policy_rule *rule;
    struct region new;

    if (regions_open(&w->regions, n, &new, &rule))
        enter(w, &new, n->why);
}

static void visit_cover(struct walk *w, const struct node *n)
{
    struct region new = *here(w);

    if (n->place != PLACE_TMP)
        return;
    new.path = n->path;
    new.access = new.uncapped = ACCESS_EXCLUDE;
    new.is_root = false;
    enter(w, &new, "tmp is private");
}

/* A name that must stay absent, however it is spelled. */
static void visit_hold(struct walk *w, const struct node *n)
{
    const char *name = path_basename(n->path);
    struct region new = *here(w);
    _buf_ struct buf regex = { 0 }, filter = { 0 };

    if (here(w)->access != ACCESS_RW || !regions_name_counts(&w->regions, n->name_root) ||
        str_eq(here(w)->path, n->path))
        return;
    pin_above(w, n->path, false, n->why);
    seatbelt_rule(w->s, "deny", WRITE_OPS, "subpath", n->path, n->why);
    buf_init(&regex, (size_t)16 * SEATBELT_MAX_STRING);
    buf_init(&filter, (size_t)16 * SEATBELT_MAX_STRING);
    (void)buf_putc(&regex, '^');
    (void)seatbelt_regex_plain(&regex, n->path, (size_t)(name - n->path));
    (void)seatbelt_regex_folded(&regex, name, strlen(name));
    if (buf_puts(&regex, "(/|$)") == 0 && regex.len <= SEATBELT_MAX_REGEX) {
        (void)buf_puts(&filter, "(regex ");
        (void)seatbelt_string(&filter, regex.data, regex.len);
        if (buf_putc(&filter, ')') == 0)
            seatbelt_rule_raw(w->s, "deny", WRITE_OPS, filter.data, "in any spelling");
    }
    new.path = n->path;
    new.access = new.uncapped = ACCESS_RO;
    new.is_root = false;
    add_region(w, &new);
}

static int32_t visit(struct walk *w, const struct node *n)
{
    leave(w, n->path);
    switch (n->kind) {
    case NODE_RULE:
        visit_rule(w, n);
        break;
    case NODE_COVER:
        visit_cover(w, n);
        break;
    case NODE_HOLD:
        visit_hold(w, n);
        break;
    case NODE_PIN:
        if (here(w)->access == ACCESS_RW)
            pin_above(w, n->path, true, n->why);
        break;
    case NODE_CWD:
        if (here(w)->access == ACCESS_EXCLUDE)
            return nodes_refuse_cwd(n->path, w->s->err);
        break;
    default: /* NODE_MASK, NODE_KEEP, NODE_TOP: Linux */
        break;
    }
    return w->s->code;
}

static int32_t walk_nodes(struct walk *w, const struct node *nodes, size_t count)
{
    struct seatbelt *s = w->s;
    int32_t code = ABX_OK;

    add_region(w, &(struct region){
                      .path = "/", .access = ACCESS_RO, .uncapped = ACCESS_RO, .cap = ACCESS_RW });
    if (s->code != ABX_OK)
        return s->code;
    if (!s->policy->tmp_private)
        seatbelt_rule_raw(s, "allow", WRITE_OPS, TMP_FILTER, "--tmp host");
    put_patterns(w, "/", ACCESS_RO, false);
    for (size_t i = 0; i < count && code == ABX_OK; i++)
        code = visit(w, &nodes[i]);
    put_patterns(w, "/", ACCESS_RW, true);
    if (s->policy->tmp_private)
        seatbelt_rule_raw(s, "allow", READ_OPS " " WRITE_OPS, TMP_FILTER, "the run's own /tmp");
    (void)buf_puts(s->out, "\n; files: what must stay where it is\n");
    if (w->pins.len)
        (void)buf_append(s->out, w->pins.data, w->pins.len);
    seatbelt_rule_raw(s, "deny", "file-write-unlink",
                      "(literal (param \"" SEATBELT_PARAM_TMP "\"))", NULL);
    if (code == ABX_OK && w->pins.failed)
        code = err_nomem(s->err);
    return code != ABX_OK ? code : s->code;
}

int32_t seatbelt_files(struct seatbelt *s)
{
    const struct facts *outer = s->facts;
    const struct node *nodes = NULL;
    struct facts facts;
    struct walk w = { .s = s };
    size_t count = 0, depth = 2;
    int32_t code = make_facts(s, &facts);

    s->facts = &facts;
    if (code == ABX_OK)
        code = nodes_collect(s->policy, &facts, s->arena, &nodes, &count, s->err);
    if (code == ABX_OK)
        code = split_patterns(&w);
    for (size_t i = 0; code == ABX_OK && i < count; i++)
        depth = MAX_OF(depth, path_depth(nodes[i].path) + 2);
    if (code == ABX_OK) {
        w.pinned = arena_alloc(s->arena, depth, sizeof *w.pinned);
        code = w.pinned ? ABX_OK : err_nomem(s->err);
    }
    buf_init(&w.pins, s->out->limit);
    if (code == ABX_OK)
        code = walk_nodes(&w, nodes, count);
    buf_done(&w.pins);
    s->facts = outer;
    return code;
}
