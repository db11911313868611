/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IP addresses: every spelling of one to a single form, and what that form is. Pure.
 *
 * An IPv4 address is kept as its mapped IPv6 address (::ffff:a.b.c.d) with the family ADDR_V4, and
 * a mapped address that was written as IPv6 becomes the same value: two addresses are the same
 * exactly if their structs are (addr_eq).
 */
#ifndef ABX_BASE_ADDR_H
#define ABX_BASE_ADDR_H

#include "base/defs.h"

#define ADDR_TEXT_MAX 46 /* longest canonical text with its NUL */
#define ADDR_IN_MAX   64 /* longest text that is looked at */

enum addr_family { ADDR_V4 = 4, ADDR_V6 = 6 };

struct addr {
    uint8_t bytes[16]; /* network order; an IPv4 address is in the last four */
    uint8_t family;    /* enum addr_family */
    uint8_t zoned;     /* had a "%zone": bound to an interface, blocked and in no network */
};

/* A network; bits counts from the family's own first bit (0 to 32, 0 to 128). */
struct addr_net {
    struct addr addr; /* its host bits are zero */
    uint8_t bits;
};

struct addr addr_from_v4(const uint8_t bytes[4]);
struct addr addr_from_v6(const uint8_t bytes[16]); /* a mapped one becomes ADDR_V4 */

/*
 * What inet_aton and getaddrinfo take: IPv4 of one to four decimal, octal (0…) or hexadecimal (0x…)
 * numbers, the last of which fills the bytes that are left; IPv6 with "::", with an IPv4 tail, with
 * a zone, in brackets. No blanks, nothing behind it. 0 or -EINVAL.
 */
int addr_parse(const char *text, size_t len, struct addr *ret);
/* The spelling of configurations: four decimal numbers without zeros in front, or plain IPv6. */
int addr_parse_strict(const char *text, size_t len, struct addr *ret);
/* "ADDRESS/BITS" in the strict spelling; bits behind the prefix must be zero. 0 or -EINVAL. */
int addr_net_parse(const char *text, size_t len, struct addr_net *ret);
/* The network of one address alone. */
struct addr_net addr_net_of(const struct addr *a);

bool addr_eq(const struct addr *a, const struct addr *b);
/* Families are never mixed: ::/0 holds no IPv4 address, ::ffff:0:0/96 is 0.0.0.0/0. */
bool addr_net_has(const struct addr_net *net, const struct addr *a);
/* The address with all but its first bits (of its family) zero. */
struct addr addr_masked(const struct addr *a, unsigned bits);

/*
 * Why an address is not for the world ("loopback", "private", …; addr_blocked.def), or NULL. Forms
 * that carry an IPv4 address through a translator are blocked whatever they carry.
 */
const char *addr_blocked(const struct addr *a);

/* The canonical text (RFC 5952), without brackets and zone. Returns its length. */
size_t addr_format(const struct addr *a, char text[ADDR_TEXT_MAX]);

#endif
