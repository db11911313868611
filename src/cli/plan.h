/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ABX_CLI_PLAN_H
#define ABX_CLI_PLAN_H

#include "cli/run_options.h"

/* Wraps and prints; an exit code. */
int plan_print(struct run_options *o);

#endif
