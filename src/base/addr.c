/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IP addresses.
 *
 * The text is foreign: it comes out of requests that the sandbox wrote. Whatever some program would
 * take for an address must come out as that address here, or as nothing, and never as another one:
 * the verdict and the dialled address are both made from the bytes, not from the text. Numbers that
 * do not fit are refused, not cut. What the classic functions let stand behind an address (a blank
 * and anything) is refused.
 *
 * An address with a zone is bound to an interface of the host; such addresses are link-local and
 * therefore blocked, and no rule can name them.
 */
#include "base/addr.h"

#include <errno.h>
#include <string.h>

#define V4_OFFSET 12
#define V4_BITS   96 /* of a mapped address, before its own */
#define ZONE_MAX  15

static const uint8_t mapped_prefix[V4_OFFSET] = { [10] = 0xff, [11] = 0xff };

struct addr addr_from_v4(const uint8_t bytes[4])
{
    struct addr a = { .family = ADDR_V4 };

    memcpy(a.bytes, mapped_prefix, V4_OFFSET);
    memcpy(a.bytes + V4_OFFSET, bytes, 4);
    return a;
}

struct addr addr_from_v6(const uint8_t bytes[16])
{
    struct addr a = { .family = ADDR_V6 };

    if (memcmp(bytes, mapped_prefix, V4_OFFSET) == 0)
        return addr_from_v4(bytes + V4_OFFSET);
    memcpy(a.bytes, bytes, sizeof a.bytes);
    return a;
}

static int digit_of(char c, unsigned base)
{
    int v = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 16;
    return v < (int)base ? v : -1;
}

/* A whole number of that base, at most max. */
static bool read_number(const char *s, size_t len, unsigned base, uint64_t max, uint64_t *ret)
{
    uint64_t v = 0;

    for (size_t i = 0; i < len; i++) {
        int d = digit_of(s[i], base);
        if (d < 0)
            return false;
        v = v * base + (unsigned)d;
        if (v > max)
            return false;
    }
    *ret = v;
    return len > 0;
}

/* Decimal, or by its first characters octal or hexadecimal. */
static bool read_loose_part(const char *s, size_t len, uint64_t max, uint64_t *ret)
{
    if (len > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
        return read_number(s + 2, len - 2, 16, max, ret);
    if (len > 1 && s[0] == '0')
        return read_number(s + 1, len - 1, 8, max, ret);
    return read_number(s, len, 10, max, ret);
}

static bool parse_v4_loose(const char *s, size_t len, uint8_t ret[4])
{
    const char *end = s + len;
    uint64_t value = 0, part = 0;

    for (unsigned n = 0; n < 4; n++) {
        const char *dot = memchr(s, '.', (size_t)(end - s));
        uint64_t rest = UINT64_C(0xffffffff) >> (8 * n);

        if (!read_loose_part(s, (size_t)((dot ? dot : end) - s), dot ? 255 : rest, &part))
            return false;
        if (!dot) {
            value |= part;
            for (unsigned i = 0; i < 4; i++)
                ret[i] = (uint8_t)(value >> (24 - 8 * i));
            return true;
        }
        value |= part << (24 - 8 * n);
        s = dot + 1;
    }
    return false;
}

static bool parse_v4_strict(const char *s, size_t len, uint8_t ret[4])
{
    const char *end = s + len;

    for (unsigned n = 0; n < 4; n++) {
        const char *dot = memchr(s, '.', (size_t)(end - s));
        size_t part_len = (size_t)((dot ? dot : end) - s);
        uint64_t part = 0;

        if (!dot != (n == 3) || (part_len > 1 && s[0] == '0') ||
            !read_number(s, part_len, 10, 255, &part))
            return false;
        ret[n] = (uint8_t)part;
        s += part_len + 1;
    }
    return true;
}

/* Groups of 16 bits, or at the end an IPv4 address, into bytes[]; stops at "::". */
static bool read_groups(const char **s, const char *end, uint8_t bytes[16], size_t *used)
{
    while (*s < end) {
        const char *colon = memchr(*s, ':', (size_t)(end - *s));
        const char *stop = colon ? colon : end;
        size_t len = (size_t)(stop - *s);
        uint64_t group = 0;

        if (!colon && memchr(*s, '.', len)) {
            if (*used > 12 || !parse_v4_strict(*s, len, bytes + *used))
                return false;
            *used += 4;
            *s = end;
            return true;
        }
        if (*used > 14 || len > 4 || !read_number(*s, len, 16, 0xffff, &group))
            return false;
        bytes[(*used)++] = (uint8_t)(group >> 8);
        bytes[(*used)++] = (uint8_t)group;
        *s = stop;
        if (stop == end || (end - stop > 1 && stop[1] == ':'))
            return true;
        *s = stop + 1;
        if (*s == end) /* a single colon at the end */
            return false;
    }
    return true;
}

static bool parse_v6(const char *s, size_t len, uint8_t ret[16])
{
    const char *end = s + len;
    uint8_t head[16] = { 0 }, tail[16] = { 0 };
    size_t head_len = 0, tail_len = 0;

    if (len < 2 || (s[0] == ':' && s[1] != ':'))
        return false;
    if (s[0] != ':' && !read_groups(&s, end, head, &head_len))
        return false;
    if (s < end) { /* at "::" */
        s += 2;
        if (s < end && (*s == ':' || !read_groups(&s, end, tail, &tail_len)))
            return false;
        if (s < end || head_len + tail_len > 14)
            return false;
    } else if (head_len != 16) {
        return false;
    }
    memcpy(ret, head, 16);
    memcpy(ret + 16 - tail_len, tail, tail_len);
    return true;
}

static bool is_zone(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (digit_of(s[i], 10) < 0 && !(s[i] >= 'a' && s[i] <= 'z') &&
            !(s[i] >= 'A' && s[i] <= 'Z') && s[i] != '.' && s[i] != '_' && s[i] != '-')
            return false;
    return len > 0 && len <= ZONE_MAX;
}

int addr_parse(const char *text, size_t len, struct addr *ret)
{
    uint8_t v4[4], v6[16];
    const char *percent;

    if (len == 0 || len > ADDR_IN_MAX)
        return -EINVAL;
    if (!memchr(text, ':', len)) {
        if (!parse_v4_loose(text, len, v4))
            return -EINVAL;
        *ret = addr_from_v4(v4);
        return 0;
    }
    if (text[0] == '[') {
        if (text[len - 1] != ']')
            return -EINVAL;
        text++;
        len -= 2;
    }
    percent = memchr(text, '%', len);
    if (percent && !is_zone(percent + 1, (size_t)(text + len - percent - 1)))
        return -EINVAL;
    if (!parse_v6(text, percent ? (size_t)(percent - text) : len, v6))
        return -EINVAL;
    *ret = addr_from_v6(v6);
    ret->zoned = percent != NULL;
    return 0;
}

int addr_parse_strict(const char *text, size_t len, struct addr *ret)
{
    uint8_t v4[4], v6[16];

    if (len == 0 || len > ADDR_IN_MAX)
        return -EINVAL;
    if (!memchr(text, ':', len)) {
        if (!parse_v4_strict(text, len, v4))
            return -EINVAL;
        *ret = addr_from_v4(v4);
        return 0;
    }
    if (!parse_v6(text, len, v6))
        return -EINVAL;
    *ret = addr_from_v6(v6);
    return 0;
}

static unsigned bits_before(const struct addr *a)
{
    return a->family == ADDR_V4 ? V4_BITS : 0;
}

struct addr addr_masked(const struct addr *a, unsigned bits)
{
    struct addr masked = *a;
    unsigned kept = bits + bits_before(a);

    for (unsigned i = 0; i < 16; i++) {
        unsigned in_byte = kept > 8 * i ? MIN_OF(kept - 8 * i, 8) : 0;
        masked.bytes[i] &= (uint8_t)(0xff00u >> in_byte);
    }
    return masked;
}

int addr_net_parse(const char *text, size_t len, struct addr_net *ret)
{
    const char *slash = len > 0 ? memchr(text, '/', len) : NULL;
    size_t address_len = slash ? (size_t)(slash - text) : 0;
    size_t bits_len = slash ? len - address_len - 1 : 0;
    struct addr a, masked;
    uint64_t bits = 0;
    bool six;

    if (!slash || addr_parse_strict(text, address_len, &a) < 0)
        return -EINVAL;
    six = memchr(text, ':', address_len) != NULL;
    if ((bits_len > 1 && slash[1] == '0') ||
        !read_number(slash + 1, bits_len, 10, six ? 128 : 32, &bits))
        return -EINVAL;
    if (six && a.family == ADDR_V4) {
        if (bits < V4_BITS)
            return -EINVAL; /* the bits of the mapped prefix lie behind */
        bits -= V4_BITS;
    }
    masked = addr_masked(&a, (unsigned)bits);
    if (!addr_eq(&masked, &a))
        return -EINVAL;
    *ret = (struct addr_net){ .addr = a, .bits = (uint8_t)bits };
    return 0;
}

struct addr_net addr_net_of(const struct addr *a)
{
    return (struct addr_net){ .addr = *a, .bits = a->family == ADDR_V4 ? 32 : 128 };
}

bool addr_eq(const struct addr *a, const struct addr *b)
{
    return a->family == b->family && a->zoned == b->zoned &&
           memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool addr_net_has(const struct addr_net *net, const struct addr *a)
{
    struct addr masked = addr_masked(a, net->bits);

    return addr_eq(&net->addr, &masked);
}

/* clang-format off */
#define G(g) (uint8_t)((g) >> 8), (uint8_t)((g) & 0xff)
static const struct {
    struct addr_net net;
    const char *name;
} blocked[] = {
#define BLOCKED4(a, b, c, d, length, text) \
    { { { { [10] = 0xff, 0xff, a, b, c, d }, ADDR_V4, 0 }, length }, text },
#define BLOCKED6(g0, g1, g2, g7, length, text) \
    { { { { G(g0), G(g1), G(g2), [14] = G(g7) }, ADDR_V6, 0 }, length }, text },
#include "base/addr_blocked.def"
#undef BLOCKED4
#undef BLOCKED6
};
#undef G
/* clang-format on */

const char *addr_blocked(const struct addr *a)
{
    for (size_t i = 0; i < ARRAY_LEN(blocked); i++)
        if (addr_net_has(&blocked[i].net, a))
            return blocked[i].name;
    return a->zoned ? "link-local" : NULL;
}

static char *put_number(char *out, unsigned value, unsigned base)
{
    char digits[5];
    size_t n = 0;

    do {
        digits[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0);
    while (n > 0)
        *out++ = digits[--n];
    return out;
}

static unsigned group(const struct addr *a, size_t i)
{
    return (unsigned)a->bytes[2 * i] << 8 | a->bytes[2 * i + 1];
}

/* The longest run of two or more zero groups; the first of equals. */
static void find_zeros(const struct addr *a, size_t *ret_start, size_t *ret_count)
{
    *ret_start = 8;
    *ret_count = 1;
    for (size_t i = 0, run = 0; i < 8; i++) {
        run = group(a, i) == 0 ? run + 1 : 0;
        if (run > *ret_count) {
            *ret_count = run;
            *ret_start = i + 1 - run;
        }
    }
}

size_t addr_format(const struct addr *a, char text[ADDR_TEXT_MAX])
{
    size_t zeros_at, zeros;
    char *out = text;

    if (a->family == ADDR_V4) {
        for (unsigned i = V4_OFFSET; i < 16; i++) {
            out = put_number(out, a->bytes[i], 10);
            *out++ = '.';
        }
        *--out = '\0';
        return (size_t)(out - text);
    }
    find_zeros(a, &zeros_at, &zeros);
    for (size_t i = 0; i < 8; i++) {
        if (i == zeros_at) {
            *out++ = ':';
            if (i == 0)
                *out++ = ':';
            i += zeros - 1;
            continue;
        }
        out = put_number(out, group(a, i), 16);
        if (i < 7)
            *out++ = ':';
    }
    *out = '\0';
    return (size_t)(out - text);
}
