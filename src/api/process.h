/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ABX_API_PROCESS_H
#define ABX_API_PROCESS_H

#include "agentbox/agentbox.h"

/* Handles what a process has to say now; called by whoever pumps its manager. */
void process_pump(abx_process *process);

#endif
