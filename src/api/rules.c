/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classifier's rules of a configuration: from entries with their origins to a ruleset.
 *
 * Who may say what: the system's and the user's own files anything, also that a rule which forbids
 * does not. A project's file, and a single call, may do all but that; a project's file that is not
 * trusted may only forbid. Rules of one's own are tried in this order, the first that matches
 * counts: what the system forbids, what the user's file forbids (as written there: an exception in
 * front of it holds), then the rules of the call, the project, the user, the system, each as
 * written.
 */
#include <string.h>

#include "api/judge.h"
#include "base/doc.h"
#include "base/str.h"

struct collection {
    const abx_config *config;
    const struct layers *layers;
    struct arena arena;
    struct custom_rule *custom;
    struct rule_override *overrides;
    struct ruleset_config out;
    bool withheld;
};

static bool is_ours(enum settings_key key)
{
    return key == KEY_CLASS_RULES || key == KEY_CLASS_OVERRIDES || key == KEY_PROTECTED_PATHS;
}

bool rules_are_set(const struct settings *settings)
{
    for (size_t i = 0; settings && i < settings->count; i++)
        if (is_ours(settings->entries[i].key))
            return true;
    return false;
}

/* Of a project that is not trusted. */
static bool is_foreign(const struct collection *c, const struct settings_entry *e)
{
    const struct config_file *project = config_project(c->config);

    return e->origin == ORIGIN_PROJECT && !(project && project->trusted);
}

/* Another layer says the same: then it is not the project that loosens. */
static bool others_say_it(const struct layers *l, const struct settings_entry *e)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->entries[i]->origin != ORIGIN_PROJECT && l->entries[i]->key == e->key &&
            str_eq(l->entries[i]->value, e->value))
            return true;
    return false;
}

/* True: the entry does not count. */
static bool withhold(struct collection *c, const struct settings_entry *e, bool tightens)
{
    if (tightens || !is_foreign(c, e))
        return false;
    c->withheld |= !others_say_it(c->layers, e);
    return true;
}

static int32_t no_rule(const struct settings_entry *e, abx_error **err)
{
    return err_new(err, ABX_E_CONFIG, "%s: '%s' cannot be read", e->source, e->value);
}

/* settings.c let only well-formed rules in. */
static int32_t read_rule(struct collection *c, const struct settings_entry *e,
                         struct custom_rule *ret, abx_error **err)
{
    struct doc doc;
    bool decided = false;

    if (doc_read(&c->arena, e->value, strlen(e->value), DOC_JSON, &doc) != 0 || !doc.root)
        return no_rule(e, err);
    for (const struct doc_node *n = doc.root->first; n; n = n->next) {
        if (str_eq(n->key, "pattern"))
            ret->pattern = n->text;
        else if (str_eq(n->key, "description"))
            ret->description = n->text;
        else
            decided = decision_parse(n->text, &ret->decision);
    }
    return decided && ret->pattern ? ABX_OK : no_rule(e, err);
}

enum which { WHICH_FORBIDDEN, WHICH_GUARDS, WHICH_ALL };

/* The rules of one origin; all of them, or what of them comes first. */
static int32_t collect_rules(struct collection *c, enum origin origin, enum which which,
                             abx_error **err)
{
    for (size_t i = 0; i < c->layers->count; i++) {
        const struct settings_entry *e = c->layers->entries[i];
        struct custom_rule rule = { .guards = which == WHICH_GUARDS };

        if (e->key != KEY_CLASS_RULES || e->origin != origin)
            continue;
        int32_t code = read_rule(c, e, &rule, err);
        if (code != ABX_OK)
            return code;
        bool forbids = rule.decision == DECISION_FORBIDDEN;
        if ((forbids || which != WHICH_FORBIDDEN) && !withhold(c, e, forbids))
            c->custom[c->out.custom_count++] = rule;
    }
    return ABX_OK;
}

static int32_t collect_overrides(struct collection *c, abx_error **err)
{
    for (size_t i = 0; i < c->layers->count; i++) {
        const struct settings_entry *e = c->layers->entries[i];
        struct rule_override o = { .trusted = e->origin < ORIGIN_PROJECT, .source = e->source };

        if (e->key != KEY_CLASS_OVERRIDES)
            continue;
        const char *eq = strrchr(e->value, '=');
        if (!eq || !decision_parse(eq + 1, &o.decision))
            return no_rule(e, err);
        o.rule = arena_strndup(&c->arena, e->value, (size_t)(eq - e->value));
        if (!o.rule)
            return err_nomem(err);
        o.withheld = withhold(c, e, o.decision == DECISION_FORBIDDEN);
        if (!o.withheld || !others_say_it(c->layers, e))
            c->overrides[c->out.override_count++] = o;
    }
    return ABX_OK;
}

static bool protected_paths_count(struct collection *c)
{
    bool on = true;

    for (size_t i = 0; i < c->layers->count; i++) {
        const struct settings_entry *e = c->layers->entries[i];
        bool value = str_eq(e->value, "true");

        if (e->key == KEY_PROTECTED_PATHS && !withhold(c, e, value))
            on = value;
    }
    return on;
}

static int32_t collect(struct collection *c, abx_error **err)
{
    static const enum origin order[] = { ORIGIN_CALL, ORIGIN_PROJECT, ORIGIN_GLOBAL,
                                         ORIGIN_SYSTEM };
    size_t most = 2 * c->layers->count;

    c->custom = arena_alloc(&c->arena, most, sizeof *c->custom);
    c->overrides = arena_alloc(&c->arena, most, sizeof *c->overrides);
    if (!c->custom || !c->overrides)
        return err_nomem(err);
    int32_t code = collect_rules(c, ORIGIN_SYSTEM, WHICH_FORBIDDEN, err);
    if (code == ABX_OK)
        code = collect_rules(c, ORIGIN_GLOBAL, WHICH_GUARDS, err);
    for (size_t i = 0; i < ARRAY_LEN(order) && code == ABX_OK; i++)
        code = collect_rules(c, order[i], WHICH_ALL, err);
    if (code == ABX_OK)
        code = collect_overrides(c, err);
    c->out.custom = c->custom;
    c->out.overrides = c->overrides;
    c->out.no_protected_paths = !protected_paths_count(c);
    c->out.home = configfiles_home(&c->arena);
    return code;
}

int32_t rules_build(const abx_config *config, const struct layers *layers, struct ruleset **ret,
                    bool *ret_withheld, abx_error **err)
{
    struct collection c = { .config = config, .layers = layers };

    arena_init(&c.arena, ARENA_DEFAULT_LIMIT);
    int32_t code = collect(&c, err);
    if (code == ABX_OK)
        code = ruleset_new(&c.out, ret, err);
    if (code == ABX_OK)
        *ret_withheld = c.withheld;
    arena_done(&c.arena);
    return code;
}
