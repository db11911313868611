/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems, collected. Messages quote foreign text; err.h escapes it. A problem for which there is
 * no memory makes the whole report ABX_E_NOMEM: a text with a problem never passes for one without.
 */
#include "policy/problems.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/buf.h"

#define TEXT_MAX ((size_t)4096)

void problems_done(struct problems *p)
{
    abx_error_free(p->first);
}

void problems_take(struct problems *p, struct doc_place place, abx_error *err)
{
    _buf_ struct buf where = { .limit = TEXT_MAX };

    p->nomem = p->nomem || !err || abx_error_code(err) == ABX_E_NOMEM;
    if (p->count++ >= PROBLEMS_MAX) {
        abx_error_free(err);
        return;
    }
    if (p->name) {
        (void)buf_printf(&where, "%.3000s:%" PRIu32 ":%" PRIu32, p->name, place.line, place.column);
        p->nomem = p->nomem || where.failed;
        if (!where.failed)
            (void)err_wrap(&err, where.data);
    }
    err_append(&p->first, err);
}

void problems_add(struct problems *p, struct doc_place place, const char *subject, const char *hint,
                  const char *fmt, ...)
{
    _buf_ struct buf text = { .limit = TEXT_MAX };
    abx_error *err = NULL;
    va_list args;

    va_start(args, fmt);
    (void)buf_vprintf(&text, fmt, args);
    va_end(args);
    (void)err_new(&err, ABX_E_CONFIG, "%s", text.failed ? "a problem too long to tell" : text.data);
    err_subject(&err, subject);
    if (hint)
        err_hint(&err, "%s", hint);
    problems_take(p, place, err);
}

int32_t problems_report(struct problems *p, abx_error **err)
{
    abx_error *more = NULL;

    if (p->count == 0)
        return ABX_OK;
    if (p->nomem)
        return err_nomem(err);
    if (p->count > PROBLEMS_MAX) {
        (void)err_new(&more, ABX_E_CONFIG, "%zu more problems are not shown",
                      p->count - PROBLEMS_MAX);
        err_append(&p->first, more);
    }
    if (err)
        *err = TAKE_PTR(p->first);
    return ABX_E_CONFIG;
}
