/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identity in the new user namespace. A user is mapped onto itself and nobody else exists; root is
 * mapped onto itself with all other ids, so that files keep their owners, and gives up its
 * supplementary groups. Either way capabilities count inside only, and are dropped later.
 */
#include "linux/launch.h"

static void map_line(char *to, size_t cap, uint32_t id, uint64_t count)
{
    to[0] = '\0';
    text_append_u64(to, cap, id);
    text_append(to, cap, " ");
    text_append_u64(to, cap, id);
    text_append(to, cap, " ");
    text_append_u64(to, cap, count);
    text_append(to, cap, "\n");
}

bool userns_has_all_ids(void)
{
    char map[64] = "";
    long fd = TRY4(__NR_openat, SYS_AT_FDCWD, "/proc/self/uid_map", SYS_O_RDONLY | SYS_O_CLOEXEC,
                   0);
    long n = fd < 0 ? -1 : TRY3(__NR_read, fd, map, sizeof map - 1);

    file_close((int)fd);
    if (n <= 0)
        return false;
    const char *count = map + n - 1; /* "         0          0 4294967295\n" */
    while (count > map && (*count < '0' || *count > '9'))
        count--;
    while (count > map && count[-1] >= '0' && count[-1] <= '9')
        count--;
    return text_to_u64(count) == UINT32_MAX;
}

long userns_map_self(struct launch *l)
{
    char line[64];

    if (l->plan.map_all_ids) {
        char byte;
        l->object = "/proc/PID/uid_map";
        if (SYS3(__NR_read, l->sync_fd, &byte, 1) != 1)
            return -EPIPE; /* the keeper failed, and has said so */
        file_close(l->sync_fd);
        return SYS2(__NR_setgroups, 0, 0);
    }

    l->object = "/proc/self/setgroups";
    long r = file_write(SYS_AT_FDCWD, l->object, "deny");
    if (r == -ENOENT)
        r = 0; /* kernels without it have no hole to close */
    if (r < 0)
        return r;
    l->object = "/proc/self/uid_map";
    map_line(line, sizeof line, l->plan.uid, 1);
    r = file_write(SYS_AT_FDCWD, l->object, line);
    if (r < 0)
        return r;
    l->object = "/proc/self/gid_map";
    map_line(line, sizeof line, l->plan.gid, 1);
    return file_write(SYS_AT_FDCWD, l->object, line);
}

long userns_map_child(struct launch *l, int pid)
{
    static const char *const files[] = { "/uid_map", "/gid_map" };
    char path[64], line[64];

    map_line(line, sizeof line, 0, UINT32_MAX);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        path[0] = '\0';
        text_append(path, sizeof path, "/proc/");
        text_append_u64(path, sizeof path, (uint64_t)pid);
        text_append(path, sizeof path, files[i]);
        l->object = i ? "/proc/PID/gid_map" : "/proc/PID/uid_map";
        long r = file_write(SYS_AT_FDCWD, path, line);
        if (r < 0)
            return r;
    }
    return 0;
}
