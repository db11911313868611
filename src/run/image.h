/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's program: embedded in the library, run from a sealed memfd. */
#ifndef ABX_RUN_IMAGE_H
#define ABX_RUN_IMAGE_H

#include "agentbox/agentbox.h"
#include "base/defs.h"

struct image {
    int fd;     /* memfd, or -1 when `path` names an installed copy */
    char *path; /* installed copy, or NULL */
};

/*
 * helper_dir: where an installed copy ("abx-launcher") lies, for hosts that refuse to execute a
 * memfd (vm.memfd_noexec); NULL: the compiled-in libexec directory.
 */
int32_t image_open(struct image *ret, const char *helper_dir, abx_error **err);
void image_close(struct image *image);

#endif
