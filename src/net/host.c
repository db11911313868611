/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts.
 *
 * The text was written inside the sandbox: a request's target, a SOCKS name, a TLS server name. It
 * is never used as it came. What is not plainly a name or an address is refused here, at the parse,
 * so that no later part can see a NUL, a line end, a '%' or a byte above 127, nor two readings of
 * the same text: the filter, the resolver and the log all get the same canonical bytes.
 */
#include "net/host.h"

#include <string.h>

#include "net/span.h"

#define LABEL_MAX 63

static enum host_fault check_label(const char *s, size_t len)
{
    if (len == 0)
        return HOST_BAD_LABEL;
    if (len > LABEL_MAX)
        return HOST_TOO_LONG;
    for (size_t i = 0; i < len; i++)
        if (!ascii_is_alnum(s[i]) && s[i] != '-')
            return HOST_BAD_BYTE;
    return s[0] == '-' || s[len - 1] == '-' ? HOST_BAD_LABEL : HOST_OK;
}

/* Some program would take a name with this last label for an address. */
static bool looks_numeric(struct span label)
{
    size_t digits = 0;

    while (digits < label.len && ascii_is_digit(label.at[digits]))
        digits++;
    return digits == label.len ||
           (label.len > 1 && label.at[0] == '0' && ascii_lower(label.at[1]) == 'x');
}

static enum host_fault check_name(const char *text, size_t len)
{
    struct span rest = { text, len }, label = { text, 0 };

    if (text[len - 1] == '.')
        return HOST_BAD_LABEL;
    while (span_next(&rest, '.', &label)) {
        enum host_fault fault = check_label(label.at, label.len);
        if (fault != HOST_OK)
            return fault;
    }
    return looks_numeric(label) ? HOST_BAD_ADDRESS : HOST_OK;
}

static void set_address(struct host *h, const struct addr *addr)
{
    *h = (struct host){ .is_address = true, .addr = *addr };
    _Static_assert(HOST_MAX + 1 >= ADDR_TEXT_MAX, "an address fits");
    h->len = (uint8_t)addr_format(addr, h->text);
}

enum host_fault host_parse(const char *text, size_t len, struct host *ret)
{
    enum host_fault fault;
    struct addr addr;

    if (len == 0)
        return HOST_EMPTY;
    if (memchr(text, ':', len) || text[0] == '[') {
        if (addr_parse(text, len, &addr) < 0 || addr.zoned)
            return HOST_BAD_ADDRESS;
        set_address(ret, &addr);
        return HOST_OK;
    }
    if (text[len - 1] == '.')
        len--;
    if (len > HOST_MAX)
        return HOST_TOO_LONG;
    if (len == 0)
        return HOST_BAD_LABEL;
    if (addr_parse(text, len, &addr) == 0) {
        set_address(ret, &addr);
        return HOST_OK;
    }
    fault = check_name(text, len);
    if (fault != HOST_OK)
        return fault;
    *ret = (struct host){ .len = (uint8_t)len };
    for (size_t i = 0; i < len; i++)
        ret->text[i] = ascii_lower(text[i]);
    return HOST_OK;
}

/* Where the host ends: behind the brackets, or before the only colon. */
static size_t host_part(const char *text, size_t len)
{
    char end = text[0] == '[' ? ']' : ':';
    const char *at = memchr(text, end, len);

    if (!at)
        return len;
    return (size_t)(at - text) + (end == ']' ? 1 : 0);
}

enum host_fault host_parse_authority(const char *text, size_t len, uint16_t default_port,
                                     struct host *ret, uint16_t *ret_port)
{
    size_t host_len = len > 0 ? host_part(text, len) : 0;
    uint64_t port = default_port;
    enum host_fault fault;
    struct host host;

    if (host_len == 0)
        return HOST_EMPTY;
    if (host_len < len) {
        struct span digits = { text + host_len + 1, len - host_len - 1 };
        if (text[host_len] != ':' || !span_to_u64(digits, UINT16_MAX, &port))
            return HOST_BAD_PORT;
    }
    if (port == 0)
        return HOST_BAD_PORT;
    fault = host_parse(text, host_len, &host);
    if (fault != HOST_OK)
        return fault;
    *ret = host;
    *ret_port = (uint16_t)port;
    return HOST_OK;
}

const char *host_fault_text(enum host_fault fault)
{
    static const char *const texts[] = {
        [HOST_OK] = "it is valid",
        [HOST_EMPTY] = "it is empty",
        [HOST_TOO_LONG] = "it is too long",
        [HOST_BAD_BYTE] = "it has characters that no name has",
        [HOST_BAD_LABEL] = "a label is empty, or begins or ends with '-'",
        [HOST_BAD_ADDRESS] = "it looks like an address and is none",
        [HOST_BAD_PORT] = "the port is missing or not from 1 to 65535",
    };

    return texts[fault];
}

bool host_eq(const struct host *a, const struct host *b)
{
    if (a->is_address != b->is_address)
        return false;
    if (a->is_address)
        return addr_eq(&a->addr, &b->addr);
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

size_t host_format(const struct host *h, uint16_t port, char text[HOST_AUTHORITY_MAX])
{
    bool brackets = h->is_address && h->addr.family == ADDR_V6;
    char digits[5] = { 0 }, *out = text;
    size_t n = 0;

    if (brackets)
        *out++ = '[';
    memcpy(out, h->text, h->len);
    out += h->len;
    if (brackets)
        *out++ = ']';
    if (port > 0)
        *out++ = ':';
    for (; port > 0; port /= 10)
        digits[n++] = (char)('0' + port % 10);
    while (n > 0)
        *out++ = digits[--n];
    *out = '\0';
    return (size_t)(out - text);
}
