/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Project files whose grants the user has accepted: by canonical path and by the SHA-256 of their
 * content. The records lie in `trust` in the state directory, which is hidden from every sandbox.
 */
#ifndef ABX_PROBE_TRUST_H
#define ABX_PROBE_TRUST_H

#include "base/defs.h"
#include "base/err.h"
#include "base/sha256.h"

/* state_dirs: as state_directories gives them. */
bool trust_is_given(const char *const *state_dirs, const char *path,
                    const uint8_t digest[SHA256_BYTES]);
/* Replaces what was accepted for this path before. */
int32_t trust_give(const char *const *state_dirs, const char *path,
                   const uint8_t digest[SHA256_BYTES], abx_error **err);
/* Whatever its content was. ret_was: there was something to take back. */
int32_t trust_take(const char *const *state_dirs, const char *path, bool *ret_was, abx_error **err);

#endif
