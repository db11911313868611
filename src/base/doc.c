/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents: what the readers of JSON and YAML share.
 *
 * Nothing about the text is trusted. Before a reader sees it, it is at most DOC_MAX_BYTES of UTF-8
 * without a NUL and without a byte order mark, so that readers may take bytes for characters. Keys
 * that a map has twice are found by sorting, so that a map of many keys costs no more than its size
 * deserves. Numbers stay text: which of them fit is for the one who knows what they mean, but those
 * that no common program could read back are refused here.
 *
 * Problems are collected and put in the order of their places. The first DOC_MAX_PROBLEMS are kept,
 * the others counted.
 */
#include "base/doc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/doc_build.h"
#include "base/str.h"

#define MAX_MAGNITUDE 307 /* powers of ten; a double ends behind 1.7e308 */

enum doc_format doc_format_of_name(const char *name)
{
    if (str_has_suffix(name, ".yaml") || str_has_suffix(name, ".yml"))
        return DOC_YAML;
    return str_has_suffix(name, ".json") ? DOC_JSON : DOC_JSONC;
}

struct doc_problem *doc_note(struct doc_builder *b, struct doc_place place, const char *what,
                             const char *hint)
{
    size_t n = b->doc->problem_count++;

    if (n >= DOC_MAX_PROBLEMS)
        return NULL;
    b->doc->problems[n] = (struct doc_problem){ .place = place, .what = what, .hint = hint };
    return &b->doc->problems[n];
}

int doc_stop(struct doc_builder *b, struct doc_place place, const char *what, const char *hint)
{
    if (b->failed)
        return b->failed;
    (void)doc_note(b, place, what, hint);
    b->failed = -EBADMSG;
    return b->failed;
}

int doc_nomem(struct doc_builder *b)
{
    b->failed = -ENOMEM;
    return b->failed;
}

struct doc_node *doc_add(struct doc_builder *b, struct doc_node ***tail, enum doc_type type,
                         struct doc_place place)
{
    if (b->nodes >= DOC_MAX_NODES) {
        (void)doc_stop(b, place, "more values than a configuration may have", NULL);
        return NULL;
    }
    struct doc_node *node = arena_alloc(b->arena, 1, sizeof *node);
    if (!node) {
        (void)doc_nomem(b);
        return NULL;
    }
    b->nodes++;
    node->type = type;
    node->place = place;
    **tail = node;
    *tail = &node->next;
    return node;
}

static int compare_places(struct doc_place a, struct doc_place b)
{
    if (a.line != b.line)
        return a.line < b.line ? -1 : 1;
    return a.column < b.column ? -1 : a.column > b.column;
}

struct member {
    const struct doc_node *node;
};

static int compare_members(const void *a, const void *b)
{
    const struct member *left = a, *right = b;
    int order = strcmp(left->node->key, right->node->key);

    return order ? order : compare_places(left->node->key_place, right->node->key_place);
}

void doc_check_keys(struct doc_builder *b, const struct doc_node *map)
{
    if (map->count < 2)
        return;
    struct member *members = calloc(map->count, sizeof *members);
    size_t n = 0;

    if (!members) {
        (void)doc_nomem(b);
        return;
    }
    for (const struct doc_node *node = map->first; node; node = node->next)
        members[n++].node = node;
    qsort(members, n, sizeof *members, compare_members);
    for (size_t i = 1, first = 0; i < n; i++) {
        const struct doc_node *before = members[first].node, *node = members[i].node;
        if (!str_eq(before->key, node->key)) {
            first = i;
            continue;
        }
        struct doc_problem *p = doc_note(b, node->key_place, "the key is there twice",
                                         "keep one of the two");
        if (p) {
            p->about = node->key;
            p->before = before->key_place;
        }
    }
    free(members);
}

static size_t count_digits(const char *s, size_t len)
{
    size_t n = 0;

    while (n < len && s[n] >= '0' && s[n] <= '9')
        n++;
    return n;
}

/* The digits, at most a few thousand; more is more than any limit anyway. */
static int64_t small_number(const char *s, size_t digits)
{
    int64_t v = 0;

    for (size_t i = 0; i < digits && v < 100000; i++)
        v = v * 10 + (s[i] - '0');
    return v;
}

static bool integer_fits(const char *s, size_t digits, bool negative)
{
    uint64_t v = 0;

    for (size_t i = 0; i < digits; i++)
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
            return false;
    return !negative || v <= (uint64_t)INT64_MAX + 1;
}

enum doc_number doc_check_number(const char *s, size_t len)
{
    bool negative = len > 0 && s[0] == '-', real = false;
    size_t at = negative, whole = count_digits(s + at, len - at), n;
    const char *digits = s + at;
    int64_t magnitude = (int64_t)whole;

    if (whole == 0 || (whole > 1 && digits[0] == '0'))
        return DOC_NUMBER_NONE;
    at += whole;
    if (at < len && s[at] == '.') {
        real = true;
        n = count_digits(s + at + 1, len - at - 1);
        if (n == 0)
            return DOC_NUMBER_NONE;
        at += 1 + n;
    }
    if (at < len && (s[at] == 'e' || s[at] == 'E')) {
        real = true;
        at++;
        bool minus = at < len && s[at] == '-';
        at += at < len && (s[at] == '-' || s[at] == '+');
        n = count_digits(s + at, len - at);
        if (n == 0)
            return DOC_NUMBER_NONE;
        magnitude += minus ? -small_number(s + at, n) : small_number(s + at, n);
        at += n;
    }
    if (at != len)
        return DOC_NUMBER_NONE;
    if (real ? magnitude > MAX_MAGNITUDE : !integer_fits(digits, whole, negative))
        return DOC_NUMBER_TOO_LARGE;
    return DOC_NUMBER_OK;
}

/* Sets the place to the first byte that may not be there. */
static const char *find_bad_byte(const char *text, size_t len, struct doc_place *place)
{
    *place = (struct doc_place){ 1, 1 };
    for (size_t i = 0; i < len;) {
        uint32_t c = 0;
        size_t n = str_utf8(text + i, len - i, &c);

        if (n == 0)
            return "this byte is not UTF-8";
        if (c == 0)
            return "a NUL byte";
        place->column++;
        if (c == '\n')
            *place = (struct doc_place){ place->line + 1, 1 };
        i += n;
    }
    return NULL;
}

static void check_bytes(struct doc_builder *b, const char *text, size_t len)
{
    const struct doc_place start = { 1, 1 };
    struct doc_place place;

    if (len > DOC_MAX_BYTES) {
        (void)doc_stop(b, start, "the text is longer than 1 MiB", NULL);
        return;
    }
    if (len >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
        (void)doc_stop(b, start, "the text is UTF-16", "save it as UTF-8");
        return;
    }
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        (void)doc_stop(b, start, "the text begins with a byte order mark",
                       "save it as UTF-8 without one");
        return;
    }
    const char *what = find_bad_byte(text, len, &place);
    if (what)
        (void)doc_stop(b, place, what, "save the file as UTF-8 text");
}

static int compare_problems(const void *a, const void *b)
{
    const struct doc_problem *left = a, *right = b;

    return compare_places(left->place, right->place);
}

int doc_read(struct arena *arena, const char *text, size_t len, enum doc_format format,
             struct doc *ret)
{
    struct doc_builder b = { .arena = arena, .doc = ret };

    *ret = (struct doc){ 0 };
    check_bytes(&b, text, len);
    if (!b.failed && format == DOC_YAML)
        yaml_read(&b, text, len);
    else if (!b.failed)
        json_read(&b, text, len, format == DOC_JSONC);
    if (b.failed)
        ret->root = NULL;
    if (b.failed == -ENOMEM)
        return -ENOMEM;
    if (ret->problem_count == 0)
        return 0;
    qsort(ret->problems, MIN_OF(ret->problem_count, DOC_MAX_PROBLEMS), sizeof(ret->problems[0]),
          compare_problems);
    return -EBADMSG;
}
