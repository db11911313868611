/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the launcher. The only place where descriptors lose CLOEXEC, from one list. */
#ifndef ABX_RUN_SPAWN_H
#define ABX_RUN_SPAWN_H

#include <sys/types.h>

#include "agentbox/agentbox.h"
#include "base/defs.h"
#include "run/image.h"

struct spawn_request {
    struct image *image;
    const char *const *argv;
    const char *cwd; /* NULL: the caller's */
    int cwd_fd;      /* used instead of cwd if >= 0 */
    const int *fds;  /* fds[i] becomes descriptor i; -1: closed */
    size_t count;
};

/* The launcher's environment: empty, but for what test builds pass on. NULL-terminated. */
const char *const *spawn_environment(void);

/* Another program than the launcher; image is not used. 0 or -errno. */
int spawn_program(const struct spawn_request *q, const char *path, pid_t *ret_pid);
int32_t spawn_launcher(const struct spawn_request *q, pid_t *ret_pid, abx_error **err);

#endif
