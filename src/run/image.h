/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's program: embedded in the library, run from a sealed memfd. */
#ifndef ABX_RUN_IMAGE_H
#define ABX_RUN_IMAGE_H

#include <pthread.h>

#include "agentbox/agentbox.h"
#include "base/defs.h"

/* Made when it is first needed; any thread may need it. */
struct image {
    pthread_mutex_t lock;
    const char *helper_dir; /* where an installed copy ("abx-launcher") lies; NULL: libexec */
    int fd;                 /* memfd, or -1 when `path` names an installed copy */
    char *path; /* for hosts that refuse to execute a memfd (vm.memfd_noexec), or NULL */
};

/* helper_dir is not copied. */
void image_init(struct image *image, const char *helper_dir);
/* Afterwards fd or path is there, and stays. */
int32_t image_ready(struct image *image, abx_error **err);
void image_done(struct image *image);

#endif
