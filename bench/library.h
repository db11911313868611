/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts that use the library have in common. */
#ifndef ABX_BENCH_LIBRARY_H
#define ABX_BENCH_LIBRARY_H

#include "agentbox/agentbox.h"
#include "bench.h"

/* Says what failed and why, frees err, returns -1. */
int library_failed(const char *what, abx_error *err);
/* The same as args_agentbox: no network, otherwise the default. */
int library_manager(abx_manager **ret);

#endif
