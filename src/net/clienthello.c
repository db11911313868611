/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first message of a TLS client.
 *
 * The bytes come from the sandbox. Two machines, one inside the other: the outer takes the records
 * apart, the inner reads the handshake message that they carry, field by field. A field of at most
 * four bytes is collected, the name too; all else is counted and passed over. Every length is held
 * against the one around it, and must be used up exactly. Refused are other records between, empty
 * ones, other messages, a name twice, names that are no hosts, and what is too long.
 *
 * There is no answer before the whole message was read, since a second name could still come. What
 * follows the message is not looked at.
 */
#include "net/clienthello.h"

#include <string.h>

#define RECORD_CIPHERS   20 /* change_cipher_spec */
#define RECORD_ALERT     21
#define RECORD_HANDSHAKE 22
#define RECORD_LAST      24 /* behind data, heartbeat */
#define RECORD_HEADER    5
#define RECORD_MAX       16384
#define CLIENT_HELLO     1
#define EXT_SERVER_NAME  0
#define EXT_ECH          0xfe0d
#define NAME_TYPE_HOST   0

/* Each is a field that is read next. */
enum state {
    MESSAGE, /* type and length */
    SESSION, /* length of the session id, behind version and random */
    CIPHERS, /* length of the list */
    COMPRESSIONS,
    EXTENSIONS, /* length of all; absent if the message ends before it */
    EXTENSION,  /* type and length */
    NAMES,      /* length of the list of names */
    NAME_HEAD,  /* type and length */
    NAME,       /* its bytes */
    DONE,
};

static const uint8_t field_len[] = {
    [MESSAGE] = 4,    [SESSION] = 1,   [CIPHERS] = 2, [COMPRESSIONS] = 1,
    [EXTENSIONS] = 2, [EXTENSION] = 4, [NAMES] = 2,   [NAME_HEAD] = 3
};

static uint32_t field_value(const struct clienthello *c, unsigned from, unsigned len)
{
    uint32_t v = 0;

    for (unsigned i = from; i < from + len; i++)
        v = v << 8 | c->field[i];
    return v;
}

/* Goes on to a field behind `skip` bytes, if the message has that many. */
static bool go_on(struct clienthello *c, enum state next, uint32_t skip)
{
    if (skip > c->hello_left)
        return false;
    c->skip = skip;
    c->state = next;
    return true;
}

static bool end_of_hello(struct clienthello *c)
{
    c->state = DONE;
    return c->hello_left == 0;
}

/* Between extensions: another one, or the end. */
static bool next_extension(struct clienthello *c)
{
    return c->extensions_left > 0 ? go_on(c, EXTENSION, 0) : end_of_hello(c);
}

static bool got_message(struct clienthello *c)
{
    c->hello_left = field_value(c, 1, 3);
    return c->field[0] == CLIENT_HELLO && c->hello_left <= CLIENTHELLO_MAX && go_on(c, SESSION, 34);
}

static bool got_extensions(struct clienthello *c)
{
    c->extensions_left = field_value(c, 0, 2);
    return c->extensions_left == c->hello_left && next_extension(c);
}

static bool got_extension(struct clienthello *c)
{
    uint32_t type = field_value(c, 0, 2), len = field_value(c, 2, 2);

    if (c->extensions_left < 4 || len > c->extensions_left - 4)
        return false;
    c->extensions_left -= 4 + len;
    if (type == EXT_ECH)
        c->has_ech = true;
    if (type != EXT_SERVER_NAME)
        return len == 0 ? next_extension(c) : go_on(c, EXTENSION, len);
    if (c->sni_seen || len < 2)
        return false;
    c->sni_seen = true;
    c->list_left = len;
    return go_on(c, NAMES, 0);
}

static bool got_names(struct clienthello *c)
{
    c->list_left -= 2;
    return c->list_left > 0 && c->list_left == field_value(c, 0, 2) && go_on(c, NAME_HEAD, 0);
}

/* One name of the one type there is; RFC 6066 forbids a second of it. */
static bool got_name_head(struct clienthello *c)
{
    uint32_t len = field_value(c, 1, 2);

    if (c->list_left < 3 || len != c->list_left - 3 || len == 0 || len >= sizeof c->name)
        return false;
    c->name_len = (uint16_t)len;
    return c->field[0] == NAME_TYPE_HOST && go_on(c, NAME, 0);
}

static bool got_field(struct clienthello *c)
{
    switch (c->state) {
    case MESSAGE:
        return got_message(c);
    case SESSION:
        return c->field[0] <= 32 && go_on(c, CIPHERS, c->field[0]);
    case CIPHERS:
        return field_value(c, 0, 2) >= 2 && field_value(c, 0, 2) % 2 == 0 &&
               go_on(c, COMPRESSIONS, field_value(c, 0, 2));
    case COMPRESSIONS:
        return c->field[0] > 0 && go_on(c, EXTENSIONS, c->field[0]);
    case EXTENSIONS:
        return got_extensions(c);
    case EXTENSION:
        return got_extension(c);
    case NAMES:
        return got_names(c);
    default:
        return got_name_head(c);
    }
}

static bool name_byte(struct clienthello *c, uint8_t byte)
{
    c->name[c->name_have++] = (char)byte;
    if (c->name_have < c->name_len)
        return true;
    c->has_host = host_parse(c->name, c->name_len, &c->host) == HOST_OK;
    return c->has_host && next_extension(c);
}

/* Passed over all that was to be: a message may end here, and the list of extensions too. */
static bool skipped(struct clienthello *c)
{
    if (c->state == EXTENSIONS && c->hello_left == 0)
        return end_of_hello(c);
    return c->state != EXTENSION || next_extension(c);
}

/* Bytes of the message; false if it cannot be. Stops when it is done. */
static bool read_message(struct clienthello *c, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len && c->state != DONE;) {
        size_t n = 1;

        if (c->skip > 0) {
            n = MIN_OF(c->skip, len - i);
            c->skip -= (uint32_t)n;
            c->hello_left -= (uint32_t)n;
            if (c->skip == 0 && !skipped(c))
                return false;
        } else if (c->state == NAME) {
            c->hello_left--;
            if (!name_byte(c, bytes[i]))
                return false;
        } else {
            if (c->state != MESSAGE)
                c->hello_left--;
            c->field[c->have++] = bytes[i];
            if (c->have == field_len[c->state]) {
                c->have = 0;
                if (!got_field(c))
                    return false;
            }
        }
        if (c->state != MESSAGE && c->state != DONE && c->hello_left == 0)
            return false; /* cut off within a field */
        i += n;
    }
    return true;
}

/* The header of a record is whole. */
static bool got_record(struct clienthello *c)
{
    c->record_left = (uint16_t)(c->record[3] << 8 | c->record[4]);
    return c->record[0] == RECORD_HANDSHAKE && c->record[1] == 3 && c->record_left > 0 &&
           c->record_left <= RECORD_MAX;
}

/*
 * Some servers, those of large networks among them, do not look at the version of the first
 * record. So one with a version that does not exist counts as TLS if its length and its first byte
 * are those of what such a server takes or passes over: a hello, an alert, change_cipher_spec.
 */
static bool is_record_of_any_version(const struct clienthello *c)
{
    unsigned len = (unsigned)(c->record[3] << 8 | c->record[4]), first = c->record[5];

    switch (c->record[0]) {
    case RECORD_HANDSHAKE:
        return len == 0 || first == CLIENT_HELLO;
    case RECORD_ALERT:
        return len <= 2 && (first == 1 || first == 2); /* a warning, or fatal */
    case RECORD_CIPHERS:
        return len == 1 && first == 1;
    default:
        return false;
    }
}

static enum clienthello_step answer(const struct clienthello *c)
{
    if (c->state != DONE)
        return CLIENTHELLO_MORE;
    if (c->has_ech)
        return CLIENTHELLO_ECH;
    return c->has_host ? CLIENTHELLO_NAME : CLIENTHELLO_NONE;
}

/*
 * By the first bytes: is it TLS? A record of another kind in front of the hello is nothing that a
 * client sends, but some servers pass over it. A hello in the form of SSL 2 cannot have a name.
 */
static enum clienthello_step judge_start(const struct clienthello *c)
{
    static const uint8_t v2_hello[] = { 1, 3 }; /* behind the length: client_hello, version 3.x */
    const uint8_t *bytes = c->record;
    const size_t count = c->record_have;

    if (bytes[0] & 0x80) {
        if (count > 2 && bytes[count - 1] != v2_hello[count - 3])
            return CLIENTHELLO_NOT_TLS;
        return count < 4 ? CLIENTHELLO_MORE : CLIENTHELLO_NONE;
    }
    if (bytes[0] < RECORD_CIPHERS || bytes[0] > RECORD_LAST)
        return CLIENTHELLO_NOT_TLS;
    if (count > 1 && bytes[1] == 3)
        return bytes[0] == RECORD_HANDSHAKE ? CLIENTHELLO_MORE : CLIENTHELLO_MALFORMED;
    if (count > 1 && bytes[0] > RECORD_HANDSHAKE)
        return CLIENTHELLO_NOT_TLS;
    if (count < sizeof c->record)
        return CLIENTHELLO_MORE;
    return is_record_of_any_version(c) ? CLIENTHELLO_MALFORMED : CLIENTHELLO_NOT_TLS;
}

/* One more byte of a record's header; of the first one, also the byte behind it may count. */
static void take_header(struct clienthello *c, uint8_t byte)
{
    const bool first = c->seen == c->record_have;

    c->record[c->record_have++] = byte;
    if (first)
        c->step = judge_start(c);
    if (c->step != CLIENTHELLO_MORE || c->record_have < RECORD_HEADER ||
        (first && c->record[1] != 3))
        return;
    c->record_have = 0;
    if (!got_record(c))
        c->step = CLIENTHELLO_MALFORMED;
}

/* The next part of the stream: one byte of a record's header, or what there is of its content. */
static size_t take(struct clienthello *c, const uint8_t *bytes, size_t len)
{
    size_t n = 1;

    if (c->record_left == 0) {
        take_header(c, bytes[0]);
    } else {
        n = MIN_OF(len, c->record_left);
        c->record_left = (uint16_t)(c->record_left - n);
        c->step = read_message(c, bytes, n) ? answer(c) : CLIENTHELLO_MALFORMED;
    }
    c->seen += n;
    return n;
}

enum clienthello_step clienthello_feed(struct clienthello *c, const uint8_t *bytes, size_t len)
{
    while (len > 0 && c->step == CLIENTHELLO_MORE) {
        size_t room = CLIENTHELLO_MAX - c->seen, n;
        if (room == 0) {
            c->step = CLIENTHELLO_MALFORMED;
            break;
        }
        n = take(c, bytes, MIN_OF(len, room));
        bytes += n;
        len -= n;
    }
    if (c->step == CLIENTHELLO_MALFORMED || c->step == CLIENTHELLO_NOT_TLS)
        c->has_host = false;
    return c->step;
}
