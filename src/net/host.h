/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and addresses of targets, in the one form that is judged, resolved, dialled, shown. Pure.
 *
 * A name is small letters, digits and hyphens in labels of 1 to 63, at most 253 in all, without a
 * dot at its end; other scripts come in their xn-- form. What any program would read as an address
 * is an address ("0x7f.1", "2130706433", "127.0.0.1."), and what only looks like one (a last label
 * of digits, or that begins with 0x) is refused. So are addresses with a zone, which are bound to
 * an interface of the host, and every other byte.
 */
#ifndef ABX_NET_HOST_H
#define ABX_NET_HOST_H

#include "base/addr.h"
#include "base/defs.h"

#define HOST_MAX           253
#define HOST_AUTHORITY_MAX (HOST_MAX + 8) /* "[", "]:65535" and a NUL more than a host */

struct host {
    bool is_address;
    struct addr addr;        /* if is_address */
    char text[HOST_MAX + 1]; /* canonical; an address without brackets */
    uint8_t len;
};

enum host_fault {
    HOST_OK,
    HOST_EMPTY,
    HOST_TOO_LONG,    /* the name or a label of it */
    HOST_BAD_BYTE,    /* NUL, control, blank, 8-bit, '_', '%', … */
    HOST_BAD_LABEL,   /* empty, or a hyphen at its end */
    HOST_BAD_ADDRESS, /* looks like an address and is none, or has a zone */
    HOST_BAD_PORT,    /* not 1 to 65535, or missing */
};

/* A host alone; IPv6 with or without brackets. *ret is untouched on a fault. */
enum host_fault host_parse(const char *text, size_t len, struct host *ret);
/*
 * "host", "host:port", "[v6]", "[v6]:port". IPv6 needs its brackets. A port is 1 to 65535 in
 * decimal, without zeros in front; default_port stands in for a missing one (0: it must be there).
 */
enum host_fault host_parse_authority(const char *text, size_t len, uint16_t default_port,
                                     struct host *ret, uint16_t *ret_port);
/* One phrase, for "the host is not valid: …". */
const char *host_fault_text(enum host_fault fault);

bool host_eq(const struct host *a, const struct host *b);
/* "host:port", IPv6 in brackets; without ":port" for 0. Returns the length. */
size_t host_format(const struct host *h, uint16_t port, char text[HOST_AUTHORITY_MAX]);

#endif
