/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan and profile from their descriptors. The host is trusted; the bytes are still decoded as if
 * they were hostile, as on Linux. A profile with a NUL in it would be applied in half: refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "darwin/launch.h"
#include "plan/codec.h"

/* All of a file, with a NUL behind it; for the life of the process. */
static int read_all(int fd, char **ret, size_t *ret_size)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > PLAN_MAX_BYTES)
        return -EINVAL;
    size_t size = (size_t)st.st_size, done = 0;
    char *bytes = malloc(size + 1);
    if (!bytes)
        return -ENOMEM;
    while (done < size) {
        ssize_t n = pread(fd, bytes + done, size - done, (off_t)done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            int error = n == 0 ? -EINVAL : -errno;
            free(bytes);
            return error;
        }
    }
    bytes[size] = '\0';
    *ret = bytes;
    *ret_size = size;
    return 0;
}

int receive_plan(struct launch *l)
{
    char *image = NULL, *profile = NULL;
    size_t size = 0, profile_size = 0;

    l->object = "plan";
    int r = read_all(DARWIN_FD_PLAN, &image, &size);
    if (r < 0)
        return r;
    void *memory = malloc(plan_decode_memory(size)); /* kept: the plan points into both */
    r = memory
            ? plan_decode((const uint8_t *)image, size, memory, plan_decode_memory(size), &l->plan)
            : -ENOMEM;
    if (r < 0) {
        free(memory);
        free(image);
        return r;
    }
    l->object = "profile";
    r = read_all(DARWIN_FD_PROFILE, &profile, &profile_size);
    if (r < 0)
        return r;
    l->profile = profile;
    return profile && profile_size && strlen(profile) == profile_size ? 0 : -EINVAL;
}
