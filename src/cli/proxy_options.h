/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `agentbox proxy` and `agentbox bridge`. */
#ifndef ABX_CLI_PROXY_OPTIONS_H
#define ABX_CLI_PROXY_OPTIONS_H

#include "cli/cli.h"

#define PROXY_OPTION_COUNT 12
extern const struct opt_spec proxy_options[PROXY_OPTION_COUNT];

#define BRIDGE_OPTION_COUNT 5
extern const struct opt_spec bridge_options[BRIDGE_OPTION_COUNT];

/* Readable when somebody wants us to end: SIGINT, SIGTERM, SIGHUP. Negative: failed. */
int cli_open_signals(void);

/* The hidden command net-role. */
int cli_net_role(void);
/* words: PROXY HOST PORT */
int cli_net_connect(char **words);

#endif
