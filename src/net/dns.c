/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS messages.
 *
 * An answer comes from whoever could send us a packet. It is ours if its id and its question are;
 * whatever else it holds is read within its length only. A name is unpacked to at most 255 bytes in
 * small letters; a pointer must lead to before the place where the name began, and each further one
 * to before the last, so there are no loops. Records of other names, classes and types are passed
 * over. Sections behind the answers are read only for how long a "no" holds.
 *
 * The addresses are for filter_check_addresses: all of them, or the answer is no good.
 */
#include "net/dns.h"

#include <string.h>

#include "net/span.h"

#define WIRE_MAX    255 /* on the wire, with the root's label */
#define LABEL_MAX   63
#define MAX_JUMPS   32
#define CLASS_IN    1
#define TYPE_CNAME  5
#define TYPE_SOA    6
#define TYPE_OPT    41
#define FLAG_ANSWER 0x8000
#define FLAG_TC     0x0200
#define FLAG_RD     0x0100
#define OPCODE_MASK 0x7800
#define RCODE_MASK  0x000f

enum rcode { NO_ERROR = 0, FORMERR = 1, NXDOMAIN = 3, NOTIMP = 4 };

/* A name as it is on the wire, without pointers, in small letters. */
struct wire_name {
    uint8_t bytes[WIRE_MAX];
    size_t len;
};

struct record {
    struct wire_name name;
    unsigned type, class;
    uint32_t ttl;
    size_t data, data_len; /* where in the message */
};

struct reader {
    const uint8_t *message;
    size_t len, at;
};

/* ---- questions ---- */

static void wire_of_host(const struct host *name, struct wire_name *ret)
{
    struct span rest = { name->text, name->len }, label;

    ret->len = 0;
    while (span_next(&rest, '.', &label)) {
        ret->bytes[ret->len++] = (uint8_t)label.len;
        memcpy(ret->bytes + ret->len, label.at, label.len);
        ret->len += label.len;
    }
    ret->bytes[ret->len++] = 0;
}

static uint8_t *put16(uint8_t *out, unsigned v)
{
    out[0] = (uint8_t)(v >> 8);
    out[1] = (uint8_t)v;
    return out + 2;
}

size_t dns_build_query(const struct host *name, enum dns_type type, uint16_t id, bool edns,
                       uint8_t query[DNS_QUERY_MAX])
{
    struct wire_name wire;
    uint8_t *out = query;

    _Static_assert(HOST_MAX + 2 <= WIRE_MAX, "every host fits");
    wire_of_host(name, &wire);
    out = put16(out, id);
    out = put16(out, FLAG_RD);
    out = put16(out, 1); /* one question */
    out = put16(out, 0);
    out = put16(out, 0);
    out = put16(out, edns ? 1 : 0);
    memcpy(out, wire.bytes, wire.len);
    out = put16(out + wire.len, type);
    out = put16(out, CLASS_IN);
    if (edns) {
        *out++ = 0; /* the root */
        out = put16(out, TYPE_OPT);
        out = put16(out, DNS_UDP_SIZE);
        out = put16(out, 0); /* no extended code, version 0 */
        out = put16(out, 0); /* no flags */
        out = put16(out, 0); /* no data */
    }
    return (size_t)(out - query);
}

/* ---- reading ---- */

static bool read16(struct reader *r, unsigned *ret)
{
    if (r->len - r->at < 2)
        return false;
    *ret = (unsigned)r->message[r->at] << 8 | r->message[r->at + 1];
    r->at += 2;
    return true;
}

static bool read32(struct reader *r, uint32_t *ret)
{
    unsigned high = 0, low = 0;

    if (!read16(r, &high) || !read16(r, &low))
        return false;
    *ret = (uint32_t)high << 16 | low;
    return true;
}

/* One label to the end of the name; *at moves behind it. */
static bool read_label(const struct reader *r, size_t *at, struct wire_name *ret)
{
    size_t len = r->message[*at];

    if (len > LABEL_MAX || r->len - *at < 1 + len || ret->len + 1 + len > sizeof ret->bytes)
        return false;
    ret->bytes[ret->len++] = (uint8_t)len;
    for (size_t i = 1; i <= len; i++)
        ret->bytes[ret->len++] = (uint8_t)ascii_lower((char)r->message[*at + i]);
    *at += 1 + len;
    return true;
}

static bool read_name(struct reader *r, struct wire_name *ret)
{
    size_t at = r->at, before = r->at;
    unsigned jumps = 0;

    ret->len = 0;
    while (at < r->len) {
        uint8_t first = r->message[at];

        if (first >= 0xc0) {
            size_t to;
            if (r->len - at < 2)
                return false;
            to = (size_t)(first & 0x3f) << 8 | r->message[at + 1];
            if (jumps == 0)
                r->at = at + 2;
            if (to >= before || ++jumps > MAX_JUMPS)
                return false;
            at = before = to;
            continue;
        }
        if (!read_label(r, &at, ret))
            return false;
        if (first == 0) {
            if (jumps == 0)
                r->at = at;
            return true;
        }
    }
    return false;
}

static bool same_name(const struct wire_name *a, const struct wire_name *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static bool read_record(struct reader *r, struct record *ret)
{
    unsigned data_len = 0;

    if (!read_name(r, &ret->name) || !read16(r, &ret->type) || !read16(r, &ret->class) ||
        !read32(r, &ret->ttl) || !read16(r, &data_len) || r->len - r->at < data_len)
        return false;
    ret->data = r->at;
    ret->data_len = data_len;
    r->at += data_len;
    if (ret->ttl > DNS_TTL_MAX) /* also those above 2^31, which count as 0 in RFC 2181 */
        ret->ttl = ret->ttl > INT32_MAX ? 0 : DNS_TTL_MAX;
    return true;
}

/* ---- answers ---- */

/* The name that a record of this type in the answer section leads to; must fill its data. */
static bool read_alias(const struct reader *r, const struct record *record, struct wire_name *ret)
{
    struct reader data = { r->message, record->data + record->data_len, record->data };

    return read_name(&data, ret) && data.at == data.len;
}

static bool add_address(const struct reader *r, const struct record *record, enum dns_type type,
                        struct dns_answer *ret)
{
    const uint8_t *bytes = r->message + record->data;

    if (record->data_len != (type == DNS_A ? 4u : 16u) || ret->count == DNS_MAX_ADDRS)
        return false;
    ret->addrs[ret->count++] = type == DNS_A ? addr_from_v4(bytes) : addr_from_v6(bytes);
    return true;
}

/*
 * Reads the answers once, for the name as it is: addresses are added, an alias changes the name.
 * *ret_moved tells that it did: answers before it may belong to the new name, so read again.
 */
static bool read_answers(struct reader r, unsigned count, enum dns_type type,
                         struct wire_name *name, struct dns_answer *ret, bool *ret_moved)
{
    struct wire_name alias = { .len = 0 };
    struct record record;

    *ret_moved = false;
    for (unsigned i = 0; i < count; i++) {
        if (!read_record(&r, &record))
            return false;
        if (record.class != CLASS_IN || !same_name(&record.name, name))
            continue;
        if (record.type == TYPE_CNAME) {
            if (*ret_moved || !read_alias(&r, &record, &alias))
                return false; /* two aliases of one name */
            *ret_moved = true;
            ret->ttl = MIN_OF(ret->ttl, record.ttl);
        } else if (record.type == (unsigned)type) {
            if (!add_address(&r, &record, type, ret))
                return false;
            ret->ttl = MIN_OF(ret->ttl, record.ttl);
        }
    }
    if (*ret_moved)
        *name = alias;
    return !*ret_moved || ret->count == 0; /* an alias and an address of one name */
}

/* How long a "no" holds: the SOA's own time and its last field (RFC 2308). 0 if there is none. */
static uint32_t negative_ttl(struct reader r, unsigned answers, unsigned authorities)
{
    struct record record;

    for (unsigned i = 0; i < answers + authorities; i++) {
        struct reader data;
        uint32_t minimum = 0;

        if (!read_record(&r, &record))
            return 0;
        if (i < answers || record.type != TYPE_SOA || record.data_len < 4)
            continue;
        data = (struct reader){ r.message, r.at, r.at - 4 };
        if (!read32(&data, &minimum))
            return 0;
        return MIN_OF(MIN_OF(minimum, record.ttl), (uint32_t)DNS_TTL_MAX);
    }
    return 0;
}

static enum dns_status status_of(unsigned flags)
{
    if (flags & FLAG_TC)
        return DNS_TRUNCATED;
    switch (flags & RCODE_MASK) {
    case NO_ERROR:
        return DNS_OK;
    case NXDOMAIN:
        return DNS_NO_NAME;
    case FORMERR:
    case NOTIMP:
        return DNS_NO_EDNS;
    default:
        return DNS_SERVER_FAILED;
    }
}

/* The header and the question: is this the answer to what was asked? */
static enum dns_status read_head(struct reader *r, const struct wire_name *asked,
                                 enum dns_type type, uint16_t id, unsigned counts[4])
{
    unsigned got_id = 0, flags = 0, got_type = 0, got_class = 0;
    struct wire_name name;

    if (!read16(r, &got_id) || !read16(r, &flags) || got_id != id || !(flags & FLAG_ANSWER) ||
        (flags & OPCODE_MASK))
        return DNS_NOT_OURS;
    for (unsigned i = 0; i < 4; i++)
        if (!read16(r, &counts[i]))
            return DNS_NOT_OURS;
    if (counts[0] == 0 && status_of(flags) == DNS_NO_EDNS)
        return DNS_NO_EDNS; /* some old servers give the header alone */
    if (counts[0] != 1 || !read_name(r, &name) || !read16(r, &got_type) || !read16(r, &got_class) ||
        !same_name(&name, asked) || got_type != (unsigned)type || got_class != CLASS_IN)
        return DNS_NOT_OURS;
    return status_of(flags);
}

enum dns_status dns_parse_answer(const uint8_t *message, size_t len, const struct host *name,
                                 enum dns_type type, uint16_t id, struct dns_answer *ret)
{
    struct reader r = { message, len, 0 };
    struct wire_name wire;
    enum dns_status status;
    unsigned counts[4] = { 0 };
    bool moved = true;

    *ret = (struct dns_answer){ .ttl = DNS_TTL_MAX };
    wire_of_host(name, &wire);
    status = read_head(&r, &wire, type, id, counts);
    if (status != DNS_OK && status != DNS_NO_NAME)
        return status;
    for (unsigned i = 0; moved; i++)
        if (i > DNS_MAX_ALIASES || !read_answers(r, counts[1], type, &wire, ret, &moved))
            return DNS_MALFORMED;
    if (status == DNS_OK && ret->count > 0)
        return DNS_OK;
    ret->count = 0;
    ret->ttl = negative_ttl(r, counts[1], counts[2]);
    return status == DNS_NO_NAME ? DNS_NO_NAME : DNS_NO_DATA;
}
