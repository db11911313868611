/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `agentbox import`. */
#ifndef ABX_CLI_IMPORT_OPTIONS_H
#define ABX_CLI_IMPORT_OPTIONS_H

#include "base/opt.h"

#define IMPORT_OPTION_COUNT 4
extern const struct opt_spec import_options[IMPORT_OPTION_COUNT];

#endif
