/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: shape, escapes, foreign bytes, failure. */
#include "base/json.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

static void objects_and_arrays_get_their_commas(void **state)
{
    _buf_ struct buf b;
    struct json j;

    (void)state;
    buf_init(&b, 1000);
    json_init(&j, &b);
    json_object(&j);
    json_key(&j, "a");
    json_int(&j, -1);
    json_key(&j, "b");
    json_array(&j);
    json_uint(&j, 1);
    json_array(&j);
    json_array_end(&j);
    json_object(&j);
    json_object_end(&j);
    json_str(&j, "x");
    json_array_end(&j);
    json_key(&j, "c");
    json_object(&j);
    json_key(&j, "d");
    json_bool(&j, true);
    json_key(&j, "e");
    json_bool(&j, false);
    json_object_end(&j);
    json_key(&j, "f");
    json_null(&j);
    json_object_end(&j);
    assert_int_equal(b.failed, 0);
    assert_string_equal(
        b.data, "{\"a\":-1,\"b\":[1,[],{},\"x\"],\"c\":{\"d\":true,\"e\":false},\"f\":null}");
}

static void numbers_keep_all_their_bits(void **state)
{
    _buf_ struct buf b;
    struct json j;

    (void)state;
    buf_init(&b, 1000);
    json_init(&j, &b);
    json_array(&j);
    json_int(&j, INT64_MIN);
    json_int(&j, INT64_MAX);
    json_uint(&j, UINT64_MAX);
    json_array_end(&j);
    assert_string_equal(b.data, "[-9223372036854775808,9223372036854775807,18446744073709551615]");
}

static void a_missing_string_is_null(void **state)
{
    _buf_ struct buf b;
    struct json j;

    (void)state;
    buf_init(&b, 100);
    json_init(&j, &b);
    json_str(&j, NULL);
    assert_string_equal(b.data, "null");
}

static void strings_are_escaped(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "", "\"\"" },
        { "gr\xc3\xbc\xc3\x9f/\xf0\x9f\x98\x80", "\"gr\xc3\xbc\xc3\x9f/\xf0\x9f\x98\x80\"" },
        { "\"\\", "\"\\\"\\\\\"" },
        { "\n\t\r\b\x1b", "\"\\n\\t\\u000d\\u0008\\u001b\"" },
        { "\x7f\xc2\x9b", "\"\\u007f\\u009b\"" },
        { "\xe2\x80\xae\xe2\x80\xa8", "\"\\u202e\\u2028\"" },
        { "\xf3\xa0\x81\x81", "\"\\udb40\\udc41\"" },
        { "a\xff"
          "b\xc3",
          "\"a\xef\xbf\xbd"
          "b\xef\xbf\xbd\"" },
        { "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _buf_ struct buf b;
        struct json j;

        buf_init(&b, 1000);
        json_init(&j, &b);
        json_str(&j, cases[i].text);
        assert_string_equal(b.data, cases[i].want);
    }
}

static void strings_may_hold_nul_and_keys_are_escaped_too(void **state)
{
    _buf_ struct buf b;
    struct json j;

    (void)state;
    buf_init(&b, 100);
    json_init(&j, &b);
    json_object(&j);
    json_key(&j, "k\"\n");
    json_strn(&j, "a\0b", 3);
    json_object_end(&j);
    assert_string_equal(b.data, "{\"k\\\"\\n\":\"a\\u0000b\"}");
}

static void any_bytes_become_one_visible_utf8_line(void **state)
{
    (void)state;
    srand(13);
    for (unsigned round = 0; round < 5000; round++) {
        _buf_ struct buf b;
        struct json j;
        char bytes[32];

        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (char)(rand() % 4 ? rand() : 0x80 | rand());
        buf_init(&b, 1000);
        json_init(&j, &b);
        json_strn(&j, bytes, sizeof(bytes));
        assert_int_equal(b.failed, 0);
        for (size_t i = 0; i < b.len;) {
            uint32_t c = 0;
            size_t n = str_utf8(b.data + i, b.len - i, &c);

            assert_true(n > 0 && !str_is_invisible(c));
            i += n;
        }
    }
}

static void the_greatest_depth_works_and_one_more_fails(void **state)
{
    for (unsigned more = 0; more < 2; more++) {
        _buf_ struct buf b;
        struct json j;

        (void)state;
        buf_init(&b, 1000);
        json_init(&j, &b);
        for (unsigned i = 0; i < JSON_MAX_DEPTH + more; i++)
            json_array(&j);
        json_int(&j, 1);
        for (unsigned i = 0; i < JSON_MAX_DEPTH + more; i++)
            json_array_end(&j);
        assert_int_equal(b.failed, more ? -E2BIG : 0);
    }
}

static void a_full_buffer_stays_failed_to_the_end(void **state)
{
    _buf_ struct buf b;
    struct json j;

    (void)state;
    buf_init(&b, 10);
    json_init(&j, &b);
    json_object(&j);
    json_key(&j, "long key that does not fit");
    json_array(&j);
    json_str(&j, "x");
    json_array_end(&j);
    json_object_end(&j);
    assert_int_equal(b.failed, -E2BIG);
    assert_null(buf_take(&b));
}

static void what_is_json_already_is_put_in_as_it_is(void **state)
{
    _buf_ struct buf b;
    struct json j;

    (void)state;
    buf_init(&b, 1000);
    json_init(&j, &b);
    json_object(&j);
    json_raw(&j, "\"a\":1,\"b\":[]");
    json_key(&j, "c");
    json_raw(&j, "{}");
    json_object_end(&j);
    assert_string_equal(b.data, "{\"a\":1,\"b\":[],\"c\":{}}");
}

static void indented_json_keeps_its_meaning(void **state)
{
    static const char text[] = "{\"a\":[],\"b\":{},\"c\":[1,\"x,{\\\"y\"],\"d\":{\"e\":null}}";
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, 1000);
    json_indent(&b, text, strlen(text));
    assert_string_equal(b.data, "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n"
                                "    \"x,{\\\"y\"\n  ],\n  \"d\": {\n    \"e\": null\n  }\n}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_arrays_get_their_commas),
        cmocka_unit_test(numbers_keep_all_their_bits),
        cmocka_unit_test(a_missing_string_is_null),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(strings_may_hold_nul_and_keys_are_escaped_too),
        cmocka_unit_test(any_bytes_become_one_visible_utf8_line),
        cmocka_unit_test(the_greatest_depth_works_and_one_more_fails),
        cmocka_unit_test(a_full_buffer_stays_failed_to_the_end),
        cmocka_unit_test(what_is_json_already_is_put_in_as_it_is),
        cmocka_unit_test(indented_json_keeps_its_meaning),
    };

    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
