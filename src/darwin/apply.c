/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts this process, and all that it will start, into its profile, for good. The system's compiler
 * says in words what it does not like; they go into the error, for only it knows its language.
 * Inside another sandbox this fails with EPERM: sandboxes of macOS do not nest.
 */
#include <errno.h>
#include <stdio.h>

#include "darwin/launch.h"
#include "darwin/undeclared.h"
#include "plan/seatbelt.h"

int apply_profile(struct launch *l)
{
    const char *const params[] = {
        SEATBELT_PARAM_TMP,
        l->tmp,
        SEATBELT_PARAM_TTY,
        l->tty[0] ? l->tty : "/dev/null",
        SEATBELT_PARAM_PORT,
        l->port,
        NULL,
    };
    char *words = NULL;

    l->object = "profile";
    errno = 0;
    if (sandbox_init_with_parameters(l->profile, 0, params, &words) == 0)
        return 0;
    int error = errno ? -errno : -EINVAL;
    (void)snprintf(l->text, sizeof l->text, "%s", words ? words : "");
    sandbox_free_error(words);
    return error;
}
