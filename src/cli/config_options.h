/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `agentbox config`. */
#ifndef ABX_CLI_CONFIG_OPTIONS_H
#define ABX_CLI_CONFIG_OPTIONS_H

#include "base/opt.h"

#define CONFIG_OPTION_COUNT 6
extern const struct opt_spec config_options[CONFIG_OPTION_COUNT];

#endif
