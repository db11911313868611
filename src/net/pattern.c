/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of hosts.
 *
 * A pattern comes from a configuration that was checked already, and is checked here again: what
 * cannot be read exactly as src/policy/domain.c reads it is no pattern. In a pattern an address has
 * one spelling, so a typing error cannot become an address somewhere else; in a request it has all
 * of them (base/addr.h).
 */
#include "net/pattern.h"

#include <string.h>

#include "net/span.h"

#define PATTERN_MAX 319 /* a name, brackets, a prefix length and a port */

/* Cuts ":port" off. IPv6 without brackets has none. */
static bool cut_port(struct span *text, uint16_t *ret_port)
{
    const char *close = memrchr(text->at, ']', text->len);
    const char *from = close ? close : text->at;
    size_t left = text->len - (size_t)(from - text->at);
    const char *colon = memrchr(from, ':', left);
    uint64_t port = 0;

    *ret_port = 0;
    if (!colon || (!close && memchr(text->at, ':', text->len) != colon))
        return true;
    left = (size_t)(text->at + text->len - colon - 1);
    if (!span_to_u64((struct span){ colon + 1, left }, UINT16_MAX, &port) || port == 0)
        return false;
    text->len = (size_t)(colon - text->at);
    *ret_port = (uint16_t)port;
    return true;
}

static struct span cut_brackets(struct span text)
{
    if (text.len > 2 && text.at[0] == '[' && text.at[text.len - 1] == ']' &&
        memchr(text.at, ':', text.len))
        return (struct span){ text.at + 1, text.len - 2 };
    return text;
}

static bool is_address(struct span text)
{
    if (memchr(text.at, ':', text.len))
        return true;
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_digit(text.at[i]) && text.at[i] != '.')
            return false;
    return text.len > 0;
}

/* A name, not an address in one of its spellings, with a dot in it. */
static bool read_name(struct span text, struct host *ret)
{
    return text.len > 0 && text.at[0] != '[' && host_parse(text.at, text.len, ret) == HOST_OK &&
           !ret->is_address && memchr(ret->text, '.', ret->len);
}

static bool read_network(struct span text, bool has_bits, struct addr_net *ret)
{
    struct addr addr;

    if (has_bits)
        return addr_net_parse(text.at, text.len, ret) == 0;
    if (addr_parse_strict(text.at, text.len, &addr) < 0)
        return false;
    *ret = addr_net_of(&addr);
    return true;
}

bool pattern_parse(const char *text, struct pattern *ret)
{
    struct pattern p = { 0 };
    const char *slash;
    struct span host, s;

    if (!text)
        return false;
    s = (struct span){ text, strnlen(text, PATTERN_MAX + 1) };
    if (s.len == 0 || s.len > PATTERN_MAX || !cut_port(&s, &p.port) || s.len == 0)
        return false;
    s = cut_brackets(s);
    slash = memchr(s.at, '/', s.len);
    host = (struct span){ s.at, slash ? (size_t)(slash - s.at) : s.len };
    if (is_address(host)) {
        p.kind = PATTERN_NETWORK;
        if (!read_network(s, slash != NULL, &p.net))
            return false;
    } else if (s.len > 2 && memcmp(s.at, "*.", 2) == 0) {
        p.kind = PATTERN_BELOW;
        if (!read_name((struct span){ s.at + 2, s.len - 2 }, &p.host))
            return false;
    } else {
        p.kind = PATTERN_HOST;
        if (!read_name(s, &p.host))
            return false;
    }
    *ret = p;
    return true;
}

bool pattern_matches(const struct pattern *p, const struct host *host, uint16_t port)
{
    size_t above;

    if (p->port != 0 && p->port != port)
        return false;
    if (p->kind == PATTERN_NETWORK)
        return host->is_address && addr_net_has(&p->net, &host->addr);
    if (host->is_address)
        return false;
    if (p->kind == PATTERN_HOST)
        return host_eq(&p->host, host);
    if (host->len < p->host.len + 2)
        return false;
    above = (size_t)host->len - p->host.len;
    return host->text[above - 1] == '.' &&
           memcmp(host->text + above, p->host.text, p->host.len) == 0;
}
