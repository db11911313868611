/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run inside another: sandboxes of macOS do not nest, so there is none to be told apart. The
 * launcher's attempt fails there, and says so.
 */
#include "probe/inside.h"

bool inside_sandbox(void)
{
    return false;
}

bool inside_is_closed(void)
{
    return false;
}
