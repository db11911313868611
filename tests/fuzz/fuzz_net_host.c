/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts, authorities and patterns of any bytes: a canonical form holds nothing but what a name or
 * an address has, and is its own canonical form; the filter's grammar is the configuration's.
 */
#include <stdlib.h>
#include <string.h>

#include "net/pattern.h"
#include "policy/domain.h"

#define FUZZ_MAX 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_host(const struct host *h)
{
    struct host again;

    if (h->len == 0 || h->len > HOST_MAX || strlen(h->text) != h->len)
        abort();
    if (strspn(h->text, "abcdefghijklmnopqrstuvwxyz0123456789-.:") != h->len)
        abort();
    if (h->is_address && h->addr.zoned)
        abort();
    if (host_parse(h->text, h->len, &again) != HOST_OK || !host_eq(h, &again))
        abort();
}

static void check_authority(const char *text, size_t size)
{
    char canonical[HOST_AUTHORITY_MAX];
    struct host h, again;
    uint16_t port = 0, port_again = 0;
    size_t len;

    if (host_parse_authority(text, size, 0, &h, &port) != HOST_OK)
        return;
    check_host(&h);
    len = host_format(&h, port, canonical);
    if (port == 0 || len >= sizeof canonical || strlen(canonical) != len ||
        host_parse_authority(canonical, len, 0, &again, &port_again) != HOST_OK ||
        port != port_again)
        abort();
}

static void check_pattern(const char *text)
{
    struct domain_fault fault;
    struct pattern p;

    if (domain_is_pattern(text, &fault) != pattern_parse(text, &p))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[FUZZ_MAX + 1];
    struct host h;

    if (size > FUZZ_MAX)
        return 0;
    if (host_parse((const char *)data, size, &h) == HOST_OK)
        check_host(&h);
    check_authority((const char *)data, size);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    check_pattern(text);
    return 0;
}
