/* SPDX-License-Identifier: Apache-2.0 */
/* The system's bubblewrap: which one, and whether it works. */
#ifndef ABX_RUN_BWRAP_H
#define ABX_RUN_BWRAP_H

#include <string.h>

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
/* Tries the namespaces of these layers and a view; NULL, or what bwrap said, for free(). */
char *bwrap_try(const struct bwrap *bwrap, uint32_t layers, struct image *image);

/* What it wrote, without the name that it puts in front. */
static inline const char *bwrap_said(const char *text)
{
    static const char name[] = "bwrap: ";

    return strncmp(text, name, sizeof name - 1) == 0 ? text + sizeof name - 1 : text;
}

#endif
