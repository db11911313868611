/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `agentbox config`. */
#ifndef ABX_CLI_CONFIG_OPTIONS_H
#define ABX_CLI_CONFIG_OPTIONS_H

#include "base/defs.h"
#include "base/opt.h"

#define CONFIG_OPTION_COUNT 7
extern const struct opt_spec config_options[CONFIG_OPTION_COUNT];

#define PROJECT_FILE ".agentbox.jsonc" /* what is written where nobody names another */

/*
 * Complains if the directory has a project's file already; `command` (as in "config init") is named
 * as the one that prints another. 0, or an exit code.
 */
int config_refuse_second(int dir, const char *command);
/*
 * Writes a project's file that is not there yet: output, or PROJECT_FILE (NULL). ret_name: what
 * it is called. 0, or an exit code after the complaint.
 */
int config_write_new(const char *cwd, const char *output, const char *text, const char *command,
                     const char **ret_name);
/* A descriptor of the directory, or negative after a complaint. */
int config_open_directory(const char *cwd);
/* Whether there is such a directory (NULL: our own): 0, or an exit code after a complaint. */
int config_check_directory(const char *cwd);
/* --json of what writes a file: {"file":…,"trusted":…}. */
int config_print_written(const char *name, bool trusted);
/* The complaint about --json together with -o -. */
int config_refuse_json_text(const char *command);

#endif
