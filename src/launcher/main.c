/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's main: becomes the keeper, or probes. */
#include <linux/prctl.h>

#include "launcher/launcher.h"

int launcher_main(int argc, const char *const *argv, const char *const *envp, const char *path)
{
    struct launch l = {
        .sync_fd = -1,
        .cwd_fd = -1,
        .input_fd = -1,
        .tty_fd = -1,
        .tty_master = -1,
        .wrapper_fd = -1,
        .notify_fd = -1,
        .tellers = { { .device = -1, .tree = -1 }, { .device = -1, .tree = -1 } },
    };

    (void)path;
    sys_fault_init(envp);
    sys_fault_role(ROLE_KEEPER);
    if (argc == 2 && text_eq(argv[1], "probe"))
        return probe_run();
    if (argc != 4 || !text_eq(argv[1], "run"))
        return EXIT_SETUP;

    (void)TRY2(__NR_prctl, PR_SET_NAME, "agentbox-keeper"); /* for ps */
    l.umask_bits = (uint32_t)TRY1(__NR_umask, 0);
    l.plan.layers = (uint32_t)text_to_u64(argv[2]);
    l.plan.uid = (uint32_t)TRY0(__NR_geteuid);
    l.plan.gid = (uint32_t)TRY0(__NR_getegid);
    l.plan.map_all_ids = l.plan.uid == 0 && userns_has_all_ids();
    return keeper_run(&l, argv[3]);
}
