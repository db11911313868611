/* SPDX-License-Identifier: Apache-2.0 */
/* Commands whose only options are --json and --help. */
#ifndef ABX_CLI_SIMPLE_H
#define ABX_CLI_SIMPLE_H

#include "cli/cli.h"

/* 0 to go on, or 1 + exit code when help or a complaint was printed. */
int simple_read(const struct cli_command *command, int argc, char **argv, bool *ret_json,
                const char **ret_operand);

#endif
