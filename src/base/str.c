/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text: comparisons, numbers, display, suggestions. Pure, without locale.
 *
 * Numbers come from people and from files that others wrote: the whole string has to be a number,
 * ASCII digits only, no sign, no white space, no silent wrap-around; what does not fit is refused.
 *
 * Text for display may come from the sandbox (file names, hosts): str_escape leaves nothing in it
 * that moves the cursor, hides or reorders what a person reads. It does not look for characters
 * that merely resemble others.
 */
#include "base/str.h"

#include <string.h>

#define STR_NEAREST_MAX      63 /* bytes of a word that is looked up */
#define STR_NEAREST_DISTANCE 2
#define STR_MAX_FRACTION     9 /* digits behind the point */

bool str_eq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool str_is(const char *bytes, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(bytes, name, len) == 0;
}

bool str_has_prefix(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);

    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at *s, which moves behind them. At least one; false if they do not fit. */
static bool take_digits(const char **s, uint64_t *ret)
{
    uint64_t v = 0;

    if (!is_digit(**s))
        return false;
    for (; is_digit(**s); (*s)++) {
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)(**s - '0'), &v))
            return false;
    }
    *ret = v;
    return true;
}

bool str_to_u64(const char *s, uint64_t max, uint64_t *ret)
{
    uint64_t v;

    if (!take_digits(&s, &v) || *s != '\0' || v > max)
        return false;
    *ret = v;
    return true;
}

#define UNIT_K (UINT64_C(1) << 10)
#define UNIT_M (UINT64_C(1) << 20)
#define UNIT_G (UINT64_C(1) << 30)
#define UNIT_T (UINT64_C(1) << 40)
#define UNIT_P (UINT64_C(1) << 50)

struct unit {
    const char *name;
    uint64_t factor;
};

/* "12.5UNIT" times the unit's factor, rounded down. A fraction of the factor 1 is refused. */
static bool take_scaled(const char *s, const struct unit *units, size_t count, uint64_t *ret)
{
    uint64_t whole, fraction = 0, scale = 1, v;

    if (!take_digits(&s, &whole))
        return false;
    if (*s == '.') {
        const char *digits = ++s;

        if (!take_digits(&s, &fraction) || s - digits > STR_MAX_FRACTION)
            return false;
        for (; digits < s; digits++)
            scale *= 10;
    }
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(s, units[i].name))
            continue;
        if (units[i].factor == 1 && scale != 1)
            return false;
        /* fraction < 10^9 and factor <= 2^50: too much for 64 bits only in between */
        unsigned __int128 part = (unsigned __int128)fraction * units[i].factor / scale;

        if (__builtin_mul_overflow(whole, units[i].factor, &v) ||
            __builtin_add_overflow(v, (uint64_t)part, &v))
            return false;
        *ret = v;
        return true;
    }
    return false;
}

bool str_to_size(const char *s, uint64_t *ret_bytes)
{
    static const struct unit units[] = {
        { "", 1 },        { "B", 1 },        { "k", UNIT_K }, { "K", UNIT_K },
        { "KB", UNIT_K }, { "KiB", UNIT_K }, { "m", UNIT_M }, { "M", UNIT_M },
        { "MB", UNIT_M }, { "MiB", UNIT_M }, { "g", UNIT_G }, { "G", UNIT_G },
        { "GB", UNIT_G }, { "GiB", UNIT_G }, { "t", UNIT_T }, { "T", UNIT_T },
        { "TB", UNIT_T }, { "TiB", UNIT_T }, { "p", UNIT_P }, { "P", UNIT_P },
        { "PB", UNIT_P }, { "PiB", UNIT_P },
    };

    return take_scaled(s, units, ARRAY_LEN(units), ret_bytes);
}

bool str_to_duration(const char *s, int64_t *ret_ns)
{
    static const struct unit units[] = {
        { "", (uint64_t)NSEC_PER_SEC },
        { "ms", (uint64_t)NSEC_PER_MSEC },
        { "s", (uint64_t)NSEC_PER_SEC },
        { "m", (uint64_t)NSEC_PER_SEC * 60 },
        { "h", (uint64_t)NSEC_PER_SEC * 60 * 60 },
        { "d", (uint64_t)NSEC_PER_SEC * 60 * 60 * 24 },
    };
    uint64_t ns;

    if (!take_scaled(s, units, ARRAY_LEN(units), &ns) || ns > INT64_MAX)
        return false;
    *ret_ns = (int64_t)ns;
    return true;
}

size_t str_utf8(const char *s, size_t len, uint32_t *ret_char)
{
    /* The smallest character for each length: anything below is an overlong form. */
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t n;
    uint32_t c;

    if (len == 0)
        return 0;
    c = (unsigned char)s[0];
    n = c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf8 ? 4 : 0;
    if (n == 0 || n > len)
        return 0;
    if (n > 1)
        c &= 0xffU >> (n + 1);
    for (size_t i = 1; i < n; i++) {
        unsigned char next = (unsigned char)s[i];

        if ((next & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (next & 0x3fU);
    }
    if (c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret_char = c;
    return n;
}

size_t str_put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18 & 0x7));
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

bool str_is_invisible(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        { 0x00, 0x1f },       /* control */
        { 0x7f, 0x9f },       /* delete, control */
        { 0xad, 0xad },       /* soft hyphen */
        { 0x34f, 0x34f },     /* grapheme joiner */
        { 0x61c, 0x61c },     /* Arabic letter mark */
        { 0x115f, 0x1160 },   /* Hangul fillers */
        { 0x17b4, 0x17b5 },   /* Khmer inherent vowels */
        { 0x180b, 0x180f },   /* Mongolian selectors and separator */
        { 0x200b, 0x200f },   /* zero-width, direction marks */
        { 0x2028, 0x202e },   /* line and paragraph separators, bidi embeddings and overrides */
        { 0x2060, 0x206f },   /* word joiner, invisible operators, bidi isolates, deprecated */
        { 0x3164, 0x3164 },   /* Hangul filler */
        { 0xfe00, 0xfe0f },   /* variation selectors */
        { 0xfeff, 0xfeff },   /* byte order mark */
        { 0xffa0, 0xffa0 },   /* Hangul filler */
        { 0xfff0, 0xfffb },   /* unassigned, interlinear annotation */
        { 0x1d173, 0x1d17a }, /* musical format */
        { 0xe0000, 0xe0fff }, /* tags, more variation selectors */
    };

    for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
        if (character >= ranges[i].first && character <= ranges[i].last)
            return true;
    }
    return false;
}

int str_escape(struct buf *b, const char *s, size_t len)
{
    for (size_t i = 0; i < len;) {
        uint32_t c;
        size_t n = str_utf8(s + i, len - i, &c);

        if (n == 0 || (n == 1 && str_is_invisible(c))) {
            (void)buf_printf(b, "\\x%02x", (unsigned)(unsigned char)s[i]);
            n = 1;
        } else if (str_is_invisible(c)) {
            (void)buf_printf(b, "\\u{%x}", (unsigned)c);
        } else {
            (void)buf_append(b, s + i, n);
        }
        i += n;
    }
    return b->failed;
}

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

int str_quote(struct buf *b, const char *s)
{
    (void)buf_putc(b, '\'');
    for (; *s; s++)
        (void)(*s == '\'' ? buf_puts(b, "'\\''") : buf_putc(b, *s));
    return buf_putc(b, '\'');
}

int str_word(struct buf *b, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+./:,@%=";

    return s[0] && !s[strspn(s, plain)] ? buf_puts(b, s) : str_quote(b, s);
}

/* Edits from a to b: insertions, deletions, changes, swaps of neighbours. Both are short. */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][STR_NEAREST_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];

    for (size_t j = 0; j <= m; j++)
        last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *spare = before;

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t same = fold(a[i - 1]) == fold(b[j - 1]);
            size_t best = MIN_OF(last[j], row[j - 1]) + 1;

            best = MIN_OF(best, last[j - 1] + !same);
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1]))
                best = MIN_OF(best, before[j - 2] + 1);
            row[j] = best;
        }
        before = last;
        last = row;
        row = spare;
    }
    return last[m];
}

const char *str_nearest(const char *word, const char *const *names)
{
    size_t n = strlen(word), best = STR_NEAREST_DISTANCE + 1;
    const char *nearest = NULL;

    if (n > STR_NEAREST_MAX)
        return NULL;
    for (; *names; names++) {
        size_t m = strlen(*names), distance;

        if (m > STR_NEAREST_MAX || MAX_OF(n, m) - MIN_OF(n, m) > STR_NEAREST_DISTANCE)
            continue;
        distance = edit_distance(word, n, *names, m);
        size_t letters = MAX_OF(n, m);
        if (distance < best && distance * (distance < 2 ? 2 : 3) <= letters) {
            best = distance;
            nearest = *names;
        }
    }
    return nearest;
}
