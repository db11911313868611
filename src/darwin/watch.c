/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules are those of Linux (docs/architecture.md, who ends whom): the first SIGINT, SIGTERM or
 * SIGHUP goes to the command and starts the grace period, a second one kills; a time limit asks
 * first too; a host that is gone asks nobody. Whatever is left of a run when its command ends is
 * killed before the end is reported. Once it is over nothing more is decided.
 */
#include "darwin/watch.h"

#include <signal.h>

static bool ends_the_command(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

unsigned watch_decide(struct watch *w, enum watch_event event, int value)
{
    bool was_ending = w->is_ending;

    if (w->is_over)
        return 0;
    switch (event) {
    case WATCH_EXITED:
        w->is_over = true;
        return WATCH_KILL | WATCH_REPORT;
    case WATCH_HOST_GONE:
        w->is_over = true;
        return WATCH_KILL | WATCH_LEAVE;
    case WATCH_GRACE_OVER:
        return was_ending ? WATCH_KILL : 0;
    case WATCH_TIMEOUT:
        w->timed_out = w->is_ending = true;
        return was_ending ? WATCH_KILL : WATCH_TERMINATE | WATCH_START_GRACE;
    default:
        if (!ends_the_command(value))
            return WATCH_FORWARD;
        w->is_ending = true;
        return was_ending ? WATCH_KILL : WATCH_FORWARD | WATCH_START_GRACE;
    }
}
