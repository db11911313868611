/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration's text to settings. */
#ifndef ABX_POLICY_DECODE_H
#define ABX_POLICY_DECODE_H

#include "base/defs.h"
#include "base/doc.h"
#include "base/err.h"
#include "policy/settings.h"

/*
 * Enters every key of the text. Entries get settings->origin, and as their source the place of the
 * value: "NAME:LINE:COLUMN". If anything is wrong nothing is entered; *err is then the first of
 * all problems (abx_error_next), each "NAME:LINE:COLUMN: …" with the key as its subject.
 */
int32_t config_decode(struct settings *settings, const char *name, const char *text, size_t len,
                      enum doc_format format, abx_error **err);

#endif
