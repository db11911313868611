/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a project's configuration file grants beyond what holds without it. Pure. Not the words of
 * the file are judged but what becomes of them: both policies, with the same other layers, and the
 * mounts that follow from them.
 */
#ifndef ABX_PLAN_WIDEN_H
#define ABX_PLAN_WIDEN_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "plan/explain.h"
#include "policy/layers.h"

struct widen_side {
    struct layers layers;
    struct explain_context context;
};

struct widening {
    const char *source; /* "FILE:LINE:COLUMN" */
    const char *key;    /* "filesystem.rw" */
    const char *text;   /* "'/etc' becomes writable" */
};

/*
 * after has the entries of ORIGIN_PROJECT, before has not. directory: where the file lies; what is
 * writable below it, where no rule says otherwise, is not counted, unless it is the home directory
 * or one above it.
 */
int32_t widen_compare(const struct widen_side *before, const struct widen_side *after,
                      const char *directory, struct arena *arena, const struct widening **ret,
                      size_t *ret_count, abx_error **err);

/* The row of a key in widen.def; false: it has none. For tests. */
bool widen_has_row(enum settings_key key);

#endif
