/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small evaluator of the Seatbelt profile language: what plan/seatbelt.c writes, and no more. It
 * reads the text from scratch and shares no code with the generator, so that both would have to be
 * wrong in the same way. Anything it does not know makes the profile invalid, as a misspelt
 * operation would on a Mac.
 */
#ifndef ABX_TESTS_SBPL_H
#define ABX_TESTS_SBPL_H

#include "base/defs.h"

struct sbpl;

struct sbpl_param {
    const char *name, *value;
};

/* One question to the sandbox. What a filter asks for and is not given does not match. */
struct sbpl_query {
    const char *operation;      /* "file-read-data": never with a star */
    const char *path;           /* of the file, or of the unix socket */
    const char *name;           /* sysctl, Mach service, posix IPC */
    const char *remote, *local; /* "tcp localhost:8080" */
    const char *extension;
    bool same_sandbox; /* process and signal targets */
};

/* NULL, with a message in *ret_error, if it is not a profile; the message is for free(). */
struct sbpl *sbpl_read(const char *text, const struct sbpl_param *params, size_t param_count,
                       char **ret_error);
void sbpl_free(struct sbpl *profile);
/* Whether the last rule that matches allows it. */
bool sbpl_allows(const struct sbpl *profile, const struct sbpl_query *query);
/* The longest string literal, and regex, of the profile, as written. */
size_t sbpl_longest_string(const struct sbpl *profile);

#endif
