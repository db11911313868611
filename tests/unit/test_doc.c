/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents: what JSON, JSONC and YAML texts become, where everything is, and what is refused.
 * Trees are written down compactly: texts in quotes, [list], {key:value}.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/doc.h"
#include "base/str.h"

#define LEN(text) (text), sizeof(text) - 1

static void write_node(struct buf *b, const struct doc_node *node)
{
    size_t children = 0;

    switch (node->type) {
    case DOC_STRING:
        buf_printf(b, "\"%s\"", node->text);
        return;
    case DOC_BOOL:
        buf_puts(b, node->truth ? "true" : "false");
        return;
    case DOC_NUMBER:
        buf_puts(b, node->text);
        return;
    case DOC_NULL:
        buf_puts(b, "null");
        return;
    default:
        break;
    }
    buf_putc(b, node->type == DOC_LIST ? '[' : '{');
    for (const struct doc_node *child = node->first; child; child = child->next, children++) {
        buf_puts(b, children ? "," : "");
        assert_int_equal(child->key != NULL, node->type == DOC_MAP);
        if (child->key)
            buf_printf(b, "%s:", child->key);
        write_node(b, child);
    }
    assert_int_equal(children, node->count);
    buf_putc(b, node->type == DOC_LIST ? ']' : '}');
}

static void expect_tree(enum doc_format format, const char *text, size_t len, const char *tree)
{
    struct arena arena;
    struct buf b;
    struct doc doc;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    buf_init(&b, 1 << 20);
    if (doc_read(&arena, text, len, format, &doc) != 0)
        fail_msg("'%s': %s", text, doc.problems[0].what);
    write_node(&b, doc.root);
    assert_string_equal(b.data, tree);
    buf_done(&b);
    arena_done(&arena);
}

/* The first problem is at the place and says this. */
static void expect_problem(enum doc_format format, const char *text, size_t len, unsigned line,
                           unsigned column, const char *what)
{
    struct arena arena;
    struct doc doc;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    if (doc_read(&arena, text, len, format, &doc) != -EBADMSG)
        fail_msg("taken: '%s'", text);
    assert_true(doc.problem_count > 0);
    const struct doc_problem *p = &doc.problems[0];
    if (!strstr(p->what, what) || p->place.line != line || p->place.column != column)
        fail_msg("'%s': %u:%u: %s", text, p->place.line, p->place.column, p->what);
    arena_done(&arena);
}

static void json_becomes_a_tree(void **state)
{
    (void)state;
    expect_tree(DOC_JSON, LEN("{}"), "{}");
    expect_tree(DOC_JSON, LEN(" [ ] \n"), "[]");
    expect_tree(DOC_JSON, LEN("null"), "null");
    expect_tree(DOC_JSON, LEN("{\"a\":[1,-0,1.5e+3,true,false,null],\"b\":{\"c\":\"d\"}}"),
                "{a:[1,-0,1.5e+3,true,false,null],b:{c:\"d\"}}");
    expect_tree(DOC_JSON, LEN("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud83d\\ude00\""),
                "\"\"\\/\b\f\n\r\t\xc3\xa4\xf0\x9f\x98\x80\"");
    expect_tree(DOC_JSON, LEN("\"\xc3\xa4\x7f\""), "\"\xc3\xa4\x7f\"");
    expect_tree(DOC_JSON, LEN("[18446744073709551615,-9223372036854775808,1e300]"),
                "[18446744073709551615,-9223372036854775808,1e300]");
}

static void jsonc_has_comments_and_trailing_commas(void **state)
{
    (void)state;
    expect_tree(DOC_JSONC, LEN("// first\n{ /* in */ \"a\" /**/ : // x\n 1, }"), "{a:1}");
    expect_tree(DOC_JSONC, LEN("[1,[2,],]//"), "[1,[2]]");
    expect_tree(DOC_JSONC, LEN("[\"// no\", \"/* no */\"]"), "[\"// no\",\"/* no */\"]");
    expect_tree(DOC_JSONC, LEN("{} /***/"), "{}");
    expect_problem(DOC_JSONC, LEN("{}\n /* a *"), 2, 2, "a comment without its end");
    expect_problem(DOC_JSONC, LEN("{} /"), 1, 4, "begins no comment");
    expect_problem(DOC_JSONC, LEN("[,]"), 1, 2, "expected a value");
    expect_problem(DOC_JSONC, LEN("[1,,]"), 1, 4, "expected a value");
    expect_problem(DOC_JSONC, LEN("{,}"), 1, 2, "expected a key");
    expect_problem(DOC_JSONC, LEN("{\"a\":1 # x\n}"), 1, 8, "a '#'");
    expect_problem(DOC_JSONC, LEN("// nothing\n"), 2, 1, "there is nothing in it");
}

/* What readers of JSON are known to disagree about: none of it is taken, in either form. */
static const struct {
    const char *text;
    size_t len;
    unsigned line, column;
    const char *what;
} doubtful[] = {
    { LEN("{\"a\":1,\"b\":2,\n\"a\":3}"), 2, 1, "there twice" },
    { LEN("{\"a\":1,\"\\u0061\":3}"), 1, 8, "there twice" },
    { LEN("[\"\\ud800\"]"), 1, 3, "surrogate" },
    { LEN("[\"\\udc00\"]"), 1, 3, "surrogate" },
    { LEN("[\"\\ud800\\u0041\"]"), 1, 3, "surrogate" },
    { LEN("[\"\\ud800"), 1, 3, "surrogate" },
    { LEN("[\"a\xff\"]"), 1, 4, "not UTF-8" },
    { LEN("[\"\xc0\xaf\"]"), 1, 3, "not UTF-8" },
    { LEN("[\"\xed\xa0\x80\"]"), 1, 3, "not UTF-8" },
    { LEN("{\"\xff\":1}"), 1, 3, "not UTF-8" },
    { LEN("\xef\xbb\xbf{}"), 1, 1, "byte order mark" },
    { LEN("\xff\xfe{\0}\0"), 1, 1, "UTF-16" },
    { LEN("[\"a\0b\"]"), 1, 4, "NUL" },
    { LEN("{}\0"), 1, 3, "NUL" },
    { LEN("[\"\\u0000\"]"), 1, 3, "NUL" },
    { LEN("[18446744073709551616]"), 1, 2, "too large" },
    { LEN("[-9223372036854775809]"), 1, 2, "too large" },
    { LEN("[1e309]"), 1, 2, "too large" },
    { LEN("[1e99999999999999999999]"), 1, 2, "too large" },
    { LEN("['a']"), 1, 2, "expected a value" },
    { LEN("{'a':1}"), 1, 2, "expected a key" },
    { LEN("{a:1}"), 1, 2, "expected a key" },
    { LEN("[NaN]"), 1, 2, "neither a number" },
    { LEN("[-Infinity]"), 1, 2, "neither a number" },
    { LEN("[True]"), 1, 2, "neither a number" },
    { LEN("[\"a\nb\"]"), 1, 2, "closing quote" },
    { LEN("[\"a\tb\"]"), 1, 4, "control character" },
    { LEN("[\"a\x1f\"]"), 1, 4, "control character" },
    { LEN("[01]"), 1, 2, "neither a number" },
    { LEN("[-]"), 1, 2, "neither a number" },
    { LEN("[+1]"), 1, 2, "neither a number" },
    { LEN("[.5]"), 1, 2, "neither a number" },
    { LEN("[1.]"), 1, 2, "neither a number" },
    { LEN("[1e]"), 1, 2, "neither a number" },
    { LEN("[0x10]"), 1, 2, "neither a number" },
    { LEN("[1 2]"), 1, 4, "expected ','" },
    { LEN("{} {}"), 1, 4, "more text behind the end" },
    { LEN("[1]]"), 1, 4, "more text behind the end" },
    { LEN("[\"\\x41\"]"), 1, 3, "an escape" },
    { LEN("[\"\\u12g4\"]"), 1, 3, "four hexadecimal" },
    { LEN("[\"\\u12"), 1, 3, "four hexadecimal" },
    { LEN("[\"abc"), 1, 2, "closing quote" },
    { LEN("[\"abc\\"), 1, 6, "an escape" },
    { LEN("{\"a\" 1}"), 1, 6, "expected ':'" },
    { LEN("{\"a\":}"), 1, 6, "expected a value behind the key" },
    { LEN("{\"a\":1"), 1, 7, "ends too early" },
    { LEN("["), 1, 2, "ends too early" },
    { LEN("{\"a\""), 1, 5, "expected ':'" },
    { LEN(""), 1, 1, "nothing in it" },
    { LEN(" \n "), 2, 2, "nothing in it" },
    { LEN("[1\f]"), 1, 3, "expected ','" },
    { LEN("\xc2\xa0{}"), 1, 1, "expected a value" },
};

static void doubtful_json_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(doubtful); i++) {
        expect_problem(DOC_JSON, doubtful[i].text, doubtful[i].len, doubtful[i].line,
                       doubtful[i].column, doubtful[i].what);
        expect_problem(DOC_JSONC, doubtful[i].text, doubtful[i].len, doubtful[i].line,
                       doubtful[i].column, doubtful[i].what);
    }
}

static void plain_json_has_no_extras(void **state)
{
    (void)state;
    expect_problem(DOC_JSON, LEN("{} // x"), 1, 4, "a comment");
    expect_problem(DOC_JSON, LEN("/* x */ {}"), 1, 1, "a comment");
    expect_problem(DOC_JSON, LEN("[1,\n2,\n]"), 2, 2, "a comma behind the last one");
    expect_problem(DOC_JSON, LEN("{\"a\":1,}"), 1, 7, "a comma behind the last one");
}

static void every_place_is_kept(void **state)
{
    static const char json[] =
        "{\n  \"\xc3\xa4\xc3\xb6\": \"x\", \"b\":\r\n    [1,\n\t{\"c\": 2}]\n}";
    static const char yaml[] = "\xc3\xa4\xc3\xb6: x\nb:\n  - 1\n  - c: 2\n";
    static const struct {
        const char *text;
        enum doc_format format;
        unsigned places[5][2]; /* value of 1st, key of 2nd, its value, first item, key c */
    } table[] = {
        { json, DOC_JSON, { { 2, 9 }, { 2, 14 }, { 3, 5 }, { 3, 6 }, { 4, 3 } } },
        { json, DOC_JSONC, { { 2, 9 }, { 2, 14 }, { 3, 5 }, { 3, 6 }, { 4, 3 } } },
        { yaml, DOC_YAML, { { 1, 5 }, { 2, 1 }, { 3, 3 }, { 3, 5 }, { 4, 5 } } },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct arena arena;
        struct doc doc;

        arena_init(&arena, ARENA_DEFAULT_LIMIT);
        assert_int_equal(
            doc_read(&arena, table[i].text, strlen(table[i].text), table[i].format, &doc), 0);
        const struct doc_node *first = doc.root->first, *second = first->next;
        const struct doc_place places[] = { first->place, second->key_place, second->place,
                                            second->first->place,
                                            second->first->next->first->key_place };
        for (size_t j = 0; j < ARRAY_LEN(places); j++) {
            if (places[j].line != table[i].places[j][0] ||
                places[j].column != table[i].places[j][1])
                fail_msg("%zu %zu: %u:%u", i, j, places[j].line, places[j].column);
        }
        arena_done(&arena);
    }
}

static void yaml_becomes_the_same_tree(void **state)
{
    (void)state;
    expect_tree(DOC_YAML, LEN("a: [1, -2, 1.5e3, true, false, null]\nb:\n  c: d\n"),
                "{a:[1,-2,1.5e3,true,false,null],b:{c:\"d\"}}");
    expect_tree(DOC_YAML, LEN("---\n# only this\n"), "null");
    expect_tree(DOC_YAML, LEN(""), "null");
    expect_tree(DOC_YAML, LEN("# nothing"), "null");
    expect_tree(DOC_YAML, LEN("a:\nb: ~\nc: ''\n"), "{a:null,b:null,c:\"\"}");
    expect_tree(DOC_YAML, LEN("- \"\\u00e4\"\n- 'it''s'\n- |\n  x\n  y\n"),
                "[\"\xc3\xa4\",\"it's\",\"x\ny\n\"]");
    expect_tree(DOC_YAML, LEN("{\"a\": {\"b\": [1, 2]}}"), "{a:{b:[1,2]}}");
    expect_tree(DOC_YAML, LEN("true: 1\n7: 2\n"), "{true:1,7:2}");
    expect_tree(DOC_YAML, LEN("a: 1\n...\n"), "{a:1}");
}

/* Other readers see truth values, numbers or dates in these. Here they are texts. */
static void plain_yaml_words_are_texts(void **state)
{
    static const char *const words[] = { "yes",  "no",         "on",   "off",       "y",    "True",
                                         "TRUE", "Null",       "0x10", "0o17",      "017",  "1_000",
                                         "+1",   ".5",         "1.",   ".inf",      ".NaN", "12:30",
                                         "1e",   "2001-01-01", "0b1",  "10.0.0.0/8" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        char text[64], tree[64];
        snprintf(text, sizeof text, "a: %s", words[i]);
        snprintf(tree, sizeof tree, "{a:\"%s\"}", words[i]);
        expect_tree(DOC_YAML, text, strlen(text), tree);
    }
}

static void yaml_beyond_plain_data_is_refused(void **state)
{
    (void)state;
    expect_problem(DOC_YAML, LEN("a: &x 1\n"), 1, 4, "anchors (&name)");
    expect_problem(DOC_YAML, LEN("a: &x [1]\n"), 1, 4, "anchors (&name)");
    expect_problem(DOC_YAML, LEN("a: 1\nb: *x\n"), 2, 4, "aliases (*name)");
    expect_problem(DOC_YAML, LEN("a: 1\n*x : 2\n"), 2, 1, "aliases (*name)");
    expect_problem(DOC_YAML, LEN("a: !!str 1\n"), 1, 4, "tags (!name)");
    expect_problem(DOC_YAML, LEN("a: ! 1\n"), 1, 4, "tags (!name)");
    expect_problem(DOC_YAML, LEN("a: !x {b: 1}\n"), 1, 4, "tags (!name)");
    expect_problem(DOC_YAML, LEN("a:\n  <<: {b: 1}\n"), 2, 3, "merge keys (<<)");
    expect_problem(DOC_YAML, LEN("%YAML 1.1\n---\na: 1\n"), 1, 1, "directives (%)");
    expect_problem(DOC_YAML, LEN("%TAG ! tag:x,2000:\n---\na: 1\n"), 1, 1, "directives (%)");
    expect_problem(DOC_YAML, LEN("a: 1\n...\n%TAG ! x\n---\n"), 3, 1, "directives (%)");
    expect_problem(DOC_YAML, LEN("a: 1\r...\r%TAG ! x\r---\n"), 1, 10, "directives (%)");
    expect_problem(DOC_YAML, LEN("a: 1\u2028...\u2028%TAG ! x\n"), 1, 10, "directives (%)");
    expect_problem(DOC_YAML, LEN("a: 1\n---\nb: 2\n"), 2, 1, "a second document");
    expect_problem(DOC_YAML, LEN("a: 1\na: 2\n"), 2, 1, "there twice");
    expect_problem(DOC_YAML, LEN("{a: 1, 'a': 2}"), 1, 8, "there twice");
    expect_problem(DOC_YAML, LEN("? [a]\n: 1\n"), 1, 3, "a list or a map as a key");
    expect_problem(DOC_YAML, LEN("a: \"x\\0y\"\n"), 1, 4, "NUL");
    expect_problem(DOC_YAML, LEN("a: 99999999999999999999\n"), 1, 4, "too large");
    expect_problem(DOC_YAML, LEN("\xef\xbb\xbf{}"), 1, 1, "byte order mark");
    expect_problem(DOC_YAML, LEN("a: \xff"), 1, 4, "not UTF-8");
    expect_problem(DOC_YAML, LEN("a: 1\nb: x\x01y"), 2, 5, "control characters");
}

/* libyaml takes a time that grows with their square. */
static void many_yaml_directives_cost_nothing(void **state)
{
    enum { LINES = 65536, LINE = 14 };
    char *text = malloc(LINES * LINE + 1);
    struct timespec start, end;

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < LINES; i++)
        (void)snprintf(text + i * LINE, LINE + 1, "%%TAG !%04x! a\n", (unsigned)i);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    expect_problem(DOC_YAML, text, LINES * LINE, 1, 1, "directives (%)");
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    assert_true(end.tv_sec - start.tv_sec < 5);
    free(text);
}

static void broken_yaml_is_refused(void **state)
{
    (void)state;
    expect_problem(DOC_YAML, LEN("a: 1\n b: 2\n"), 2, 3, "mapping values are not allowed");
    expect_problem(DOC_YAML, LEN("a:\n\t- b\n"), 2, 1, "cannot start any token");
    expect_problem(DOC_YAML, LEN("a: [1, 2\n"), 2, 1, "did not find expected ',' or ']'");
    expect_problem(DOC_YAML, LEN("a: \"x\n"), 2, 1, "unexpected end of stream");
    expect_problem(DOC_YAML, LEN("a: @x\n"), 1, 4, "cannot start any token");
    expect_problem(DOC_YAML, LEN("a: *.com\n"), 1, 5, "did not find expected alphabetic");
}

/* A text of n times `open`, then n times `close`. */
static char *nested(const char *open, const char *close, size_t n, size_t *ret_len)
{
    size_t a = strlen(open), b = strlen(close);
    char *text = malloc(n * (a + b) + 1);

    assert_non_null(text);
    for (size_t i = 0; i < n; i++)
        memcpy(text + i * a, open, a);
    for (size_t i = 0; i < n; i++)
        memcpy(text + n * a + i * b, close, b);
    *ret_len = n * (a + b);
    text[*ret_len] = '\0';
    return text;
}

static void depth_is_limited(void **state)
{
    static const enum doc_format formats[] = { DOC_JSON, DOC_JSONC, DOC_YAML };
    struct arena arena;
    struct doc doc;
    size_t len;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        char *right = nested("[", "]", DOC_MAX_DEPTH, &len);
        arena_init(&arena, ARENA_DEFAULT_LIMIT);
        assert_int_equal(doc_read(&arena, right, len, formats[i], &doc), 0);
        arena_done(&arena);
        free(right);
        char *deep = nested("[", "]", DOC_MAX_DEPTH + 1, &len);
        expect_problem(formats[i], deep, len, 1, DOC_MAX_DEPTH + 1, "nested too deeply");
        free(deep);
        char *abyss = nested("[", "", 200000, &len);
        expect_problem(formats[i], abyss, len, 1, DOC_MAX_DEPTH + 1, "nested too deeply");
        free(abyss);
    }
    char *maps = nested("{\"a\":", "", DOC_MAX_DEPTH + 1, &len);
    expect_problem(DOC_JSON, maps, len, 1, 5 * DOC_MAX_DEPTH + 1, "nested too deeply");
    free(maps);
}

static void size_and_number_of_values_are_limited(void **state)
{
    static const enum doc_format formats[] = { DOC_JSON, DOC_YAML };
    size_t len;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        char *large = nested(" ", "", DOC_MAX_BYTES + 1, &len);
        expect_problem(formats[i], large, len, 1, 1, "longer than 1 MiB");
        free(large);
        char *many = nested("1,", "", DOC_MAX_NODES + 1, &len);
        many[0] = '[';
        many[1] = ' ';
        struct arena arena;
        struct doc doc;
        arena_init(&arena, ARENA_DEFAULT_LIMIT);
        assert_int_equal(doc_read(&arena, many, len, formats[i], &doc), -EBADMSG);
        assert_non_null(strstr(doc.problems[0].what, "more values"));
        assert_null(doc.root);
        arena_done(&arena);
        free(many);
    }
}

static void many_keys_cost_no_quadratic_time(void **state)
{
    enum { KEYS = 70000 };
    struct arena arena;
    struct doc doc;
    struct buf b;

    (void)state;
    buf_init(&b, DOC_MAX_BYTES);
    buf_putc(&b, '{');
    for (int i = 0; i < KEYS; i++)
        buf_printf(&b, "\"%06x\":1,", (unsigned)i * 7919u & 0xffffffu);
    buf_puts(&b, "\"000000\":1}");
    assert_int_equal(b.failed, 0);
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    assert_int_equal(doc_read(&arena, b.data, b.len, DOC_JSON, &doc), -EBADMSG);
    assert_int_equal(doc.problem_count, 1);
    assert_string_equal(doc.problems[0].about, "000000");
    assert_int_equal(doc.problems[0].before.column, 2);
    arena_done(&arena);
    buf_done(&b);
}

static void double_keys_are_all_told_and_the_tree_is_whole(void **state)
{
    static const char text[] = "{\"a\":1,\n\"b\":{\"c\":1,\n\"c\":2},\n\"a\":3,\n\"a\":4}";
    struct arena arena;
    struct doc doc;

    (void)state;
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    assert_int_equal(doc_read(&arena, text, strlen(text), DOC_JSON, &doc), -EBADMSG);
    assert_int_equal(doc.problem_count, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(doc.problems[i].place.line, 3 + i);
    assert_int_equal(doc.problems[2].before.line, 1);
    assert_non_null(doc.root);
    assert_int_equal(doc.root->count, 4);
    arena_done(&arena);
}

static void problems_beyond_the_room_are_counted(void **state)
{
    struct arena arena;
    struct doc doc;
    struct buf b;

    (void)state;
    buf_init(&b, DOC_MAX_BYTES);
    for (int i = 0; i <= DOC_MAX_PROBLEMS + 10; i++)
        buf_puts(&b, "a: 1\n");
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    assert_int_equal(doc_read(&arena, b.data, b.len, DOC_YAML, &doc), -EBADMSG);
    assert_int_equal(doc.problem_count, DOC_MAX_PROBLEMS + 10);
    arena_done(&arena);
    buf_done(&b);
}

static void too_little_memory_is_an_error(void **state)
{
    static const char text[] = "{\"a\": [1, 2, 3, {\"b\": \"cdefghijkl\"}], \"d\": 1}";
    static const enum doc_format formats[] = { DOC_JSON, DOC_YAML };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        int r = -ENOMEM;
        for (size_t limit = 0; r != 0; limit += 16) {
            struct arena arena;
            struct doc doc;
            arena_init(&arena, limit);
            r = doc_read(&arena, text, strlen(text), formats[i], &doc);
            assert_true(r == 0 || (r == -ENOMEM && !doc.root));
            arena_done(&arena);
        }
    }
}

static void formats_go_by_the_end_of_the_name(void **state)
{
    (void)state;
    assert_int_equal(doc_format_of_name("/a/config.json"), DOC_JSON);
    assert_int_equal(doc_format_of_name(".agentbox.jsonc"), DOC_JSONC);
    assert_int_equal(doc_format_of_name("x.yaml"), DOC_YAML);
    assert_int_equal(doc_format_of_name("x.yml"), DOC_YAML);
    assert_int_equal(doc_format_of_name("my-config"), DOC_JSONC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_becomes_a_tree),
        cmocka_unit_test(jsonc_has_comments_and_trailing_commas),
        cmocka_unit_test(doubtful_json_is_refused),
        cmocka_unit_test(plain_json_has_no_extras),
        cmocka_unit_test(every_place_is_kept),
        cmocka_unit_test(yaml_becomes_the_same_tree),
        cmocka_unit_test(plain_yaml_words_are_texts),
        cmocka_unit_test(yaml_beyond_plain_data_is_refused),
        cmocka_unit_test(many_yaml_directives_cost_nothing),
        cmocka_unit_test(broken_yaml_is_refused),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(size_and_number_of_values_are_limited),
        cmocka_unit_test(many_keys_cost_no_quadratic_time),
        cmocka_unit_test(double_keys_are_all_told_and_the_tree_is_whole),
        cmocka_unit_test(problems_beyond_the_room_are_counted),
        cmocka_unit_test(too_little_memory_is_an_error),
        cmocka_unit_test(formats_go_by_the_end_of_the_name),
    };

    return cmocka_run_group_tests_name("doc", tests, NULL, NULL);
}
