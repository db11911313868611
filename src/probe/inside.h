/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ABX_PROBE_INSIDE_H
#define ABX_PROBE_INSIDE_H

#include "base/defs.h"

/* Is this process in a sandbox of agentbox? */
bool inside_sandbox(void);
/* … whose filter lets no namespace be made? */
bool inside_is_closed(void);

#endif
