/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of violations. What is in it comes from inside the sandbox for the most part: paths and
 * names are the command's own bytes. So all is bounded (VIOLATIONS_MAX records, each text cut), and
 * the one line for people is escaped here, once. Nothing is decided by what stands here.
 */
#include "run/violations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/str.h"

const char *violation_operation_name(uint32_t operation)
{
    static const char *const names[VIOLATION_OPERATION_COUNT] = {
        [VIOLATION_READ] = "file-read",  [VIOLATION_WRITE] = "file-write",
        [VIOLATION_NETWORK] = "network", [VIOLATION_PROCESS] = "process",
        [VIOLATION_OTHER] = "other",
    };

    return operation < VIOLATION_OPERATION_COUNT ? names[operation] : "?";
}

static int64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static bool same_text(const char *a, const char *b)
{
    return str_eq(a ? a : "", b ? b : "");
}

static bool is_empty(const char *text)
{
    return !text || !text[0];
}

static bool same_thing(const struct abx_violation *a, const struct abx_violation *b)
{
    bool named = !is_empty(a->path) || !is_empty(a->host);

    return a->operation == b->operation && a->port == b->port && same_text(a->path, b->path) &&
           same_text(a->host, b->host) && (named || same_text(a->detail, b->detail)) &&
           (is_empty(a->host) || same_text(a->rule, b->rule));
}

/* ---- the line ---- */

static void put_escaped(struct buf *b, const char *before, const char *text, const char *after)
{
    if (is_empty(text))
        return;
    (void)buf_puts(b, before);
    (void)str_escape(b, text, strlen(text));
    (void)buf_puts(b, after);
}

static void put_grant(struct buf *b, const struct abx_violation *v)
{
    (void)buf_puts(b, "; ");
    put_escaped(b, v->lead ? v->lead : "to allow: ", v->grant, "");
}

/* "file-write /etc/x: touch, openat; rule default (built-in); grant: --rw /etc/x" */
static char *make_text(const struct abx_violation *v)
{
    _buf_ struct buf b = { .limit = 16 * VIOLATIONS_TEXT_MAX };

    (void)buf_puts(&b, violation_operation_name(v->operation));
    put_escaped(&b, " ", v->path, "");
    bool is_v6 = v->port && !is_empty(v->host) && strchr(v->host, ':');
    put_escaped(&b, is_v6 ? " [" : " ", v->host, is_v6 ? "]" : "");
    if (v->port)
        (void)buf_printf(&b, ":%d", (int)v->port);
    put_escaped(&b, is_empty(v->path) && is_empty(v->host) ? " " : ": ", v->detail, "");
    put_escaped(&b, " by ", v->process, "");
    put_escaped(&b, "; rule ", v->rule, "");
    put_escaped(&b, " (", is_empty(v->source) ? v->origin : v->source, ")");
    if (is_empty(v->grant))
        put_escaped(&b, "; ", v->note, "");
    else
        put_grant(&b, v);
    put_escaped(&b, ", after ", v->first, "");
    return buf_take(&b);
}

/* ---- records ---- */

#define TEXT_COUNT 11
static void list_texts(struct abx_violation *v, const char **ret[TEXT_COUNT])
{
    const char **all[TEXT_COUNT] = { &v->path, &v->host,       &v->detail, &v->process,
                                     &v->rule, &v->origin,     &v->source, &v->grant,
                                     &v->note, &v->grant_path, &v->first };

    for (size_t i = 0; i < TEXT_COUNT; i++)
        ret[i] = all[i];
}

static void free_texts(struct abx_violation *v)
{
    const char **texts[TEXT_COUNT];

    list_texts(v, texts);
    for (size_t i = 0; i < TEXT_COUNT; i++)
        free((void *)(uintptr_t)*texts[i]);
    free((void *)(uintptr_t)v->text);
}

static bool copy_record(const struct abx_violation *from, struct abx_violation *ret)
{
    const char **texts[TEXT_COUNT];
    bool ok = true;

    *ret = *from;
    list_texts(ret, texts);
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        *texts[i] = strndup(*texts[i] ? *texts[i] : "", VIOLATIONS_TEXT_MAX);
        ok = ok && *texts[i];
    }
    ret->text = ok ? make_text(ret) : NULL;
    if (ret->text)
        return true;
    free_texts(ret);
    return false;
}

static bool make_room(struct violations *v)
{
    if (v->count < v->capacity)
        return true;
    if (v->count >= VIOLATIONS_MAX)
        return false;
    size_t capacity = v->capacity ? 2 * v->capacity : 8;
    struct abx_violation *list = reallocarray(v->list, capacity, sizeof *list);
    if (!list)
        return false;
    v->list = list;
    v->capacity = capacity;
    return true;
}

const struct abx_violation *violations_add(struct violations *v, const struct abx_violation *one,
                                           bool *ret_new)
{
    const uint64_t times = one->count ? one->count : 1;

    if (ret_new)
        *ret_new = false;
    for (size_t i = 0; i < v->count; i++) {
        if (!same_thing(&v->list[i], one))
            continue;
        if (__builtin_add_overflow(v->list[i].count, times, &v->list[i].count))
            v->list[i].count = UINT64_MAX;
        return &v->list[i];
    }
    struct abx_violation *record = make_room(v) ? &v->list[v->count] : NULL;
    if (!record || !copy_record(one, record)) {
        v->dropped += times;
        return NULL;
    }
    record->count = times;
    if (!record->time_ns)
        record->time_ns = now_ns();
    v->count++;
    if (ret_new)
        *ret_new = true;
    return record;
}

int violations_copy(const struct violations *from, struct violations *ret)
{
    *ret = (struct violations){ .dropped = from->dropped };
    if (!from->count)
        return 0;
    ret->list = calloc(from->count, sizeof *ret->list);
    if (!ret->list)
        return -ENOMEM;
    ret->capacity = from->count;
    for (size_t i = 0; i < from->count; i++, ret->count++) {
        if (copy_record(&from->list[i], &ret->list[i]))
            continue;
        violations_done(ret);
        return -ENOMEM;
    }
    return 0;
}

void violations_done(struct violations *v)
{
    for (size_t i = 0; i < v->count; i++)
        free_texts(&v->list[i]);
    free(v->list);
    *v = (struct violations){ 0 };
}
