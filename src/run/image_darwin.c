/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher of macOS is an installed file: the system executes no memory. It is trusted as the
 * agentbox program beside it is.
 */
#include "run/image.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"

void image_init(struct image *image, const char *helper_dir)
{
    *image = (struct image){ .fd = -1, .helper_dir = helper_dir };
    (void)pthread_mutex_init(&image->lock, NULL);
}

static int32_t image_find(struct image *image, abx_error **err)
{
    _buf_ struct buf b;

    buf_init(&b, 4096);
    (void)buf_printf(&b, "%s/abx-launcher", image->helper_dir ? image->helper_dir : ABX_LIBEXECDIR);
    char *path = buf_take(&b);
    if (!path)
        return err_nomem(err);
    if (access(path, X_OK) == 0) {
        image->path = path;
        return ABX_OK;
    }
    int32_t code = err_sys(err, ABX_E_DEPENDENCY, -errno, "find the launcher '%s'", path);
    err_hint(err, "install agentbox with its launcher");
    free(path);
    return code;
}

int32_t image_ready(struct image *image, abx_error **err)
{
    (void)pthread_mutex_lock(&image->lock);
    int32_t code = image->path ? ABX_OK : image_find(image, err);
    (void)pthread_mutex_unlock(&image->lock);
    return code;
}

void image_done(struct image *image)
{
    free(image->path);
    (void)pthread_mutex_destroy(&image->lock);
}
