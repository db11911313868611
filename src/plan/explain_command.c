/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `commands` says about executing a program: which rule counts is decided as the wrapper does
 * it (src/wrapper/wrapper.c), by the name that is called and by the file that is covered. Of links
 * that are made during the run nothing can be said.
 */
#include "base/path.h"
#include "base/str.h"
#include "plan/explain.h"

/* Without mounts a blocked program is blocked under all its names, and nothing else is covered. */
static bool rule_counts(const struct explain_context *context, const struct policy_command *rule,
                        const struct target_fact *target, const char *name, const char *path)
{
    if (context->plan->backend != BACKEND_NATIVE)
        return rule->kind == COMMAND_BLOCK;
    if (str_eq(rule->name, name))
        return true;
    return rule->kind == COMMAND_GUARD && str_eq(target->path, path) &&
           str_eq(rule->name, path_basename(path));
}

static const struct policy_command *find_rule(const struct explain_context *context,
                                              const char *name, const char *path)
{
    const struct facts *f = context->facts;
    const struct policy_command *found = NULL;

    for (size_t i = 0; i < f->command_count; i++)
        for (size_t j = 0; j < f->commands[i].target_count; j++) {
            const struct policy_command *rule = f->commands[i].rule;
            const struct target_fact *target = &f->targets[f->commands[i].targets[j]];
            if (!str_eq(target->path, path) && (!target->real || !str_eq(target->real, path)))
                continue;
            if (rule_counts(context, rule, target, name, path) &&
                (!found || str_eq(rule->name, name)))
                found = rule;
        }
    return found;
}

int32_t explain_command(const struct explain_context *context, const char *name, const char *path,
                        struct arena *arena, struct explain_answer *ret, abx_error **err)
{
    const struct policy_command *rule = find_rule(context, path_basename(name), path);

    if (!rule || !ret->allowed)
        return ABX_OK;
    bool blocked = rule->kind == COMMAND_BLOCK;
    bool in_file = rule->origin != ORIGIN_BUILTIN && rule->origin != ORIGIN_CALL;
    struct explain_answer answer = {
        .allowed = !blocked,
        .rule = arena_printf(arena, "commands %s=%s", rule->name, rule->text),
        .origin = origin_name(rule->origin),
        .source = in_file ? arena_strdup(arena, rule->source) : "",
        .grant = blocked ? arena_printf(arena, "--cmd %s=true", rule->name) : "",
        .grant_path = "",
        .note = blocked                       ? ""
                : rule->kind == COMMAND_GUARD ? "what would destroy work or change what others see "
                                                "is stopped by its arguments"
                                              : "the wrapper is run in its place",
    };
    if (!answer.rule || !answer.source || !answer.grant)
        return err_nomem(err);
    *ret = answer;
    return ABX_OK;
}
