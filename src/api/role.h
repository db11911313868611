/* SPDX-License-Identifier: Apache-2.0 */
/* The process of the net role (net/role.h), as a child of this one. */
#ifndef ABX_API_ROLE_H
#define ABX_API_ROLE_H

#include <sys/types.h>

#include "agentbox/agentbox.h"
#include "base/defs.h"

struct role_process { /* ROLE_NONE: none */
    pid_t pid;
    int pidfd, life; /* the latter: ends with us, and the role with it */
};

#define ROLE_NONE ((struct role_process){ .pidfd = -1, .life = -1 })

/* The agentbox program: as given, or if that is NULL the installed one. */
const char *role_program(const char *given);
/* program: of agentbox. *ret_control is our end of its control socket; it lives as long as that. */
int32_t role_start(const char *program, struct role_process *ret, int *ret_control,
                   abx_error **err);
/* Ends and reaps it; after its control socket was closed it would end by itself. */
void role_end(struct role_process *role);
/* In a forked process: it is the parent's. */
void role_forget(struct role_process *role);

#endif
