/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `agentbox check`. */
#ifndef ABX_CLI_CHECK_OPTIONS_H
#define ABX_CLI_CHECK_OPTIONS_H

#include "base/opt.h"

#define CHECK_OPTION_COUNT 8
extern const struct opt_spec check_options[CHECK_OPTION_COUNT];

#endif
