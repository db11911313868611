/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `agentbox init`. */
#ifndef ABX_CLI_INIT_OPTIONS_H
#define ABX_CLI_INIT_OPTIONS_H

#include "base/opt.h"

#define INIT_OPTION_COUNT 8
extern const struct opt_spec init_options[INIT_OPTION_COUNT];

#endif
