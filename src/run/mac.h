/* SPDX-License-Identifier: Apache-2.0 */
/* What only the runs of macOS have. */
#ifndef ABX_RUN_MAC_H
#define ABX_RUN_MAC_H

#include "darwin/canonical.h"
#include "darwin/host.h"
#include "run/run.h"

struct run_mac {
    struct run_request request; /* of run_launch, for run_deliver */
    struct inbox inbox;
    pid_t command;             /* leader of the command's session; 0: not known yet */
    bool own_tmp;              /* tmp was made for this run */
    char tmp[DARWIN_PATH_MAX]; /* canonical */
};

/* ---- spawn_darwin.c ---- */

/* Makes what the launcher needs and starts it: keeper, status_fd, streams. */
int32_t mac_spawn(struct run *r, const struct plan *plan, const char *const *state_dirs,
                  int *ret_lifeline, abx_error **err);

#endif
