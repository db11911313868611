/* SPDX-License-Identifier: Apache-2.0 */
/* Where placeholders are recorded: for run/hold.c. */
#ifndef ABX_RUN_HOLD_REGISTRY_H
#define ABX_RUN_HOLD_REGISTRY_H

#include <sys/stat.h>
#include <sys/types.h>

#include "run/hold.h"

/* Opens and locks it. */
int32_t hold_registry_open(struct hold *h, const char *const *state_dirs, abx_error **err);
/* The file of one directory, locked, with its header; or -errno. */
int hold_registry_file(const struct hold *h, const struct stat *st, const char *path);
/* All of it or a reason: of a disk that is nearly full a part fits. */
int hold_registry_write(int file, const void *data, size_t len, off_t at);
/* The error for a registry that could not be opened or written; r: -errno. */
int32_t hold_registry_failed(const struct hold *h, int r, const char *doing, abx_error **err);
bool hold_registry_is_full(int r);

#endif
