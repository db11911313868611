/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/inside.h"
#include "agentbox/agentbox.h"

int32_t abx_inside(void)
{
    return inside_sandbox();
}
