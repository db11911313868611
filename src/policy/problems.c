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
    for (size_t i = 0; i < p->kept; i++)
        abx_error_free(p->list[i].err);
}

void problems_take(struct problems *p, struct doc_place place, abx_error *err)
{
    _buf_ struct buf where = { .limit = TEXT_MAX };

    p->nomem = p->nomem || !err || abx_error_code(err) == ABX_E_NOMEM;
    p->count++;
    if (p->kept == PROBLEMS_MAX) {
        abx_error_free(err);
        return;
    }
    if (p->name) {
        (void)buf_printf(&where, "%.3000s:%" PRIu32 ":%" PRIu32, p->name, place.line, place.column);
        p->nomem = p->nomem || where.failed;
        if (!where.failed)
            (void)err_wrap(&err, where.data);
    }
    p->list[p->kept++] = (struct problem){ place, err };
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

void problems_of_doc(struct problems *p, const struct doc *doc)
{
    for (size_t i = 0; i < doc->problem_count; i++) {
        if (i >= DOC_MAX_PROBLEMS) {
            p->count++;
            continue;
        }
        const struct doc_problem *q = &doc->problems[i];
        if (q->about)
            problems_add(p, q->place, q->about, q->hint, "%s: '%.256s', first in line %" PRIu32,
                         q->what, q->about, q->before.line);
        else
            problems_add(p, q->place, "", q->hint, "%s", q->what);
    }
}

/* Insertion: there are few, mostly in order, and those at one place stay as they came. */
static void sort_by_place(struct problem *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct problem moved = list[i];
        size_t j = i;

        while (j > 0 && (list[j - 1].place.line > moved.place.line ||
                         (list[j - 1].place.line == moved.place.line &&
                          list[j - 1].place.column > moved.place.column))) {
            list[j] = list[j - 1];
            j--;
        }
        list[j] = moved;
    }
}

int32_t problems_report(struct problems *p, abx_error **err)
{
    abx_error *first = NULL, *more = NULL;

    if (p->count == 0)
        return ABX_OK;
    if (p->nomem)
        return err_nomem(err);
    if (!err)
        return ABX_E_CONFIG;
    sort_by_place(p->list, p->kept);
    for (size_t i = 0; i < p->kept; i++)
        err_append(&first, TAKE_PTR(p->list[i].err));
    if (p->count > p->kept) {
        (void)err_new(&more, ABX_E_CONFIG, "%zu more problems are not shown", p->count - p->kept);
        err_append(&first, more);
    }
    *err = first;
    return ABX_E_CONFIG;
}
