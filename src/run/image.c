/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher lies inside the library (an .incbin at build time) and is copied into a memfd once
 * per manager, when the first command needs it. The memfd is sealed before anything runs from it:
 * nobody, the command included, can change the program that guards it, and there is no file to
 * find, replace or forget.
 */
#include "run/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"

extern const char launcher_image[] __attribute__((visibility("hidden")));
extern const char launcher_image_end[] __attribute__((visibility("hidden")));

#ifndef ABX_LIBEXECDIR
#define ABX_LIBEXECDIR "/usr/libexec/agentbox"
#endif

static char *installed_path(const char *helper_dir)
{
    _buf_ struct buf b;

    buf_init(&b, 4096);
    (void)buf_printf(&b, "%s/abx-launcher", helper_dir ? helper_dir : ABX_LIBEXECDIR);
    return buf_take(&b);
}

void image_init(struct image *image, const char *helper_dir)
{
    *image = (struct image){ .fd = -1, .helper_dir = helper_dir };
    (void)pthread_mutex_init(&image->lock, NULL);
}

static int32_t image_make(struct image *image, abx_error **err)
{
    size_t size = (size_t)(launcher_image_end - launcher_image);
    int fd = fd_memfd("agentbox-launcher", launcher_image, size, true);

    if (fd >= 0) {
        image->fd = fd;
        return ABX_OK;
    }

    char *path = installed_path(image->helper_dir);
    if (!path)
        return err_nomem(err);
    if (access(path, X_OK) == 0) {
        image->path = path;
        return ABX_OK;
    }
    int32_t code = err_sys(err, ABX_E_DEPENDENCY, fd, "put the launcher into memory");
    if (fd != -EFBIG && fd != -EMFILE && fd != -ENFILE) /* those have a hint */
        err_hint(err,
                 "this kernel refuses executable memory files (vm.memfd_noexec); install agentbox "
                 "so that %s exists",
                 path);
    free(path);
    return code;
}

int32_t image_ready(struct image *image, abx_error **err)
{
    (void)pthread_mutex_lock(&image->lock);
    int32_t code = image->fd < 0 && !image->path ? image_make(image, err) : ABX_OK;
    (void)pthread_mutex_unlock(&image->lock);
    return code;
}

void image_done(struct image *image)
{
    fd_close(image->fd);
    free(image->path);
    (void)pthread_mutex_destroy(&image->lock);
}
