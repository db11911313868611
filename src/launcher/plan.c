/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan arrives as a sealed memfd when the host has made it. It comes from the host, which is
 * trusted, but is decoded as if it were not.
 */
#include <linux/fcntl.h>
#include <linux/stat.h>

#include "launcher/launcher.h"
#include "plan/codec.h"

#define PROT_READ_FLAG   1
#define PROT_WRITE_FLAG  2
#define MAP_PRIVATE_FLAG 2
#define MAP_ANON_FLAG    32
#define MEMORY_PER_BYTE  16 /* for the steps' own tables; untouched pages cost nothing */

void *launch_alloc(struct launch *l, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - 15)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > l->memory_size - l->memory_used)
        return NULL;
    void *p = l->memory + l->memory_used;
    l->memory_used += bytes;
    return p;
}

static long map_memory(size_t size, int fd)
{
    long r = SYS6(__NR_mmap, 0, size, fd < 0 ? PROT_READ_FLAG | PROT_WRITE_FLAG : PROT_READ_FLAG,
                  fd < 0 ? MAP_PRIVATE_FLAG | MAP_ANON_FLAG : MAP_PRIVATE_FLAG, fd, 0);

    return r;
}

static bool is_error(long address)
{
    return address < 0 && address >= -4095;
}

static long decode(struct launch *l, int fd)
{
    struct statx st;
    long r = SYS5(__NR_statx, fd, "", SYS_AT_EMPTY_PATH, STATX_SIZE, &st);

    if (r < 0)
        return r;
    if (st.stx_size == 0 || st.stx_size > PLAN_MAX_BYTES)
        return -EINVAL;

    size_t size = (size_t)st.stx_size, decoded = plan_decode_memory(size);
    long image = map_memory(size, fd);
    if (is_error(image))
        return image;
    l->memory_size = decoded + MEMORY_PER_BYTE * size;
    long memory = map_memory(l->memory_size, -1);
    if (is_error(memory))
        return memory;
    l->memory = (uint8_t *)memory;
    l->memory_used = decoded;
    l->image = (const uint8_t *)image;
    l->image_size = size;

    const struct plan begun = l->plan;
    r = plan_decode((const uint8_t *)image, size, l->memory, decoded, &l->plan);
    /* What was started must be what was planned. */
    if (r >= 0 &&
        (l->plan.layers != begun.layers || l->plan.uid != begun.uid || l->plan.gid != begun.gid))
        r = -ESTALE;
    l->plan.map_all_ids = begun.map_all_ids; /* what this host allowed */
    return r;
}

long plan_receive(struct launch *l)
{
    struct deliver_msg msg;
    int fds[2] = { -1, -1 };

    l->object = "host";
    long n = receive_fds(LAUNCH_FD_STATUS, &msg, fds, ARRAY_LEN(fds));
    if (n < 0)
        return n;
    if (n < 1 || msg.kind != DELIVER_PLAN)
        return -ECANCELED;  /* the host gave up, and knows why */
    l->wrapper_fd = fds[1]; /* closed with all others when the view is made */
    l->wrapper_slot = msg.slot;
    long r = decode(l, fds[0]);
    file_close(fds[0]);
    return r;
}

void plan_release(struct launch *l)
{
    (void)TRY2(__NR_munmap, l->memory, l->memory_size);
    (void)TRY2(__NR_munmap, l->image, l->image_size);
    l->memory = NULL;
    l->image = NULL;
}
