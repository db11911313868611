/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's main: reads the sealed plan and becomes the keeper. The plan comes from the host,
 * which is trusted, but is decoded as if it were not.
 */
#include <linux/stat.h>

#include "launcher/launcher.h"
#include "plan/codec.h"

#define PROT_READ_FLAG   1
#define PROT_WRITE_FLAG  2
#define MAP_PRIVATE_FLAG 2
#define MAP_ANON_FLAG    32

void launcher_exit(int code)
{
    for (;;)
        (void)TRY1(__NR_exit_group, code);
}

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
    return SYS6(__NR_mmap, 0, size, fd < 0 ? PROT_READ_FLAG | PROT_WRITE_FLAG : PROT_READ_FLAG,
                fd < 0 ? MAP_PRIVATE_FLAG | MAP_ANON_FLAG : MAP_PRIVATE_FLAG, fd, 0);
}

static long read_plan(struct launch *l)
{
    struct statx st;
    long r = SYS5(__NR_statx, LAUNCH_FD_PLAN, "", SYS_AT_EMPTY_PATH, STATX_SIZE, &st);

    if (r < 0)
        return r;
    if (st.stx_size == 0 || st.stx_size > PLAN_MAX_BYTES)
        return -EINVAL;

    size_t size = (size_t)st.stx_size, decoded = plan_decode_memory(size);
    long image = map_memory(size, LAUNCH_FD_PLAN);
    if (image < 0 && image > -4096)
        return image;
    l->memory_size = decoded + 64 * size + 65536; /* untouched pages cost nothing */
    long memory = map_memory(l->memory_size, -1);
    if (memory < 0 && memory > -4096)
        return memory;
    l->memory = (uint8_t *)memory;
    l->memory_used = decoded;
    return plan_decode((const uint8_t *)image, size, l->memory, decoded, &l->plan);
}

int launcher_main(int argc, const char *const *argv, const char *const *envp)
{
    struct launch l = { .sync_fd = -1, .cwd_fd = -1, .tty_fd = -1, .tty_master = -1 };

    sys_fault_init(envp);
    sys_fault_role(ROLE_KEEPER);
    if (argc == 2 && text_eq(argv[1], "probe"))
        return probe_run();
    if (argc != 3 || !text_eq(argv[1], "run"))
        return EXIT_SETUP;

    uint64_t holds = text_to_u64(argv[2]);
    if (holds > LAUNCH_MAX_HOLDS)
        return EXIT_SETUP;
    long r = read_plan(&l);
    if (r < 0) {
        report_failed("plan", r, "");
        hold_release((int)holds);
        return EXIT_SETUP;
    }
    return keeper_run(&l, (int)holds);
}
