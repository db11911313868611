/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of trust. One file for each project file: its name is the SHA-256 of the path, its
 * first two lines are a version word and the SHA-256 of the content that was accepted; the path
 * follows for people.
 *
 * Trusts a directory only if it is ours and nobody else may write it, and a record only if it reads
 * exactly right. What cannot be read is not trusted: asking again is the safe answer.
 */
#include "probe/trust.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "probe/record.h"
#include "probe/state.h"

#define TRUST_DIRECTORY "trust"
#define TRUST_FORMAT    "agentbox-trust-1"

static void record_name(const char *path, char name[SHA256_HEX_BYTES])
{
    uint8_t digest[SHA256_BYTES];

    sha256(path, strlen(path), digest);
    sha256_hex(digest, name);
}

/* The part of a record that counts. */
static int put_head(struct buf *b, const uint8_t digest[SHA256_BYTES])
{
    char hex[SHA256_HEX_BYTES];

    sha256_hex(digest, hex);
    return buf_printf(b, TRUST_FORMAT "\n%s\n", hex);
}

bool trust_is_given(const char *const *state_dirs, const char *path,
                    const uint8_t digest[SHA256_BYTES])
{
    _buf_ struct buf head = { .limit = 256 };
    char name[SHA256_HEX_BYTES];

    if (put_head(&head, digest) < 0)
        return false;
    record_name(path, name);
    for (; *state_dirs; state_dirs++) {
        _fd_ int dir = state_open(*state_dirs, TRUST_DIRECTORY, false);
        if (dir >= 0 && record_begins(dir, name, &head))
            return true;
    }
    return false;
}

int32_t trust_give(const char *const *state_dirs, const char *path,
                   const uint8_t digest[SHA256_BYTES], abx_error **err)
{
    _buf_ struct buf record = { .limit = RECORD_MAX };
    char name[SHA256_HEX_BYTES];

    (void)put_head(&record, digest);
    (void)str_escape(&record, path, strlen(path));
    if (buf_putc(&record, '\n') < 0)
        return err_nomem(err);
    record_name(path, name);
    return record_keep(state_dirs, TRUST_DIRECTORY, name, &record, "remember the trust", err);
}

int32_t trust_take(const char *const *state_dirs, const char *path, bool *ret_was, abx_error **err)
{
    char name[SHA256_HEX_BYTES];
    bool was = false;

    record_name(path, name);
    for (; *state_dirs; state_dirs++) {
        _fd_ int dir = state_open(*state_dirs, TRUST_DIRECTORY, false);
        if (dir < 0)
            continue;
        if (unlinkat(dir, name, 0) == 0) {
            was = true;
        } else if (errno != ENOENT) {
            int32_t code = err_sys(err, ABX_E_IO, -errno,
                                   "forget the trust in '%s/" TRUST_DIRECTORY "'", *state_dirs);
            err_subject(err, *state_dirs);
            return code;
        }
    }
    *ret_was = was;
    return ABX_OK;
}
