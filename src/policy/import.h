/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of another program to settings: Anthropic's sandbox-runtime (its settings
 * file) and agent-sandbox. Which of them a text belongs to, its keys tell. Pure.
 */
#ifndef ABX_POLICY_IMPORT_H
#define ABX_POLICY_IMPORT_H

#include "base/defs.h"
#include "base/err.h"
#include "policy/settings.h"

#define IMPORT_MAX_PATHS 1024 /* in one list of paths */

struct import_request {
    const char *name; /* of the text, for messages and sources */
    const char *text;
    size_t len;
    const char *cwd, *home; /* clean; what relative paths and "~" mean. home may be NULL */
    bool strict;            /* what could not be protected is a problem, not a note */
};

/*
 * Enters what the text says; sources are its places, "NAME:LINE:COLUMN". *ret_notes is a chain of
 * what is not the same here, each with its place, or NULL. If anything is wrong nothing is entered,
 * and *err is the first of all problems.
 */
int32_t import_decode(struct settings *settings, const struct import_request *request,
                      abx_error **ret_notes, abx_error **err);

#endif
