/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4). For identifying content; not for passwords. */
#ifndef ABX_BASE_SHA256_H
#define ABX_BASE_SHA256_H

#include "base/defs.h"

#define SHA256_BYTES     32
#define SHA256_HEX_BYTES (2 * SHA256_BYTES + 1) /* with the NUL */

struct sha256 {
    uint32_t state[8];
    uint64_t total;
    uint8_t block[64];
};

void sha256_init(struct sha256 *s);
void sha256_update(struct sha256 *s, const void *data, size_t len);
void sha256_final(struct sha256 *s, uint8_t out[SHA256_BYTES]);

void sha256(const void *data, size_t len, uint8_t out[SHA256_BYTES]);
/* The digest as 64 lower-case digits. */
void sha256_hex(const uint8_t digest[SHA256_BYTES], char out[SHA256_HEX_BYTES]);

#endif
