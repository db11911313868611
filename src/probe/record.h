/* SPDX-License-Identifier: Apache-2.0 */
/* Small files in a directory of ours (state.h), each a yes that the user once said. */
#ifndef ABX_PROBE_RECORD_H
#define ABX_PROBE_RECORD_H

#include "base/buf.h"
#include "base/defs.h"
#include "base/err.h"

#define RECORD_MAX ((size_t)2 << 20)

/* Whether the record exists, is ours alone, and begins with these bytes. */
bool record_begins(int dir, const char *name, const struct buf *head);
/* The bytes of a record that is ours alone: 0, or -errno (-EPERM: somebody else may write it). */
int record_read(int dir, const char *name, struct buf *ret);
/* Replaces it: a reader sees the old or the new one. 0 or -errno. */
int record_write(int dir, const char *name, const struct buf *record);
/* The same in the first state directory (state.h) that takes it; doing: for the error. */
int32_t record_keep(const char *const *state_dirs, const char *directory, const char *name,
                    const struct buf *record, const char *doing, abx_error **err);

#endif
