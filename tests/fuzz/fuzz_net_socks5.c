/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SOCKS5 of any bytes: an answer comes at one length and stays the same for all longer inputs;
 * before that more is asked for; what is taken is a canonical host with a port.
 */
#include <stdlib.h>
#include <string.h>

#include "net/socks5.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_greeting(const uint8_t *data, size_t size)
{
    enum socks5_step decided = SOCKS5_MORE;

    for (size_t len = 0; len <= MIN_OF(size, SOCKS5_GREETING_MAX + 3); len++) {
        size_t used = 0;
        enum socks5_step step = socks5_parse_greeting(data, len, &used);
        if ((decided != SOCKS5_MORE && step != decided) || used > len)
            abort();
        if (step == SOCKS5_OK && used < 3)
            abort();
        if (step == SOCKS5_MORE && len >= SOCKS5_GREETING_MAX)
            abort();
        decided = step;
    }
}

static void check_request(const uint8_t *data, size_t size)
{
    enum socks5_step decided = SOCKS5_MORE;

    for (size_t len = 0; len <= MIN_OF(size, SOCKS5_REQUEST_MAX + 3); len++) {
        struct socks5_request r;
        size_t used = 0;
        enum socks5_step step = socks5_parse_request(data, len, &used, &r);

        if ((decided != SOCKS5_MORE && step != decided) || used > len)
            abort();
        if (step == SOCKS5_MORE && len >= SOCKS5_REQUEST_MAX)
            abort();
        if (step == SOCKS5_OK &&
            (used < 8 || r.port == 0 || r.host.len == 0 || strlen(r.host.text) != r.host.len))
            abort();
        if (step == SOCKS5_REFUSED && (r.code == SOCKS5_SUCCEEDED || !r.why))
            abort();
        decided = step;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t used = 0;

    check_greeting(data, size);
    check_request(data, size);
    if (socks5_parse_greeting(data, size, &used) == SOCKS5_OK)
        check_request(data + used, size - used);
    return 0;
}
