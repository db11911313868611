/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trust in a project's file. Whether it grants anything is found out with the options of the very
 * command that is to run: `--exclude secrets` together with a file that says `ro: secrets/key` is a
 * grant that neither of them is alone. It is judged when the plan is made, before that is handed to
 * the launcher: nothing has run. Costs a second scan, but only until the file is trusted.
 *
 * Both sides are looked at one after the other, and another run's placeholders may come or go in
 * between. So what looks like a grant is looked at again: one that is real stays.
 */
#include <string.h>

#include "api/internal.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "plan/mounts.h"
#include "plan/widen.h"
#include "probe/scan.h"
#include "probe/state.h"
#include "probe/trust.h"

#define TRUST_MAX_LINES 24

static int32_t make_side(const abx_config *config, const struct settings *call, const char *cwd,
                         uint32_t skip, struct arena *arena, struct widen_side *ret,
                         abx_error **err)
{
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    int32_t r = plan ? config_merge(config, call, skip, arena, &ret->layers, err) : err_nomem(err);

    if (r == ABX_OK)
        r = config_policy(config, &ret->layers, NULL, arena, &ret->context.policy, err);
    if (r == ABX_OK)
        r = scan_facts(ret->context.policy, cwd, arena, &ret->context.facts, err);
    if (r == ABX_OK)
        r = mounts_compile(ret->context.policy, ret->context.facts, arena, plan, err);
    ret->context.plan = plan;
    return r == ABX_OK ? view_make(plan, arena, &ret->context.view, err) : r;
}

/* A file that takes another's place: what that one takes away does not hold. Said first. */
static int32_t add_place(const struct config_file *file, struct arena *arena,
                         const struct widening **list, size_t *count, abx_error **err)
{
    struct widening *all = arena_alloc(arena, *count + 1, sizeof *all);
    const char *text = arena_printf(arena, "it takes the place of '%s'", file->hides);

    if (!all || !text)
        return err_nomem(err);
    all[0] = (struct widening){ file->path, "", text };
    if (*count)
        memcpy(all + 1, *list, *count * sizeof *all);
    *list = all;
    (*count)++;
    return ABX_OK;
}

static int32_t find_widenings(const abx_config *config, const char *cwd, struct arena *arena,
                              const struct widening **ret, size_t *ret_count, abx_error **err)
{
    const struct config_file *file = config_project(config);
    int32_t r = ABX_OK;

    *ret_count = 1;
    for (int looks = 0; looks < TRUST_LOOKS && r == ABX_OK && *ret_count; looks++) {
        struct widen_side before = { 0 }, after = { 0 };

        r = make_side(config, NULL, cwd, LAYERS_SKIP(ORIGIN_PROJECT), arena, &before, err);
        if (r == ABX_OK)
            r = make_side(config, NULL, cwd, 0, arena, &after, err);
        if (r == ABX_OK)
            r = widen_compare(&before, &after, file->directory, arena, ret, ret_count, err);
    }
    return r == ABX_OK && file->hides ? add_place(file, arena, ret, ret_count, err) : r;
}

void hint_trust(const struct config_file *file, const char *otherwise, abx_error **err)
{
    _buf_ struct buf word = { .limit = (size_t)8 << 20 };

    if (str_quote(&word, file->path) == 0)
        err_hint(err, "look at it, and if you agree: agentbox config trust %s%s; %s",
                 file->foreign ? "--settings " : "", word.data, otherwise);
}

static int32_t refuse_untrusted(const struct config_file *file, const struct widening *list,
                                size_t count, abx_error **err)
{
    int32_t r = err_new(err, ABX_E_CONFIG,
                        "use '%s': it asks for more than a project may have unasked (%zu %s)",
                        file->path, count, count == 1 ? "grant" : "grants");

    err_subject(err, file->path);
    hint_trust(
        file, file->foreign ? "agentbox import shows what it means" : "--no-config runs without it",
        err);
    for (size_t i = 0; err && i < MIN_OF(count, (size_t)TRUST_MAX_LINES); i++) {
        abx_error *line = NULL;
        (void)err_new(&line, ABX_E_CONFIG, "%s: %s", list[i].source, list[i].text);
        err_subject(&line, list[i].key);
        err_append(err, line);
    }
    if (err && count > TRUST_MAX_LINES) {
        abx_error *line = NULL;
        (void)err_new(&line, ABX_E_CONFIG, "… and %zu more", count - TRUST_MAX_LINES);
        err_append(err, line);
    }
    return r;
}

int32_t config_check_place(const abx_config *config, abx_error **err)
{
    const struct config_file *file = config_project(config);
    _arena_ struct arena arena = { 0 };
    const struct widening *list = NULL;
    size_t count = 0;

    if (!file || !file->hides || file->named || file->trusted)
        return ABX_OK;
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    int32_t r = add_place(file, &arena, &list, &count, err);
    return r == ABX_OK ? refuse_untrusted(file, list, count, err) : r;
}

int32_t command_check_trust(const abx_command *c, const struct plan *plan, bool *ret_widens,
                            abx_error **err)
{
    const struct config_file *file = config_project(c->config);
    _arena_ struct arena arena = { 0 };
    struct widen_side before = { 0 };
    struct widen_side after = { c->layers, { c->policy, c->facts, plan, { 0 } } };
    const struct widening *list = NULL;
    size_t count = 0;

    *ret_widens = false;
    if (!file || file->trusted)
        return ABX_OK;
    int32_t r = config_check_place(c->config, err);
    if (r != ABX_OK)
        return r;
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    r = make_side(c->config, c->wish.settings, c->wish.cwd, LAYERS_SKIP(ORIGIN_PROJECT), &arena,
                  &before, err);
    if (r == ABX_OK)
        r = view_make(plan, &arena, &after.context.view, err);
    if (r == ABX_OK)
        r = widen_compare(&before, &after, file->directory, &arena, &list, &count, err);
    *ret_widens = r == ABX_OK && count;
    return *ret_widens ? refuse_untrusted(file, list, count, err) : r;
}

/* ---- public ---- */

static void put_json(struct buf *b, const struct config_file *file, const struct widening *list,
                     size_t count)
{
    struct json j;

    json_init(&j, b);
    json_object(&j);
    json_pair_str(&j, "file", file ? file->path : NULL);
    json_pair_bool(&j, "trusted", file && file->trusted);
    json_key(&j, "grants");
    json_array(&j);
    for (size_t i = 0; i < count; i++) {
        json_object(&j);
        json_pair_str(&j, "source", list[i].source);
        json_pair_str(&j, "key", list[i].key);
        json_pair_str(&j, "text", list[i].text);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    (void)buf_putc(b, '\n');
}

static void put_text(struct buf *b, const struct widening *list, size_t count)
{
    (void)buf_puts(b, "");
    for (size_t i = 0; i < count; i++) {
        (void)str_escape(b, list[i].source, strlen(list[i].source));
        (void)buf_puts(b, ": ");
        (void)str_escape(b, list[i].text, strlen(list[i].text));
        (void)buf_putc(b, '\n');
    }
}

int32_t abx_config_grants(const abx_config *config, const char *cwd, const char *format,
                          char **ret_text, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    _buf_ struct buf b = { .limit = (size_t)64 << 20 };
    const struct widening *list = NULL;
    size_t count = 0;

    if (!config || !ret_text || !format_is_known(format))
        return err_new(err, ABX_E_INVALID, "list grants: no configuration, place or format");
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const struct config_file *file = config_project(config);
    int32_t r = file ? find_widenings(config, cwd, &arena, &list, &count, err) : ABX_OK;
    if (r != ABX_OK)
        return r;
    if (str_eq(format, "json"))
        put_json(&b, file, list, count);
    else
        put_text(&b, list, count);
    return take_text(&b, ret_text, err);
}

int32_t abx_config_trust(abx_config *config, abx_error **err)
{
    _arena_ struct arena arena = { 0 };

    if (!config)
        return err_new(err, ABX_E_INVALID, "trust a configuration: it is NULL");
    struct config_file *file = (struct config_file *)config_project(config);
    if (!file)
        return err_new(err, ABX_E_STATE, "trust a configuration: there is no project's file in it");
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *const *dirs = state_directories(&arena, configfiles_home(&arena));
    if (!dirs)
        return err_nomem(err);
    int32_t r = trust_give(dirs, file->path, file->digest, err);
    if (r == ABX_OK)
        file->trusted = true;
    return r;
}

int32_t abx_config_untrust(const char *cwd, const char *file, int32_t *ret_was, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    const char *path = NULL;
    bool was = false;

    if (!file || !file[0] || !ret_was)
        return err_new(err, ABX_E_INVALID, "take trust back: no file is named");
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    int32_t r = configfiles_name(cwd, file, &arena, &path, err);
    if (r != ABX_OK)
        return r;
    const char *const *dirs = state_directories(&arena, configfiles_home(&arena));
    r = dirs ? trust_take(dirs, path, &was, err) : err_nomem(err);
    if (r == ABX_OK)
        *ret_was = was;
    return r;
}
