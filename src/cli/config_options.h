/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `agentbox config`. */
#ifndef ABX_CLI_CONFIG_OPTIONS_H
#define ABX_CLI_CONFIG_OPTIONS_H

#include "base/opt.h"

#define CONFIG_OPTION_COUNT 7
extern const struct opt_spec config_options[CONFIG_OPTION_COUNT];

/* Complains if the directory has a project's file already. 0, or an exit code. */
int config_refuse_second(int dir);
/*
 * Writes a project's file that is not there yet: output, or .agentbox.jsonc (NULL). ret_name: what
 * it is called. 0, or an exit code after the complaint.
 */
int config_write_new(const char *cwd, const char *output, const char *text, const char **ret_name);

#endif
