/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ABX_TRACE: how a plan came about, a notice a line, in the order in which it happened: files
 * looked for, values that layers set, paths that rules led to, what became of them, layers; then
 * the plan itself.
 */
#include <string.h>

#include "api/net_rules.h"
#include "base/str.h"
#include "plan/dump.h"

static const char *const file_states[] = { "not there", "loaded", "loaded, trusted" };

static void say(const abx_manager *m, struct buf *line)
{
    if (!line->failed)
        manager_notice(m, ABX_NOTICE_DEBUG, line->data);
    buf_done(line);
    buf_init(line, (size_t)1 << 20);
}

static void put(struct buf *line, const char *text)
{
    (void)str_escape(line, text, strlen(text));
}

void trace_config(const abx_manager *m, const abx_config *config, const struct layers *layers)
{
    _arena_ struct arena arena = { 0 };
    _buf_ struct buf line = { .limit = (size_t)1 << 20 };

    if (!(m->hooks.flags & ABX_TRACE))
        return;
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    for (size_t i = 0; i < config->file_count; i++) {
        (void)buf_printf(&line, "file: %s ", origin_name(config->files[i].origin));
        put(&line, config->files[i].path);
        (void)buf_printf(&line, ": %s", file_states[abx_config_file_state(config, i)]);
        if (config->files[i].hides && !config->files[i].named)
            put_quoted(&line, ", in the place of ", config->files[i].hides, "");
        say(m, &line);
    }
    for (size_t i = 0; i < layers->count; i++) {
        const struct settings_entry *e = layers->entries[i];
        const char *shown = entry_shown(e, &arena);
        bool list = schema_row(e->key)->type >= SETTINGS_PATHS;
        (void)buf_printf(&line, "merge: %s %s ", schema_row(e->key)->name, list ? "+=" : "=");
        put(&line, shown ? shown : "?");
        (void)buf_printf(&line, " (%s, ", origin_name(e->origin));
        put(&line, e->source);
        (void)buf_printf(&line, ")%s", list || layers->last[e->key] == e ? "" : ", replaced later");
        say(m, &line);
    }
}

/* As `agentbox plan` prints it; its texts are escaped. */
static void trace_dump(const abx_command *c)
{
    _buf_ struct buf text = { .limit = (size_t)64 << 20 }, line = { .limit = (size_t)1 << 20 };

    if (net_rules_dump(c, c->plan, "text", &text, NULL) != ABX_OK)
        return;
    for (const char *at = text.data; *at;) {
        const size_t len = strcspn(at, "\n");

        if (len > 0) {
            (void)buf_printf(&line, "plan: %.*s", (int)len, at);
            say(c->manager, &line);
        }
        at += len + (at[len] == '\n');
    }
}

void trace_plan(const abx_command *c)
{
    const abx_manager *m = c->manager;
    _buf_ struct buf line = { .limit = (size_t)1 << 20 };

    if (!(m->hooks.flags & ABX_TRACE))
        return;
    for (size_t i = 0; i < c->facts->path_count; i++) {
        const struct path_fact *f = &c->facts->paths[i];
        (void)buf_printf(&line, "path: %s ", access_name(f->rule->access));
        put(&line, f->why);
        (void)buf_puts(&line, " -> ");
        put(&line, f->path);
        (void)buf_printf(&line, " (%s, %s)", origin_name(f->rule->origin),
                         !f->exists  ? "absent"
                         : f->is_dir ? "directory"
                                     : "file");
        say(m, &line);
    }
    for (uint32_t i = 0; i < c->plan->mount_count; i++) {
        const struct mount_op *op = &c->plan->mounts[i];
        (void)buf_printf(&line, "access: %s ", plan_mount_name(op->kind));
        put(&line, op->path);
        (void)buf_puts(&line, " # ");
        put(&line, op->text);
        say(m, &line);
    }
    (void)buf_puts(&line, "layers:");
    for (uint32_t i = 0; i < LAYER_NAME_COUNT; i++)
        if (c->plan->layers & LAYER_BIT(i))
            (void)buf_printf(&line, " %s", plan_layer_name(i));
    say(m, &line);
    trace_dump(c);
}

void trace_verdict(const abx_manager *m, const char *decision, const char *rule)
{
    _buf_ struct buf line = { .limit = 4096 };

    if (!(m->hooks.flags & ABX_TRACE))
        return;
    (void)buf_printf(&line, "verdict: %s%s", decision, rule[0] ? ", rule " : "");
    put(&line, rule);
    say(m, &line);
}
