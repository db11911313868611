/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal of the command's own: the master goes to the host, the slave becomes the controlling
 * terminal of the command's session. The command never holds a descriptor of the outer one, so
 * there is nothing it could type into.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "darwin/launch.h"

int terminal_open(struct launch *l)
{
    const struct winsize size = { .ws_row = (unsigned short)l->plan.tty_rows,
                                  .ws_col = (unsigned short)l->plan.tty_columns };

    l->object = "terminal";
    if (!l->plan.tty)
        return 0;
    l->tty_master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (l->tty_master < 0 || grantpt(l->tty_master) < 0 || unlockpt(l->tty_master) < 0)
        return -errno;
    const char *name = ptsname(l->tty_master);
    if (!name || strlen(name) >= sizeof l->tty)
        return -ENXIO;
    memcpy(l->tty, name, strlen(name) + 1);
    l->tty_slave = open(l->tty, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (l->tty_slave < 0)
        return -errno;
    if (size.ws_row && ioctl(l->tty_slave, TIOCSWINSZ, &size) < 0)
        return -errno;
    report_tty(l->tty_master);
    (void)close(l->tty_master);
    l->tty_master = -1;
    return 0;
}
