/* SPDX-License-Identifier: Apache-2.0 */
/* The options of log, for the table of commands and its help. */
#ifndef ABX_CLI_LOG_OPTIONS_H
#define ABX_CLI_LOG_OPTIONS_H

#include "cli/cli.h"

enum { LOG_OPTION_LAST, LOG_OPTION_JSON, LOG_OPTION_HELP, LOG_OPTION_COUNT };
extern const struct opt_spec log_options[LOG_OPTION_COUNT];

#endif
