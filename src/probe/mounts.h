/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mounted where. Found out once a scan, by scan_mounts: newer kernels are asked mount by
 * mount, which is cheap, and only where something is mounted twice, or by older ones, the whole
 * text of /proc/self/mountinfo is read.
 */
#ifndef ABX_PROBE_MOUNTS_H
#define ABX_PROBE_MOUNTS_H

#include "probe/scan_state.h"

struct mount_line {
    uint64_t id, parent_id;
    const struct mount_line *parent; /* NULL: not in the table, as of the root's own */
    const char *device;              /* "8:1" */
    const char *root;                /* in the file system; NULL: no path, as of one removed */
    const char *point;
    const char *type;
    size_t point_len;
    size_t file_system; /* the same number for all lines of one device */
    bool shared;        /* another mount shows the same file system */
};

struct mount_table {
    struct mount_line *lines;
    size_t count;
    bool any_shared;
    const struct mount_line *outer; /* in a run inside another: what the outer one put there */
};

/* Lines of mountinfo, decoded where they stand; lines has room for as many as there are '\n'. */
size_t mounts_parse(char *text, size_t len, struct mount_line *lines, size_t room);
/* The mount that path lies on, or NULL. */
const struct mount_line *mounts_find(const struct mount_table *t, const char *path);

#endif
