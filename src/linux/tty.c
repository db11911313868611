/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal of the sandbox's own. Pid 1 is the leader of its session, so that job control works
 * for a command without a shell (its process group is not orphaned); the master side goes to the
 * host. Nothing inside ever holds a descriptor of the outer terminal.
 */
#include <asm/ioctls.h>
#include <linux/ioctl.h>

#include "linux/launch.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

long tty_open(struct launch *l)
{
    int unlock = 0;

    if (!l->plan.tty)
        return 0;
    /* Of the view's own devpts; without a view, the host's, where the other name may be closed. */
    l->object = l->plan.layers & LAYER_BIT(LAYER_MOUNTS) ? "/dev/pts/ptmx" : "/dev/ptmx";
    long master = SYS4(__NR_openat, SYS_AT_FDCWD, l->object,
                       SYS_O_RDWR | SYS_O_NOCTTY | SYS_O_CLOEXEC, 0);
    if (master < 0)
        return master;
    l->tty_master = (int)master;
    long r = SYS3(__NR_ioctl, master, TIOCSPTLCK, &unlock);
    if (r < 0)
        return r;
    long slave = SYS3(__NR_ioctl, master, TIOCGPTPEER, SYS_O_RDWR | SYS_O_NOCTTY | SYS_O_CLOEXEC);
    if (slave < 0)
        return slave;
    l->tty_fd = (int)slave;
    const uint16_t window[4] = { (uint16_t)l->plan.tty_rows, (uint16_t)l->plan.tty_columns };
    r = SYS3(__NR_ioctl, slave, TIOCSWINSZ, window);
    return r < 0 ? r : SYS3(__NR_ioctl, slave, TIOCSCTTY, 0);
}
