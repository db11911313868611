/* SPDX-License-Identifier: Apache-2.0 */
/* macOS has no bubblewrap: the choice is refused, and nothing is rendered for it. */
#include "api/internal.h"

int32_t command_choose_bwrap(abx_command *c, abx_error **err)
{
    return command_choose_landlock(c, err);
}

uint32_t command_layers(const abx_command *c)
{
    return plan_layers(c->policy, c->backend);
}

void command_tell_bwrap(const abx_command *c)
{
    (void)c;
}

bool command_bwrap_works(const abx_command *c)
{
    (void)c;
    return false;
}
