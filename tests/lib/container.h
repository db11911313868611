/* SPDX-License-Identifier: Apache-2.0 */
/* What container.c was told, and container_view.c makes of it. */
#ifndef ABX_TESTS_CONTAINER_H
#define ABX_TESTS_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define MAX_PLACES   8

enum place_kind { PLACE_RW, PLACE_TMPFS, PLACE_OVERLAY, PLACE_FLAGS };

struct place {
    enum place_kind kind;
    char *path, *flags;
    int tree;
};

struct container {
    bool user, masked, read_only, chroot, caps, filter;
    const char *proc, *sys, *dev, *shm, *ids;
    struct place places[MAX_PLACES];
    size_t place_count;
};

extern struct container want;

_Noreturn void give_up(const char *what, const char *object);
void must(long r, const char *what, const char *object);

/* The mounts, in a mount namespace of our own; we are in its root afterwards. */
void make_view(void);

#endif
