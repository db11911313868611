/* SPDX-License-Identifier: Apache-2.0 */
/* The net role does not exist on macOS yet: whoever starts it by hand is told so. */
#include "net/role.h"

int role_main(void)
{
    return ROLE_EXIT_MISUSED;
}
