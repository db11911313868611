/* SPDX-License-Identifier: Apache-2.0 */
/* --max-output: what is printed is passed on up to a limit; the rest is read and counted. */
#ifndef ABX_CLI_OUTPUT_H
#define ABX_CLI_OUTPUT_H

#include "agentbox/agentbox.h"
#include "base/defs.h"

struct output {
    uint64_t limit; /* of each stream; 0: none */
    uint64_t seen[2];
};

/* Through pipes of ours, in place of the streams themselves. o must live as long as the run. */
int32_t output_limit(struct output *o, abx_command *command, abx_error **err);
/* Says what was left out, if anything was. */
void output_tell(const struct output *o);

#endif
