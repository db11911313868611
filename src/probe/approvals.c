/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of approvals: one file for each key, named like it, whose first two lines are a
 * version word and the key again. What follows is for people and never read.
 *
 * Trusts a directory only if it is ours and nobody else may write it. What cannot be read was not
 * approved: asking again is the safe answer. Keys come from us; one that is not 64 hexadecimal
 * digits is refused, so that it cannot name a file elsewhere.
 */
#include "probe/approvals.h"

#include <string.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "probe/record.h"
#include "probe/state.h"

#define APPROVALS_DIRECTORY "approvals"
#define APPROVALS_FORMAT    "agentbox-approval-1"

static bool key_is_valid(const char *key)
{
    return strlen(key) == SHA256_HEX_BYTES - 1 &&
           strspn(key, "0123456789abcdef") == SHA256_HEX_BYTES - 1;
}

bool approvals_has(const char *const *state_dirs, const char *key)
{
    _buf_ struct buf head = { .limit = 256 };

    if (!key_is_valid(key) || buf_printf(&head, APPROVALS_FORMAT "\n%s\n", key) < 0)
        return false;
    for (; *state_dirs; state_dirs++) {
        _fd_ int dir = state_open(*state_dirs, APPROVALS_DIRECTORY, false);
        if (dir >= 0 && record_begins(dir, key, &head))
            return true;
    }
    return false;
}

int32_t approvals_add(const char *const *state_dirs, const char *key, const char *about,
                      abx_error **err)
{
    _buf_ struct buf record = { .limit = RECORD_MAX };

    if (!key_is_valid(key))
        return err_new(err, ABX_E_INVALID, "keep an approval: '%s' is no key", key);
    if (buf_printf(&record, APPROVALS_FORMAT "\n%s\n%s", key, about) < 0)
        return err_sys(err, ABX_E_IO, record.failed, "keep an approval");
    return record_keep(state_dirs, APPROVALS_DIRECTORY, key, &record, "keep an approval", err);
}
