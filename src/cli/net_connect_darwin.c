/* SPDX-License-Identifier: Apache-2.0 */
/* ssh's way to the proxy of a filtered run, of which macOS has none yet. */
#include "cli/cli.h"
#include "cli/proxy_options.h"

int cli_net_connect(char **words)
{
    (void)words;
    return cli_misuse(NULL, "net-connect is for filtered runs, which macOS has not yet");
}
