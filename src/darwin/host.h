/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's side of a run on macOS decides (run/run_darwin.c acts). Pure. */
#ifndef ABX_DARWIN_HOST_H
#define ABX_DARWIN_HOST_H

#include "base/defs.h"
#include "plan/plan.h"
#include "plan/protocol.h"

/* Messages of the launcher come as a stream; a record may come in pieces. Zeroed: empty. */
struct inbox {
    struct status_msg msg;
    size_t have;
};

/* Where the next bytes go, and how many at most. */
void *inbox_room(struct inbox *i, size_t *ret_size);
/* size bytes, at most the room, came. true: msg is whole, its texts end with NUL; it may be read
 * until the next bytes come. */
bool inbox_add(struct inbox *i, size_t size);

/*
 * The plan as the launcher of macOS needs it: without what only Linux enforces, and with TMPDIR.
 * tmpdir is "TMPDIR=…" and, like plan, must outlive *ret; so must env, which has room for
 * plan->env_count + 2 pointers.
 */
void host_plan(const struct plan *plan, const char *tmpdir, const char **env, struct plan *ret);

#endif
