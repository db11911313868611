/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error object.
 *
 * An error owns its three texts and the rest of its chain. Paths, hosts and keys in the texts are
 * foreign bytes, so every text is escaped when it is stored: one line, valid UTF-8, nothing that a
 * terminal would obey. Texts longer than ERR_MAX_TEXT are cut.
 *
 * Where memory is out, the static `out_of_memory` stands in. It is const: shared by all threads,
 * never changed, never freed, always the end of a chain. Additions that cannot be allocated are
 * left out and the error stays as it was; an error never turns into no error.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"

#define ERR_MAX_TEXT ((size_t)64 << 10)

struct abx_error {
    int32_t code, system;
    char *message, *subject, *hint;
    abx_error *next;
};

static char out_of_memory_text[] = "out of memory";
static const abx_error out_of_memory = { .code = ABX_E_NOMEM, .message = out_of_memory_text };

static bool err_is_static(const abx_error *e)
{
    return e == &out_of_memory;
}

/* len bytes, escaped, in memory of their own; NULL if there is none. */
static char *err_text(const char *s, size_t len)
{
    _buf_ struct buf b;

    buf_init(&b, ERR_MAX_TEXT * 4); /* a byte becomes at most four: \xNN */
    (void)str_escape(&b, s, MIN_OF(len, ERR_MAX_TEXT));
    return buf_take(&b);
}

/* The formatted text, then ": " and the suffix if there is one. */
static char *err_format(const char *suffix, const char *fmt, va_list args)
{
    _buf_ struct buf b;

    buf_init(&b, SIZE_MAX);
    (void)buf_vprintf(&b, fmt, args);
    if (suffix && b.len > ERR_MAX_TEXT / 2) { /* the reason must not fall victim to the cut */
        b.len = ERR_MAX_TEXT / 2;
        b.data[b.len] = '\0';
    }
    if (suffix)
        (void)buf_printf(&b, ": %s", suffix);
    return b.failed ? NULL : err_text(b.data, b.len);
}

static int32_t err_make(abx_error **err, int32_t code, int system, char *message)
{
    abx_error *e = message ? calloc(1, sizeof(*e)) : NULL;

    if (!e) {
        free(message);
        return err_nomem(err);
    }
    e->code = code;
    e->system = system;
    e->message = message;
    *err = e;
    return code;
}

int32_t err_new(abx_error **err, int32_t code, const char *fmt, ...)
{
    va_list args;
    char *message;

    if (!err)
        return code;
    va_start(args, fmt);
    message = err_format(NULL, fmt, args);
    va_end(args);
    return err_make(err, code, 0, message);
}

/* Both give a constant text, in any thread, whatever the locale; NULL or not, for unknown ones. */
static const char *describe(int number)
{
#ifdef __linux__
    return strerrordesc_np(number);
#else
    return strerror(number);
#endif
}

/* Shortages that any call may run into: whoever knows more replaces it. */
static const char *shortage_hint(int number)
{
    switch (number) {
    case EMFILE:
        return "too many open files: raise the limit with ulimit -n";
    case ENFILE:
        return "the machine has too many open files: see /proc/sys/fs/file-nr";
    case EFBIG:
        return "the limit of file sizes is too low: see ulimit -f";
    default:
        return NULL;
    }
}

int32_t err_sys(abx_error **err, int32_t code, int neg_errno, const char *fmt, ...)
{
    const char *reason = describe(-neg_errno);
    va_list args;
    char *message;

    if (!err)
        return code;
    va_start(args, fmt);
    message = err_format(reason ? reason : "unknown error", fmt, args);
    va_end(args);
    code = err_make(err, code, -neg_errno, message);
    const char *hint = shortage_hint(-neg_errno);
    if (hint)
        err_hint(err, "%s", hint);
    return code;
}

int32_t err_nomem(abx_error **err)
{
    if (err)
        *err = (abx_error *)(uintptr_t)&out_of_memory; /* const is cast away, never written to */
    return ABX_E_NOMEM;
}

static bool err_can_add(abx_error **err)
{
    return err && *err && !err_is_static(*err);
}

/* Text that takes the place of another; without memory the other stays. */
static void err_replace(char **place, char *text)
{
    if (!text)
        return;
    free(*place);
    *place = text;
}

void err_subject(abx_error **err, const char *subject)
{
    if (err_can_add(err))
        err_replace(&(*err)->subject, err_text(subject, strlen(subject)));
}

void err_hint(abx_error **err, const char *fmt, ...)
{
    va_list args;

    if (!err_can_add(err))
        return;
    va_start(args, fmt);
    err_replace(&(*err)->hint, err_format(NULL, fmt, args));
    va_end(args);
}

int32_t err_wrap(abx_error **err, const char *outer)
{
    _buf_ struct buf b = { .limit = SIZE_MAX - 1 };

    if (!err_can_add(err))
        return ABX_E_NOMEM;
    (void)buf_printf(&b, "%s: %s", outer, (*err)->message);
    if (!b.failed)
        err_replace(&(*err)->message, err_text(b.data, b.len));
    return (*err)->code;
}

void err_append(abx_error **err, abx_error *more)
{
    abx_error *last;

    if (!err) {
        abx_error_free(more);
        return;
    }
    if (!*err) {
        *err = more;
        return;
    }
    for (last = *err; last->next; last = last->next)
        continue;
    if (err_is_static(last))
        abx_error_free(more);
    else
        last->next = more;
}

void err_freep(abx_error **err)
{
    abx_error_free(*err);
}

int32_t abx_error_code(const abx_error *err)
{
    return err ? err->code : ABX_OK;
}

const char *abx_error_message(const abx_error *err)
{
    return err ? err->message : "";
}

const char *abx_error_subject(const abx_error *err)
{
    return err && err->subject ? err->subject : "";
}

const char *abx_error_hint(const abx_error *err)
{
    return err && err->hint ? err->hint : "";
}

int32_t abx_error_errno(const abx_error *err)
{
    return err ? err->system : 0;
}

const abx_error *abx_error_next(const abx_error *err)
{
    return err ? err->next : NULL;
}

void abx_error_free(abx_error *err)
{
    while (err && !err_is_static(err)) {
        abx_error *next = err->next;

        free(err->message);
        free(err->subject);
        free(err->hint);
        free(err);
        err = next;
    }
}

const char *abx_error_name(int32_t code)
{
    static const char *const names[] = {
        [ABX_OK] = "ABX_OK",
        [ABX_E_FORBIDDEN] = "ABX_E_FORBIDDEN",
        [ABX_E_ESCALATED] = "ABX_E_ESCALATED",
        [ABX_E_UNSUPPORTED] = "ABX_E_UNSUPPORTED",
        [ABX_E_DEPENDENCY] = "ABX_E_DEPENDENCY",
        [ABX_E_CLOSED] = "ABX_E_CLOSED",
        [ABX_E_CONFIG] = "ABX_E_CONFIG",
        [ABX_E_PROXY] = "ABX_E_PROXY",
        [ABX_E_INVALID] = "ABX_E_INVALID",
        [ABX_E_STATE] = "ABX_E_STATE",
        [ABX_E_NOMEM] = "ABX_E_NOMEM",
        [ABX_E_SANDBOX] = "ABX_E_SANDBOX",
        [ABX_E_EXEC] = "ABX_E_EXEC",
        [ABX_E_TIMEOUT] = "ABX_E_TIMEOUT",
        [ABX_E_CANCELED] = "ABX_E_CANCELED",
        [ABX_E_IO] = "ABX_E_IO",
        [ABX_E_CALLBACK] = "ABX_E_CALLBACK",
        [ABX_E_FORKED] = "ABX_E_FORKED",
    };

    if (code < 0 || (size_t)code >= ARRAY_LEN(names))
        return "ABX_E_?";
    return names[code];
}

void abx_free(void *memory)
{
    free(memory);
}
