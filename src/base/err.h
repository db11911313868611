/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors above base/: a code, what was tried on what, a subject, a hint, an errno, the next one.
 * Made once, where the noun is known. Every maker returns the code, so that callers write
 * `return err_sys(err, ABX_E_IO, -errno, "open '%s'", path);`. err may be NULL; what *err was is
 * not looked at. Texts are one line: what is invisible or not UTF-8 is escaped (str_escape).
 *
 * When there is no memory for an error, *err is one static error "out of memory", the code returned
 * is ABX_E_NOMEM, and additions to it do nothing.
 */
#ifndef ABX_BASE_ERR_H
#define ABX_BASE_ERR_H

#include "agentbox/agentbox.h"
#include "base/defs.h"

/* An error without an errno. */
int32_t err_new(abx_error **err, int32_t code, const char *fmt, ...) ATTR_PRINTF(3, 4);
/* An error of the system: neg_errno is -E…; ": " and its text are put behind the message. */
int32_t err_sys(abx_error **err, int32_t code, int neg_errno, const char *fmt, ...)
    ATTR_PRINTF(4, 5);
int32_t err_nomem(abx_error **err);

/* Additions to *err; nothing happens if err or *err is NULL. The text is copied. */
void err_subject(abx_error **err, const char *subject);
void err_hint(abx_error **err, const char *fmt, ...) ATTR_PRINTF(2, 3);
/*
 * "outer: inner". Returns the error's own code, or ABX_E_NOMEM if err or *err is NULL: where err
 * may be NULL, return what the failed call returned.
 */
int32_t err_wrap(abx_error **err, const char *outer);
/* Puts `more` at the end of the chain of *err (or makes it the first); takes ownership. */
void err_append(abx_error **err, abx_error *more);

void err_freep(abx_error **err);
#define _err_ __attribute__((cleanup(err_freep)))

#endif
