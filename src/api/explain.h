/* SPDX-License-Identifier: Apache-2.0 */
/* What `why` and the monitor have in common: from a path as somebody wrote it to an answer. */
#ifndef ABX_API_EXPLAIN_H
#define ABX_API_EXPLAIN_H

#include "plan/explain.h"
#include "probe/resolve.h"

/* text is absolute, or relative to the run's working directory. */
int32_t explain_resolve(const struct explain_context *context, const char *text,
                        struct arena *arena, struct resolved *ret, abx_error **err);
/* *where becomes a link on the way where the run does not see that. */
int32_t explain_resolved(const struct explain_context *context, enum explain_operation operation,
                         enum explain_making making, struct resolved *where, struct arena *arena,
                         struct explain_answer *ret, abx_error **err);
/* Whether the file's own permissions allow it (R_OK, …). Root has no override inside. */
bool host_allows(const char *path, int mode);

#endif
