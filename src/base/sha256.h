/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4). Pure; not constant-time in the length, which is no secret here. */
#ifndef ABX_BASE_SHA256_H
#define ABX_BASE_SHA256_H

#include "base/defs.h"

#define SHA256_SIZE     32
#define SHA256_HEX_SIZE 65 /* with the NUL */

struct sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    uint8_t block[64];
};

void sha256_init(struct sha256 *h);
void sha256_update(struct sha256 *h, const void *data, size_t len);
void sha256_final(struct sha256 *h, uint8_t out[SHA256_SIZE]); /* h is spent */

void sha256(const void *data, size_t len, uint8_t out[SHA256_SIZE]);
/* Lower-case, NUL-terminated. */
void sha256_hex(const uint8_t digest[SHA256_SIZE], char out[SHA256_HEX_SIZE]);

#endif
