/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as arguments of bubblewrap (0.8 and later). Pure. */
#ifndef ABX_PLAN_BWRAP_H
#define ABX_PLAN_BWRAP_H

#include "base/buf.h"
#include "base/err.h"
#include "plan/plan.h"

/* Where bwrap finds an empty file to copy: the marker of the sandbox is the only one there is. */
#define BWRAP_FD_EMPTY 9

/* What a plan can ask for and bubblewrap cannot do; bits. */
#define BWRAP_LACKS_WRAPS 0x1u /* covers of commands */
#define BWRAP_LACKS_LINKS 0x2u /* symlinks that must not be replaced */
#define BWRAP_LACKS_FILES 0x4u /* more than one file of our own */
#define BWRAP_LACKS_PATHS 0x8u /* paths of PATH_MAX and more */
uint32_t bwrap_lacks(const struct plan *plan);

/*
 * For `bwrap --args FD`: the namespaces and the view of files; each word ends with a NUL. What lies
 * inside is left to our own launcher. setuid: that bwrap is, so it makes no user namespace.
 */
int32_t bwrap_words(const struct plan *plan, bool setuid, struct buf *out, abx_error **err);

/*
 * A command that can be pasted into a shell, with comments on what it lacks. host_env: variables
 * that are passed on as they are there are printed by name only.
 */
int32_t bwrap_print(const struct plan *plan, const char *const *host_env, struct buf *out,
                    abx_error **err);

#endif
