/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the rules of one configuration: copies what the configuration says into an arena of its
 * own and settles the overrides. Names of rules that do not exist and patterns that cannot
 * match are errors here, so that no rule is silently without effect. A forbidden rule is lowered
 * only by an override that is trusted; any other is an error too.
 */
#include "classify/ruleset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentbox/agentbox.h"
#include "base/glob.h"
#include "base/str.h"
#include "classify/rules.h"

#define HOME_UNKNOWN "/home/~" /* nobody is called that; "~/.." is still /home */

const struct rule builtin_rules[RULE_COUNT] = {
#define RULE(id, decision, name, commands, reason, example, counter_example)                       \
    { name, DECISION_##decision, match_##id, commands, reason, example, counter_example },
#include "classify/rules.def"
#undef RULE
};

static const char *const decision_names[] = { "allow", "sandboxed", "escalated", "forbidden" };

const char *decision_name(enum decision decision)
{
    return decision_names[decision];
}

bool decision_parse(const char *name, enum decision *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(decision_names); i++) {
        if (strcmp(name, decision_names[i]) == 0) {
            *ret = (enum decision)i;
            return true;
        }
    }
    return false;
}

bool rule_info(size_t i, struct rule_info *ret)
{
    if (i >= RULE_COUNT)
        return false;
    const struct rule *r = &builtin_rules[i];

    *ret = (struct rule_info){ r->name, r->reason, r->example, r->counter_example, r->decision };
    return true;
}

/* ---- what the configuration says ---- */

/* "FILE:LINE:COLUMN: " where that is known. */
static int32_t refuse_override(const struct rule_override *o, const char *what, const char *hint,
                               abx_error **err)
{
    int32_t code = err_new(err, ABX_E_CONFIG, "%s%s%s", o->source ? o->source : "",
                           o->source ? ": " : "", what);

    err_subject(err, "classifier.overrides");
    err_hint(err, "%s", hint);
    return code;
}

static int32_t refuse_unknown(const struct rule_override *o, abx_error **err)
{
    const char *names[RULE_COUNT + 1];
    char what[160], hint[160];

    for (size_t i = 0; i < RULE_COUNT; i++)
        names[i] = builtin_rules[i].name;
    names[RULE_COUNT] = NULL;
    const char *near = str_nearest(o->rule, names);
    (void)snprintf(what, sizeof what, "there is no rule '%.100s'", o->rule);
    (void)snprintf(hint, sizeof hint, near ? "did you mean '%s'?" : "`agentbox rules` lists them",
                   near);
    return refuse_override(o, what, hint, err);
}

static int32_t apply_override(struct ruleset *r, const struct rule_override *o, abx_error **err)
{
    if (strcmp(o->rule, RULE_CHAIN_ALLOW) == 0) {
        r->chain_allow = o->withheld ? r->chain_allow : o->decision;
        return ABX_OK;
    }
    for (size_t i = 0; i < RULE_COUNT; i++) {
        if (strcmp(o->rule, builtin_rules[i].name) != 0)
            continue;
        bool forbids = builtin_rules[i].decision == DECISION_FORBIDDEN ||
                       r->decisions[i] == DECISION_FORBIDDEN; /* by an earlier override */

        if (forbids && o->decision < DECISION_FORBIDDEN && !o->trusted) {
            char what[160];

            (void)snprintf(what, sizeof what, "rule '%s' forbids and cannot be lowered here",
                           o->rule);
            return refuse_override(o, what, "only the user's own configuration can do that", err);
        }
        r->decisions[i] = o->withheld ? r->decisions[i] : o->decision;
        return ABX_OK;
    }
    return refuse_unknown(o, err);
}

/* All that is wrong with them at once. */
static int32_t apply_overrides(struct ruleset *r, const struct ruleset_config *config,
                               abx_error **err)
{
    int32_t code = ABX_OK;

    for (size_t i = 0; i < config->override_count; i++) {
        abx_error *one = NULL;
        int32_t this = apply_override(r, &config->overrides[i], err ? &one : NULL);

        code = code == ABX_OK ? this : code;
        if (one)
            err_append(err, one);
    }
    return code;
}

static const char *copy(struct ruleset *r, const char *text)
{
    return arena_strdup(&r->arena, text ? text : "");
}

/* The name that a verdict shows: "custom: …", "protected-path: …". */
static int32_t copy_custom(struct ruleset *r, const struct ruleset_config *config, abx_error **err)
{
    r->custom = arena_alloc(&r->arena, config->custom_count, sizeof(*r->custom));
    if (!r->custom)
        return err_nomem(err);
    for (size_t i = 0; i < config->custom_count; i++) {
        const struct custom_rule *from = &config->custom[i];
        const char *pattern = from->pattern ? from->pattern : "";

        if (*pattern == '\0')
            return err_new(err, ABX_E_CONFIG, "rule %zu has an empty pattern", i + 1);
        const char *shown = from->description && *from->description ? from->description : pattern;
        struct custom_rule *to = &r->custom[r->custom_count];

        to->pattern = copy(r, pattern);
        to->decision = from->decision;
        to->guards = from->guards;
        to->description = arena_printf(&r->arena, "custom: %s", shown);
        if (!to->pattern || !to->description)
            return err_nomem(err);
        r->custom_count++;
    }
    return ABX_OK;
}

static const struct protected_path builtin_protected[] = {
    { ".git/hooks/*", DECISION_FORBIDDEN, "" }, { ".git/config", DECISION_ESCALATED, "" },
    { ".agent/*", DECISION_FORBIDDEN, "" },     { ".claude/*", DECISION_FORBIDDEN, "" },
    { ".vscode/*", DECISION_ESCALATED, "" },    { ".idea/*", DECISION_ESCALATED, "" },
    { ".env", DECISION_ESCALATED, "" },         { ".env.*", DECISION_ESCALATED, "" },
};

static int32_t copy_protected(struct ruleset *r, const struct protected_path *from, size_t count,
                              abx_error **err)
{
    for (size_t i = 0; i < count; i++) {
        const char *pattern = from[i].pattern ? from[i].pattern : "";
        struct protected_path *to = &r->protected[r->protected_count];

        pattern += str_has_prefix(pattern, "./") ? 2 : 0;
        if (*pattern == '\0' || glob_check(pattern, strlen(pattern)) < 0)
            return err_new(err, ABX_E_CONFIG, "'%s' is no pattern for a protected path", pattern);
        to->pattern = copy(r, pattern);
        to->decision = from[i].decision;
        to->description = arena_printf(&r->arena, "protected-path: %s", pattern);
        if (!to->pattern || !to->description)
            return err_nomem(err);
        r->protected_count++;
    }
    return ABX_OK;
}

static int32_t fill(struct ruleset *r, const struct ruleset_config *config, abx_error **err)
{
    size_t builtin = config->no_protected_paths ? 0 : ARRAY_LEN(builtin_protected);
    int32_t e;

    r->builtin = !config->no_builtin_rules;
    r->home = copy(r, config->home && config->home[0] == '/' ? config->home : HOME_UNKNOWN);
    if (!r->home)
        return err_nomem(err);
    for (size_t i = 0; i < RULE_COUNT; i++)
        r->decisions[i] = builtin_rules[i].decision;
    r->chain_allow = DECISION_ALLOW;
    if ((e = apply_overrides(r, config, err)) != ABX_OK)
        return e;
    if ((e = copy_custom(r, config, err)) != ABX_OK)
        return e;
    r->protected = arena_alloc(&r->arena, builtin + config->protected_count, sizeof(*r->protected));
    if (!r->protected)
        return err_nomem(err);
    if ((e = copy_protected(r, builtin_protected, builtin, err)) != ABX_OK)
        return e;
    return copy_protected(r, config->protected, config->protected_count, err);
}

int32_t ruleset_new(const struct ruleset_config *config, struct ruleset **ret, abx_error **err)
{
    _ruleset_ struct ruleset *r = calloc(1, sizeof(*r));
    int32_t e;

    if (!r)
        return err_nomem(err);
    arena_init(&r->arena, ARENA_DEFAULT_LIMIT);
    r->lookup = arena_alloc(&r->arena, 1, sizeof(*r->lookup));
    if (!r->lookup)
        return err_nomem(err);
    for (size_t i = 0; i < RULE_COUNT; i++) {
        if (strcmp(builtin_rules[i].commands, "*") == 0)
            r->every[r->every_count++] = (uint8_t)i;
    }
    if ((e = fill(r, config, err)) != ABX_OK)
        return e;
    *ret = TAKE_PTR(r);
    return ABX_OK;
}

void ruleset_free(struct ruleset *r)
{
    if (!r)
        return;
    if (r->lookup)
        free(r->lookup->slots);
    arena_done(&r->arena);
    free(r);
}

void ruleset_freep(struct ruleset **r)
{
    ruleset_free(*r);
}

const char *ruleset_home(const struct ruleset *r)
{
    return r->home;
}
