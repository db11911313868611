/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions: what an approver sees, and the key that an answer is kept by.
 *
 * The key is a digest of the exact command, its directory, every entry of the configuration with
 * its origin, the rule that asks, and the content of the files that the command names. Where the
 * directory is not known, or there are too many names to look at, no answer is kept.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/judge.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/wake.h"
#include "classify/key.h"
#include "probe/named.h"

#define QUESTION_MAX_TEXT ((size_t)16 << 20)

static void add_text(struct sha256 *h, const char *text)
{
    sha256_update(h, text, strlen(text) + 1);
}

static bool hash_policy(const abx_command *c, const abx_check *check, const struct layers *layers,
                        const char *cwd, uint8_t ret[SHA256_BYTES])
{
    const char *const text[] = { c->wish.text, NULL };
    const char *const *words = c->wish.text ? text : (const char *const *)c->wish.argv;
    _arena_ struct arena arena = { 0 };
    struct sha256 h;
    size_t count = 0;

    sha256_init(&h);
    for (size_t i = 0; i < layers->count; i++) {
        const struct settings_entry *e = layers->entries[i];
        add_text(&h, origin_name(e->origin));
        add_text(&h, schema_row(e->key)->name);
        add_text(&h, e->value);
    }
    add_text(&h, check->rule);
    while (words[count])
        count++;
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    bool all = named_digest(words, count, cwd, configfiles_home(&arena), &h);
    sha256_final(&h, ret);
    return all;
}

/* False: an answer to this cannot be kept. */
static bool make_key(const abx_command *c, const abx_check *check, const struct layers *layers,
                     const char *cwd, char ret[SHA256_HEX_BYTES])
{
    uint8_t policy[SHA256_BYTES];
    size_t count = 0;

    if (!cwd || !hash_policy(c, check, layers, cwd, policy))
        return false;
    if (c->wish.text) {
        key_of_text(c->wish.text, strlen(c->wish.text), cwd, policy, ret);
        return true;
    }
    while (c->wish.argv[count])
        count++;
    key_of_argv((const char *const *)c->wish.argv, count, cwd, policy, ret);
    return true;
}

bool question_still_holds(const abx_question *q, const abx_command *c, const abx_check *check,
                          const struct layers *layers, const char *cwd)
{
    char key[SHA256_HEX_BYTES];

    return !q->can_keep || (make_key(c, check, layers, cwd, key) && str_eq(key, q->key));
}

/* ---- for people ---- */

static char *escaped(const char *text)
{
    _buf_ struct buf b = { .limit = QUESTION_MAX_TEXT };

    (void)buf_puts(&b, "");
    (void)str_escape(&b, text, strlen(text));
    return buf_take(&b);
}

static char *command_shown(const abx_command *c)
{
    _buf_ struct buf b = { .limit = QUESTION_MAX_TEXT };

    if (c->wish.text)
        return escaped(c->wish.text);
    for (size_t i = 0; c->wish.argv[i]; i++) {
        if (i > 0)
            (void)buf_putc(&b, ' ');
        (void)str_word(&b, c->wish.argv[i]);
    }
    return b.failed || !b.data ? NULL : escaped(b.data);
}

int32_t question_new(const abx_command *c, const abx_check *check, const struct layers *layers,
                     const char *cwd, abx_question **ret, abx_error **err)
{
    abx_question *q = calloc(1, sizeof *q);

    if (!q)
        return err_nomem(err);
    q->fd = -1;
    q->deadline = c->wish.timeout_ns > 0 ? run_now_ns() + c->wish.timeout_ns : -1;
    q->can_keep = make_key(c, check, layers, cwd, q->key);
    q->command = command_shown(c);
    q->part = escaped(check->part);
    q->cwd = escaped(cwd ? cwd : "?");
    q->rule = check->rule;
    q->reason = check->reason;
    if (!q->command || !q->part || !q->cwd) {
        question_free(q);
        return err_nomem(err);
    }
    *ret = q;
    return ABX_OK;
}

void question_free(abx_question *q)
{
    if (!q)
        return;
    fd_close(q->fd);
    free(q->command);
    free(q->part);
    free(q->cwd);
    free(q);
}

void question_freep(abx_question **q)
{
    question_free(*q);
}

void question_wake(const abx_question *q)
{
    wake_signal(q->fd);
}

/* ---- public ---- */

const char *abx_question_command(const abx_question *q)
{
    return q ? q->command : "";
}

const char *abx_question_part(const abx_question *q)
{
    return q ? q->part : "";
}

const char *abx_question_rule(const abx_question *q)
{
    return q ? q->rule : "";
}

const char *abx_question_reason(const abx_question *q)
{
    return q ? q->reason : "";
}

const char *abx_question_cwd(const abx_question *q)
{
    return q ? q->cwd : "";
}

int32_t abx_question_can_keep(const abx_question *q)
{
    return q && q->can_keep;
}

int32_t abx_question_fd(const abx_question *q)
{
    return q ? q->fd : -1;
}

int64_t abx_question_timeout_ms(const abx_question *q)
{
    if (!q || q->deadline < 0)
        return -1;
    int64_t left = q->deadline - run_now_ns();
    return left <= 0 ? 0 : (left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
}
