/* SPDX-License-Identifier: Apache-2.0 */
/* What `agentbox run` does about its own memory. */
#ifndef ABX_CLI_MEMORY_H
#define ABX_CLI_MEMORY_H

/* At the start: a plan grows the heap step by step, and then gives it back: once each is enough. */
void memory_prepare(void);
/* From now on this program only waits: it keeps what it needs. */
void memory_give_back(void);

#endif
