/* SPDX-License-Identifier: Apache-2.0 */
/* The system's bubblewrap: which one, and whether it works. */
#ifndef ABX_RUN_BWRAP_H
#define ABX_RUN_BWRAP_H

#include "agentbox/agentbox.h"
#include "base/defs.h"
#include "run/image.h"

struct bwrap {
    const char *path;      /* a constant */
    uint32_t major, minor; /* version */
    bool setuid;           /* it needs no user namespace, and makes none */
};

/* ABX_E_DEPENDENCY: none that can be trusted, or too old. */
int32_t bwrap_find(struct bwrap *ret, abx_error **err);
/* Tries namespaces and a view; NULL, or what bwrap said, for free(). */
char *bwrap_try(const struct bwrap *bwrap, struct image *image);

#endif
