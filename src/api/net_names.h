/* SPDX-License-Identifier: Apache-2.0 */
/* Notices when /etc/hosts or /etc/resolv.conf change: the net role can read neither. */
#ifndef ABX_API_NET_NAMES_H
#define ABX_API_NET_NAMES_H

#include <stdint.h>

#include "base/defs.h"

#define NAMES_HOSTS  "/etc/hosts"
#define NAMES_RESOLV "/etc/resolv.conf"

struct names_stamp {
    uint64_t dev, ino;
    int64_t size, seconds, nanoseconds;
};

struct names_watch {
    int fd; /* of inotify, to be polled; -1: none, then changes are not noticed */
    struct names_stamp stamps[2];
};

void names_open(struct names_watch *w);
void names_close(struct names_watch *w);
/* fd is readable: whether one of the files is another one now. */
bool names_changed(struct names_watch *w);

#endif
