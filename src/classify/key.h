/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of an approval: a digest of exactly what was asked about, where, and under which policy.
 * Nothing is folded: another blank is another command. The encoding is unambiguous; a text and an
 * argument vector never have the same key.
 */
#ifndef ABX_CLASSIFY_KEY_H
#define ABX_CLASSIFY_KEY_H

#include "base/sha256.h"

void key_of_text(const char *text, size_t len, const char *cwd, const uint8_t policy[SHA256_BYTES],
                 char ret[SHA256_HEX_BYTES]);
void key_of_argv(const char *const *argv, size_t count, const char *cwd,
                 const uint8_t policy[SHA256_BYTES], char ret[SHA256_HEX_BYTES]);

#endif
