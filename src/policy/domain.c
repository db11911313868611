/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of hosts.
 *
 * The text is foreign. It is cut from the right, port first, then the prefix length; what is left
 * must be an address for inet_pton or a name by its labels. A name whose last label is a number, or
 * begins as a hexadecimal one does, is neither: programs take such names for addresses, each in its
 * own way. Whatever is not allowed here can never be matched later by accident: the filter reads
 * the same grammar.
 */
#include "policy/domain.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/str.h"

#define LABEL_MAX 63
#define TEXT_MAX  320 /* a name, brackets, a prefix length and a port */

static bool refuse(struct domain_fault *fault, const char *why, const char *hint)
{
    *fault = (struct domain_fault){ why, hint };
    return false;
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_digits(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (s[i] < '0' || s[i] > '9')
            return false;
    return len > 0;
}

static bool check_label(const char *s, size_t len, struct domain_fault *fault)
{
    if (len == 0)
        return refuse(fault, "a label of the name is empty", "for example example.com");
    if (len > LABEL_MAX)
        return refuse(fault, "a label of the name has more than 63 characters", NULL);
    if (s[0] == '-' || s[len - 1] == '-')
        return refuse(fault, "a label of the name begins or ends with '-'", NULL);
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '*')
            return refuse(fault, "'*' stands only at the front, as '*.'",
                          "for example *.example.com");
        if ((unsigned char)s[i] >= 0x80)
            return refuse(fault, "names are ASCII", "write the xn-- form of the name");
        if (!is_alnum(s[i]) && s[i] != '-')
            return refuse(fault, "a name has letters, digits, '-' and dots only",
                          "for example example.com, *.example.com or 192.0.2.0/24");
    }
    return true;
}

/* A name of at least `labels` labels; one dot at its end does not count. */
static bool check_name(const char *name, size_t labels, struct domain_fault *fault)
{
    size_t len = strlen(name), n = 0, last = 0;

    if (len > 0 && name[len - 1] == '.')
        len--;
    if (len > DOMAIN_MAX)
        return refuse(fault, "the name has more than 253 characters", NULL);
    for (size_t start = 0; start <= len; n++) {
        const char *dot = memchr(name + start, '.', len - start);
        size_t label = dot ? (size_t)(dot - name) - start : len - start;
        if (!check_label(name + start, label, fault))
            return false;
        last = start;
        start += label + 1;
    }
    if (is_digits(name + last, len - last) ||
        (name[last] == '0' && (name[last + 1] == 'x' || name[last + 1] == 'X')))
        return refuse(fault, "neither a name nor an address",
                      "an address is four numbers from 0 to 255, without zeros in front");
    if (n < labels)
        return refuse(fault, "the name needs a dot", "write the whole name, or its address");
    return true;
}

static bool host_bits_are_zero(const unsigned char *address, size_t bytes, uint64_t prefix)
{
    for (size_t i = 0; i < bytes; i++) {
        uint64_t kept = prefix > 8 * i ? MIN_OF(prefix - 8 * i, 8) : 0;
        if (address[i] & (0xffu >> kept))
            return false;
    }
    return true;
}

/* An address, or with a prefix length a network. */
static bool check_address(const char *address, const char *prefix, struct domain_fault *fault)
{
    unsigned char bytes[16];
    bool six = strchr(address, ':');
    uint64_t bits = 0;

    if (inet_pton(six ? AF_INET6 : AF_INET, address, bytes) != 1)
        return refuse(fault, "not an address",
                      "four numbers from 0 to 255, or IPv6 without a zone");
    if (!prefix)
        return true;
    if (!str_to_u64(prefix, six ? 128 : 32, &bits) || (prefix[0] == '0' && prefix[1] != '\0'))
        return refuse(fault, "not a prefix length", "0 to 32, for IPv6 0 to 128");
    if (!host_bits_are_zero(bytes, six ? 16 : 4, bits))
        return refuse(fault, "the network has bits behind its prefix length",
                      "10.0.0.0/8 is a network, 10.0.0.1/8 is not");
    return true;
}

/* Cuts ":port" off; *ret_port tells whether there was one. */
static bool cut_port(char *text, bool *ret_port, struct domain_fault *fault)
{
    char *close = strrchr(text, ']');
    char *colon = strrchr(close ? close : text, ':');
    uint64_t port = 0;

    *ret_port = false;
    if (!colon || (!close && strchr(text, ':') != colon)) /* none, or IPv6 without brackets */
        return true;
    if (!str_to_u64(colon + 1, 65535, &port) || port == 0 || colon[1] == '0')
        return refuse(fault, "not a port", "1 to 65535");
    *colon = '\0';
    *ret_port = true;
    return true;
}

/* "[…]" to what is in it; other texts stay. Brackets are for IPv6 only. */
static char *cut_brackets(char *text)
{
    size_t len = strlen(text);

    if (text[0] != '[' || text[len - 1] != ']' || !strchr(text, ':'))
        return text;
    text[len - 1] = '\0';
    return text + 1;
}

static bool is_address(const char *text)
{
    size_t len = strlen(text);

    return strchr(text, ':') || (len > 0 && strspn(text, "0123456789.") == len);
}

static bool check_host(char *text, size_t labels, struct domain_fault *fault)
{
    char *host = cut_brackets(text), *slash = strchr(host, '/');

    if (slash)
        *slash++ = '\0';
    if (slash && !is_address(host))
        return refuse(fault, "only a network has a '/'", "name the host alone, without a path");
    if (is_address(host))
        return check_address(host, slash, fault);
    if (str_eq(host, "*"))
        return refuse(fault, "'*' alone is everything", "set network.mode to allowed for that");
    if (str_has_prefix(host, "*.")) {
        if (!check_name(host + 2, 1, fault))
            return false;
        if (check_name(host + 2, 2, fault))
            return true;
        return refuse(fault, "what follows '*.' needs a dot", "for example *.example.com");
    }
    return check_name(host, labels, fault);
}

static bool copy_text(const char *text, char *copy, struct domain_fault *fault)
{
    size_t len = strnlen(text, TEXT_MAX);

    if (len == 0)
        return refuse(fault, "it is empty", NULL);
    if (len == TEXT_MAX)
        return refuse(fault, "it is too long", NULL);
    memcpy(copy, text, len + 1);
    return true;
}

bool domain_is_pattern(const char *text, struct domain_fault *ret_fault)
{
    char copy[TEXT_MAX];
    bool port;

    if (strstr(text, "://"))
        return refuse(ret_fault, "it is an address of the web, not a host",
                      "name the host alone, such as example.com or example.com:443");
    return copy_text(text, copy, ret_fault) && cut_port(copy, &port, ret_fault) &&
           check_host(copy, 2, ret_fault);
}

bool domain_is_proxy(const char *text, struct domain_fault *ret_fault)
{
    static const char *const schemes[] = { "http://", "https://", "socks5://" };
    static const char hint[] = "for example http://proxy.example.com:3128";
    char copy[TEXT_MAX];
    bool port;

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        if (!str_has_prefix(text, schemes[i]))
            continue;
        text += strlen(schemes[i]);
        if (strchr(text, '@'))
            return refuse(
                ret_fault, "it holds a name or a password",
                "leave them out; AGENTBOX_UPSTREAM_AUTH=NAME:PASSWORD in the environment has them");
        if (strpbrk(text, "/*"))
            return refuse(ret_fault, "only host and port may follow", hint);
        if (!copy_text(text, copy, ret_fault) || !cut_port(copy, &port, ret_fault))
            return false;
        if (!port)
            return refuse(ret_fault, "the port is missing", hint);
        return check_host(copy, 1, ret_fault);
    }
    return refuse(ret_fault, "it begins with none of http://, https:// and socks5://", hint);
}
