/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as arguments of bubblewrap (0.8 and later). Pure. */
#ifndef ABX_PLAN_BWRAP_H
#define ABX_PLAN_BWRAP_H

#include "base/buf.h"
#include "base/err.h"
#include "plan/plan.h"

/* Where bwrap finds an empty file to copy: the marker of the sandbox is the only one there is. */
#define BWRAP_FD_EMPTY 9
/* … and the programs that cover others, in the order of the plan. */
#define BWRAP_FD_WRAPS 16

#define BWRAP_MIN_MINOR 8     /* of 0.x */
#define BWRAP_MAX_WORDS 8950u /* it takes 9,000; some are the launcher's */

/* "bubblewrap 0.8.0": false if it says anything else. */
bool bwrap_version(const char *text, size_t len, uint32_t *ret_major, uint32_t *ret_minor);

#define BWRAP_NAMESPACES 6
/* The options that make these layers, those of namespaces; how many. */
size_t bwrap_namespaces(uint32_t layers, const char *ret[BWRAP_NAMESPACES]);

/* What a plan can ask for and bubblewrap cannot do; bits. */
#define BWRAP_LACKS_LINKS 0x1u /* symlinks that must not be replaced */
#define BWRAP_LACKS_FILES 0x2u /* more than one file of our own */
#define BWRAP_LACKS_PATHS 0x4u /* paths of PATH_MAX and more */
#define BWRAP_LACKS_WRAPS 0x8u /* covers of commands that are symlinks */
uint32_t bwrap_lacks(const struct plan *plan);

/* A program that is covered: the next of its descriptors. */
static inline bool bwrap_covers(const struct mount_op *op)
{
    return op->kind == MOUNT_WRAP && !(op->flags & MOUNT_LINKED);
}

/*
 * For `bwrap --args FD`: the namespaces and the view of files; each word ends with a NUL. What lies
 * inside is left to our own launcher. Without the layer userns bwrap is setuid root.
 */
int32_t bwrap_words(const struct plan *plan, struct buf *out, abx_error **err);

/*
 * A command that can be pasted into a shell, with comments on what it lacks. host_env: variables
 * that are passed on as they are there are printed by name only.
 */
int32_t bwrap_print(const struct plan *plan, const char *const *host_env, struct buf *out,
                    abx_error **err);

#endif
