/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who we are, without the name service: its plug-ins have no place in a static program or in
 * somebody else's process. /etc/passwd is read by hand; a user that only LDAP knows has $HOME.
 */
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/str.h"
#include "probe/scan_state.h"

#define ACCOUNT_MAX_FILE ((size_t)4 << 20)
#define ACCOUNT_FIELDS   7

/* The fields of a line of passwd, as positions and lengths. False if there are not seven. */
static bool split_line(const char *line, size_t len, const char *fields[ACCOUNT_FIELDS],
                       size_t lengths[ACCOUNT_FIELDS])
{
    size_t n = 0;

    for (size_t start = 0, i = 0; i <= len; i++) {
        if (i < len && line[i] != ':')
            continue;
        if (n == ACCOUNT_FIELDS)
            return false;
        fields[n] = line + start;
        lengths[n++] = i - start;
        start = i + 1;
    }
    return n == ACCOUNT_FIELDS;
}

static bool number_is(const char *digits, size_t len, uint32_t number)
{
    uint64_t value = 0;

    if (len == 0 || len > 10)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        value = 10 * value + (uint64_t)(digits[i] - '0');
    }
    return value == number;
}

const char *account_home(struct arena *arena, const char *user, size_t user_len, uint32_t uid)
{
    _buf_ struct buf file = { 0 };

    buf_init(&file, ACCOUNT_MAX_FILE);
    if (io_read_file(AT_FDCWD, "/etc/passwd", &file) < 0)
        return NULL;
    for (size_t i = 0; i < file.len;) {
        const char *line = file.data + i, *fields[ACCOUNT_FIELDS];
        const char *end = memchr(line, '\n', file.len - i);
        size_t len = end ? (size_t)(end - line) : file.len - i, lengths[ACCOUNT_FIELDS];

        i += len + 1;
        if (!split_line(line, len, fields, lengths) || lengths[5] == 0 || fields[5][0] != '/')
            continue;
        if (user ? lengths[0] == user_len && memcmp(fields[0], user, user_len) == 0
                 : number_is(fields[2], lengths[2], uid))
            return arena_strndup(arena, fields[5], lengths[5]);
    }
    return NULL;
}
