/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $XDG_STATE_HOME/agentbox, else ~/.local/state/agentbox; where neither can be had (no home, a
 * read-only one), $XDG_RUNTIME_DIR/agentbox, else /var/tmp/agentbox-UID. The policy hides all of
 * them (policy/presets.c); whoever opens one checks its owner and mode.
 */
#include "probe/state.h"

#include <stdlib.h>
#include <unistd.h>

#define STATE_CANDIDATES 4

const char *const *state_directories(struct arena *a, const char *home)
{
    const char **list = arena_alloc(a, STATE_CANDIDATES + 1, sizeof *list);
    const char *state = getenv("XDG_STATE_HOME"), *runtime = getenv("XDG_RUNTIME_DIR");
    size_t n = 0;

    if (!list)
        return NULL;
    if (state && state[0] == '/')
        list[n++] = arena_printf(a, "%s/agentbox", state);
    if (home)
        list[n++] = arena_printf(a, "%s/.local/state/agentbox", home);
    if (runtime && runtime[0] == '/')
        list[n++] = arena_printf(a, "%s/agentbox", runtime);
    list[n++] = arena_printf(a, "/var/tmp/agentbox-%u", (unsigned)geteuid());
    for (size_t i = 0; i < n; i++)
        if (!list[i])
            return NULL;
    return list;
}
