/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's main on macOS: hardens itself, takes the plan, starts the command, watches it.
 * Trusts its arguments and descriptors (launch.h): whoever starts it could run the command without
 * it too.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "darwin/launch.h"

/* clang-format off */
static const struct {
    const char *name;
    launch_step apply;
} steps[] = {
    { "descriptors", harden_descriptors },
    { "harden",      harden_launcher    },
    { "plan",        receive_plan       },
    { "terminal",    terminal_open      },
    { "events",      supervise_prepare  },
};
/* clang-format on */

int main(int argc, char **argv)
{
    struct launch l = { .queue = -1, .tty_master = -1, .tty_slave = -1 };
    int r = 0;

    if (argc != 4 || strcmp(argv[1], "run") != 0 || argv[2][0] != '/')
        return EXIT_SETUP;
    l.tmp = argv[2];
    l.port = argv[3];
    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < ARRAY_LEN(steps) && r == 0; i++) {
        l.step = steps[i].name;
        r = steps[i].apply(&l);
    }
    int pid = r == 0 ? command_start(&l) : r;
    if (pid < 0) {
        report_failed(&l, pid);
        return EXIT_SETUP;
    }
    report_started(&l, pid);
    return supervise(&l, pid);
}
