/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's name in the first message of a TLS client. Pure.
 *
 * Reads a stream as it comes, in pieces of any size; records may split the message anywhere. Only
 * the name is kept: the caller holds the bytes back (at most CLIENTHELLO_MAX) until there is an
 * answer, then passes them on as they were.
 */
#ifndef ABX_NET_CLIENTHELLO_H
#define ABX_NET_CLIENTHELLO_H

#include "base/defs.h"
#include "net/host.h"

#define CLIENTHELLO_MAX 65536 /* bytes of the stream, record headers included */

enum clienthello_step {
    CLIENTHELLO_MORE,
    CLIENTHELLO_NAME,      /* host is the server's name */
    CLIENTHELLO_NONE,      /* well formed, without a name */
    CLIENTHELLO_ECH,       /* has encrypted_client_hello, real or GREASE: nobody can tell which.
                              has_host and host are the outer name, which everybody can see */
    CLIENTHELLO_NOT_TLS,   /* something else: decided by the first bytes */
    CLIENTHELLO_MALFORMED, /* or longer than CLIENTHELLO_MAX */
};

struct clienthello {            /* zeroed to begin with */
    enum clienthello_step step; /* the last answer; it never changes once it is not MORE */
    bool has_host, has_ech;
    struct host host;
    /* Internal. */
    size_t seen;
    uint8_t record[6], record_have; /* a header, and the byte behind the first one */
    uint16_t record_left;
    unsigned state;
    uint8_t field[4], have;
    uint32_t skip;            /* bytes to pass over before the next field */
    uint32_t hello_left;      /* of the message */
    uint32_t extensions_left; /* of the list of extensions, behind the present one */
    uint32_t list_left;       /* of the list of names */
    bool sni_seen;
    char name[HOST_MAX + 2];
    uint16_t name_len, name_have;
};

enum clienthello_step clienthello_feed(struct clienthello *c, const uint8_t *bytes, size_t len);

#endif
