/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of any bytes: what libc reads we read, and the canonical text is read back the same. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_against_libc(const char *text, bool ours, const struct addr *a)
{
    struct in6_addr six;
    struct in_addr four;

    if (strpbrk(text, "[%") ||
        (strpbrk(text, " \t\n\v\f\r") && inet_pton(AF_INET6, text, &six) != 1))
        return; /* forms that the one or the other does not have */
    if (inet_pton(AF_INET6, text, &six) == 1) {
        struct addr expected = addr_from_v6(six.s6_addr);
        if (!ours || !addr_eq(a, &expected))
            abort();
    } else if (inet_aton(text, &four) != 0) {
        struct addr expected = addr_from_v4((const uint8_t *)&four);
        if (!ours || !addr_eq(a, &expected))
            abort();
    } else if (ours) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[ADDR_IN_MAX + 1], canonical[ADDR_TEXT_MAX];
    struct addr_net net;
    struct addr a, again;
    bool ours;

    if (size == 0 || size > ADDR_IN_MAX)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    ours = addr_parse((const char *)data, size, &a) == 0;
    if (strlen(text) == size)
        check_against_libc(text, ours, &a);
    else if (ours)
        abort(); /* with a NUL in it */
    if (ours) {
        size_t len = addr_format(&a, canonical);
        if (len >= ADDR_TEXT_MAX || addr_parse_strict(canonical, len, &again) < 0)
            abort();
        again.zoned = a.zoned;
        if (!addr_eq(&a, &again) || (a.zoned && !addr_blocked(&a)))
            abort();
    }
    if (addr_net_parse((const char *)data, size, &net) == 0 && !addr_net_has(&net, &net.addr))
        abort();
    return 0;
}
