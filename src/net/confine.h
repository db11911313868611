/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The net role shuts itself in before it sees a foreign byte: no new privileges, not dumpable, no
 * file, no signal to others, no process, no memory that is executable; sockets, and what an event
 * loop needs (confine.def). It cannot be undone.
 */
#ifndef ABX_NET_CONFINE_H
#define ABX_NET_CONFINE_H

#include "base/defs.h"

#define CONFINE_MEMORY ((uint64_t)1 << 30) /* address space */

struct confine_step {
    const char *name; /* of the step that failed */
    int result;       /* 0 or -errno */
};

/* files: descriptors it may have. Where there is no Landlock, seccomp alone keeps files closed. */
struct confine_step confine_self(uint64_t files);
/*
 * Once more, when it is known what the sockets are for: no further filter, and without mitmProxy no
 * Unix socket. -errno.
 */
int confine_more(bool unix_sockets);
/* How many it may have. */
uint64_t confine_files(void);

#endif
