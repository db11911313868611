/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `agentbox proxy`. */
#ifndef ABX_CLI_PROXY_OPTIONS_H
#define ABX_CLI_PROXY_OPTIONS_H

#include "cli/cli.h"

#define PROXY_OPTION_COUNT 12
extern const struct opt_spec proxy_options[PROXY_OPTION_COUNT];

/* The hidden command net-role. */
int cli_net_role(void);
/* words: PROXY HOST PORT */
int cli_net_connect(char **words);

#endif
