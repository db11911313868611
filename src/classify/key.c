/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of approvals. What is hashed: a label with a version, what kind of command it is, the number
 * of its pieces, each piece behind its length, the directory behind its length, the policy's hash.
 * With lengths in front no two different inputs give the same bytes.
 */
#include "classify/key.h"

#include <string.h>

#define LABEL "agentbox approval 1"

static void add_number(struct sha256 *h, uint64_t n)
{
    uint8_t bytes[8];

    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(n >> (8 * i));
    sha256_update(h, bytes, sizeof(bytes));
}

static void add_piece(struct sha256 *h, const char *bytes, size_t len)
{
    add_number(h, len);
    sha256_update(h, bytes, len);
}

static void start(struct sha256 *h, char kind, size_t count)
{
    sha256_init(h);
    sha256_update(h, LABEL, sizeof(LABEL));
    sha256_update(h, &kind, 1);
    add_number(h, count);
}

static void finish(struct sha256 *h, const char *cwd, const uint8_t policy[SHA256_BYTES],
                   char ret[SHA256_HEX_BYTES])
{
    uint8_t digest[SHA256_BYTES];

    add_piece(h, cwd, strlen(cwd));
    sha256_update(h, policy, SHA256_BYTES);
    sha256_final(h, digest);
    sha256_hex(digest, ret);
}

void key_of_text(const char *text, size_t len, const char *cwd, const uint8_t policy[SHA256_BYTES],
                 char ret[SHA256_HEX_BYTES])
{
    struct sha256 h;

    start(&h, 't', 1);
    add_piece(&h, text, len);
    finish(&h, cwd, policy, ret);
}

void key_of_argv(const char *const *argv, size_t count, const char *cwd,
                 const uint8_t policy[SHA256_BYTES], char ret[SHA256_HEX_BYTES])
{
    struct sha256 h;

    start(&h, 'a', count);
    for (size_t i = 0; i < count; i++)
        add_piece(&h, argv[i], strlen(argv[i]));
    finish(&h, cwd, policy, ret);
}
