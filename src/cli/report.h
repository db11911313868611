/* SPDX-License-Identifier: Apache-2.0 */
/* The report at the end of a run: what was refused, in at most ten lines. */
#ifndef ABX_CLI_REPORT_H
#define ABX_CLI_REPORT_H

#include "cli/cli.h"

void report_violations(const abx_result *result);

#endif
