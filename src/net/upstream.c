/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The upstream proxy's URL. It comes from the user's configuration and holds a password; it is read
 * here only, and nothing prints it.
 */
#include "net/upstream.h"

#include <string.h>

#include "base/str.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Percent-decodes; no NUL, no control characters. */
static bool decode(const char *text, size_t len, char ret[UPSTREAM_AUTH_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        int c = (unsigned char)text[i];

        if (c == '%') {
            if (len - i < 3 || hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0)
                return false;
            c = hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]);
            i += 2;
        }
        if (c < 0x20 || c == 0x7f || n + 1 >= UPSTREAM_AUTH_MAX)
            return false;
        ret[n++] = (char)c;
    }
    ret[n] = '\0';
    return true;
}

static bool parse_userinfo(const char *text, size_t len, struct upstream *u)
{
    const char *colon = memchr(text, ':', len);
    size_t user = colon ? (size_t)(colon - text) : len;

    return decode(text, user, u->user) &&
           decode(colon ? colon + 1 : text, colon ? len - user - 1 : 0, u->password);
}

bool upstream_parse(const char *url, struct upstream *ret)
{
    static const struct {
        const char *scheme;
        enum upstream_kind kind;
        uint16_t port;
    } schemes[] = {
        { "http://", UPSTREAM_HTTP, 3128 },
        { "socks5://", UPSTREAM_SOCKS5, 1080 },
        { "socks5h://", UPSTREAM_SOCKS5, 1080 },
    };
    struct upstream u = { 0 };

    for (size_t i = 0; url && i < ARRAY_LEN(schemes); i++) {
        if (!str_has_prefix(url, schemes[i].scheme))
            continue;
        const char *rest = url + strlen(schemes[i].scheme);
        size_t len = strcspn(rest, "/?#");
        const char *at = memrchr(rest, '@', len);

        if (rest[len] != '\0' && !str_eq(rest + len, "/"))
            return false;
        if (at && !parse_userinfo(rest, (size_t)(at - rest), &u))
            return false;
        const char *authority = at ? at + 1 : rest;
        u.kind = schemes[i].kind;
        if (host_parse_authority(authority, len - (size_t)(authority - rest), schemes[i].port,
                                 &u.host, &u.port) != HOST_OK)
            return false;
        *ret = u;
        return true;
    }
    if (url && url[0])
        return false;
    *ret = u;
    return true;
}
