/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SOCKS5.
 *
 * All bytes come from the sandbox. A greeting is taken if it offers "no authentication"; a request
 * if it is CONNECT to a host that host_parse takes. BIND and UDP ASSOCIATE are refused with the
 * code for it, other address types with theirs, everything else with a general failure. SOCKS4 is
 * known by its first byte and refused in its own words.
 */
#include "net/socks5.h"

#include <string.h>

#define VERSION       5
#define NO_AUTH       0
#define NO_METHOD     0xff
#define CONNECT       1
#define LAST_CMD      3
#define REQUEST_FIXED 4 /* bytes before the address */

enum address_type { TYPE_V4 = 1, TYPE_NAME = 3, TYPE_V6 = 4 };

enum socks5_step socks5_parse_greeting(const uint8_t *bytes, size_t len, size_t *ret_used)
{
    size_t count;

    if (len == 0)
        return SOCKS5_MORE;
    if (bytes[0] != VERSION)
        return bytes[0] == 4 ? SOCKS5_IS_SOCKS4 : SOCKS5_NOT_SOCKS;
    if (len < 2)
        return SOCKS5_MORE;
    count = bytes[1];
    if (count == 0)
        return SOCKS5_NO_METHOD;
    if (len < 2 + count)
        return SOCKS5_MORE;
    *ret_used = 2 + count;
    return memchr(bytes + 2, NO_AUTH, count) ? SOCKS5_OK : SOCKS5_NO_METHOD;
}

static enum socks5_step refuse(struct socks5_request *r, enum socks5_code code, const char *why)
{
    r->code = code;
    r->why = why;
    return SOCKS5_REFUSED;
}

static void set_address(struct host *h, const struct addr *addr)
{
    *h = (struct host){ .is_address = true, .addr = *addr };
    h->len = (uint8_t)addr_format(addr, h->text);
}

/* The bytes of the address and the port behind it; *ret_len is how many there must be. */
static enum socks5_step parse_address(enum address_type type, const uint8_t *bytes, size_t len,
                                      struct socks5_request *r, size_t *ret_len)
{
    size_t address_len = type == TYPE_V4 ? 4 : type == TYPE_V6 ? 16 : len > 0 ? 1 + bytes[0] : 1;
    enum host_fault fault;
    struct addr addr;

    *ret_len = address_len + 2;
    if (len < *ret_len)
        return SOCKS5_MORE;
    r->port = (uint16_t)(bytes[address_len] << 8 | bytes[address_len + 1]);
    if (r->port == 0)
        return refuse(r, SOCKS5_FAILED, "the port is 0");
    if (type == TYPE_NAME) {
        fault = host_parse((const char *)bytes + 1, address_len - 1, &r->host);
        return fault == HOST_OK ? SOCKS5_OK : refuse(r, SOCKS5_FAILED, host_fault_text(fault));
    }
    addr = type == TYPE_V4 ? addr_from_v4(bytes) : addr_from_v6(bytes);
    set_address(&r->host, &addr);
    return SOCKS5_OK;
}

enum socks5_step socks5_parse_request(const uint8_t *bytes, size_t len, size_t *ret_used,
                                      struct socks5_request *ret)
{
    enum socks5_step step;
    size_t address_len;

    *ret = (struct socks5_request){ .code = SOCKS5_SUCCEEDED };
    if (len >= 1 && bytes[0] != VERSION)
        return refuse(ret, SOCKS5_FAILED, "not a SOCKS5 request");
    if (len >= 2 && bytes[1] != CONNECT) {
        bool known = bytes[1] > 0 && bytes[1] <= LAST_CMD;
        return refuse(ret, SOCKS5_BAD_COMMAND,
                      known ? "only CONNECT is served" : "an unknown SOCKS command");
    }
    if (len >= 3 && bytes[2] != 0)
        return refuse(ret, SOCKS5_FAILED, "the reserved byte is not 0");
    if (len < REQUEST_FIXED)
        return SOCKS5_MORE;
    if (bytes[3] != TYPE_V4 && bytes[3] != TYPE_NAME && bytes[3] != TYPE_V6)
        return refuse(ret, SOCKS5_BAD_ADDRESS_TYPE, "an unknown type of address");
    step = parse_address((enum address_type)bytes[3], bytes + REQUEST_FIXED, len - REQUEST_FIXED,
                         ret, &address_len);
    if (step == SOCKS5_OK)
        *ret_used = REQUEST_FIXED + address_len;
    return step;
}

void socks5_method(bool accepted, uint8_t reply[2])
{
    reply[0] = VERSION;
    reply[1] = accepted ? NO_AUTH : NO_METHOD;
}

void socks5_reply(enum socks5_code code, uint8_t reply[SOCKS5_REPLY_LEN])
{
    memset(reply, 0, SOCKS5_REPLY_LEN);
    reply[0] = VERSION;
    reply[1] = (uint8_t)code;
    reply[3] = TYPE_V4;
}

void socks4_refusal(uint8_t reply[SOCKS4_REPLY_LEN])
{
    memset(reply, 0, SOCKS4_REPLY_LEN);
    reply[1] = 91; /* rejected or failed */
}
