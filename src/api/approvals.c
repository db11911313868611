/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The approvals that are kept: shown, and taken back. Texts come from records of ours, which hold
 * what an agent wanted to run: they are escaped once more, whoever may have written them.
 */
#include <string.h>
#include <time.h>

#include "api/internal.h"
#include "base/json.h"
#include "base/str.h"
#include "probe/approvals.h"
#include "probe/configfiles.h"
#include "probe/state.h"

#define APPROVALS_MAX_TEXT ((size_t)256 << 20)
#define KEY_SHOWN          12 /* digits; enough to name one */
#define KEY_LEAST          6

static int32_t read_all(struct arena *arena, const char *const **ret_dirs,
                        const struct approval **ret, size_t *ret_count, abx_error **err)
{
    arena_init(arena, APPROVALS_MAX_TEXT);
    *ret_dirs = state_directories(arena, configfiles_home(arena));
    return *ret_dirs ? approvals_list(*ret_dirs, arena, ret, ret_count, err) : err_nomem(err);
}

static void put_row(struct buf *b, const char *label, const char *text)
{
    (void)buf_printf(b, "  %-9s", label);
    (void)str_escape(b, text, strlen(text));
    (void)buf_putc(b, '\n');
}

static void put_text(struct buf *b, const struct approval *a)
{
    const time_t seconds = (time_t)a->time;
    struct tm tm;
    char when[32] = "?";

    if (localtime_r(&seconds, &tm))
        (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
    (void)buf_printf(b, "%.*s  %s\n", KEY_SHOWN, a->key, when);
    put_row(b, "command:", a->command);
    put_row(b, "in:", a->cwd);
    put_row(b, "rule:", a->rule);
}

static void put_json(struct json *j, const struct approval *a)
{
    json_object(j);
    json_pair_str(j, "key", a->key);
    json_pair_int(j, "time", a->time);
    json_pair_str(j, "command", a->command);
    json_pair_str(j, "part", a->part);
    json_pair_str(j, "rule", a->rule);
    json_pair_str(j, "cwd", a->cwd);
    json_object_end(j);
}

int32_t abx_approvals_list(const char *format, char **ret_text, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    _buf_ struct buf b = { .limit = APPROVALS_MAX_TEXT };
    const struct approval *list;
    const char *const *dirs;
    struct json j;
    size_t count = 0;

    if (!ret_text || !format_is_known(format))
        return err_new(err, ABX_E_INVALID, "list approvals: no place or format");
    int32_t r = read_all(&arena, &dirs, &list, &count, err);
    if (r != ABX_OK)
        return r;
    bool as_json = str_eq(format, "json");
    (void)buf_puts(&b, "");
    json_init(&j, &b);
    if (as_json)
        json_array(&j);
    for (size_t i = 0; i < count; i++)
        if (as_json)
            put_json(&j, &list[i]);
        else
            put_text(&b, &list[i]);
    if (as_json) {
        json_array_end(&j);
        (void)buf_putc(&b, '\n');
    }
    return take_text(&b, ret_text, err);
}

static int32_t no_such_key(const char *key, const char *what, abx_error **err)
{
    int32_t code = err_new(err, ABX_E_INVALID, "forget approval '%.100s': %s", key, what);

    err_subject(err, key);
    err_hint(err, "`agentbox approvals` lists what is kept, each with its key");
    return code;
}

int32_t abx_approvals_forget(const char *key, size_t *ret_count, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    const struct approval *list;
    const char *const *dirs;
    size_t count = 0, hits = 0, taken = 0;

    if (key && strlen(key) < KEY_LEAST)
        return no_such_key(key, "a key has at least six digits", err);
    int32_t r = read_all(&arena, &dirs, &list, &count, err);
    for (size_t i = 0; i < count && r == ABX_OK && key; i++)
        hits += str_has_prefix(list[i].key, key);
    if (r == ABX_OK && key && hits != 1)
        r = no_such_key(key, hits ? "several begin with it" : "there is none", err);
    for (size_t i = 0; i < count && r == ABX_OK; i++)
        if (!key || str_has_prefix(list[i].key, key)) {
            r = approvals_take(dirs, list[i].key, err);
            taken += r == ABX_OK;
        }
    if (r == ABX_OK && ret_count)
        *ret_count = taken;
    return r;
}
