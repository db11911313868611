/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of hosts, as text. Pure.
 *
 *   example.com        that host
 *   *.example.com      every host below it, not itself; what follows "*." needs a dot
 *   192.0.2.7          that address; IPv6 as it is, or in brackets
 *   10.0.0.0/8         that network, its host bits zero; [fd00::/8]
 *
 * each with an optional :port from 1 to 65535; an IPv6 address or network then needs its brackets.
 * Labels are letters, digits and hyphens; other scripts are written in their xn-- form. Names of a
 * single label are refused, "localhost" too: what they lead to depends on the host's search list,
 * and they are mostly mistakes. An address has one spelling: four decimal numbers, or RFC 4291.
 */
#ifndef ABX_POLICY_DOMAIN_H
#define ABX_POLICY_DOMAIN_H

#include "base/defs.h"

#define DOMAIN_MAX 253

/* Both are constants; hint may be NULL. */
struct domain_fault {
    const char *why, *hint;
};

bool domain_is_pattern(const char *text, struct domain_fault *ret_fault);
/* http://, https:// or socks5:// with host and port, and nothing else. Single labels are fine. */
bool domain_is_proxy(const char *text, struct domain_fault *ret_fault);

#endif
