/* SPDX-License-Identifier: Apache-2.0 */
/* Text: numbers, sizes, durations, display of hostile bytes, suggestions. */
#include "base/str.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void prefix_and_suffix_are_compared_whole(void **state)
{
    (void)state;
    assert_true(str_eq("a", "a"));
    assert_false(str_eq("a", "ab"));
    assert_true(str_has_prefix("--rw", "--"));
    assert_true(str_has_prefix("", ""));
    assert_false(str_has_prefix("-", "--"));
    assert_true(str_has_suffix("a.json", ".json"));
    assert_true(str_has_suffix(".json", ".json"));
    assert_false(str_has_suffix("json", ".json"));
}

static void numbers_are_decimal_and_whole(void **state)
{
    static const char *const bad[] = { "",
                                       " ",
                                       "1 ",
                                       " 1",
                                       "+1",
                                       "-1",
                                       "-0",
                                       "0x10",
                                       "1e3",
                                       "1.0",
                                       "1,000",
                                       "a",
                                       "1a",
                                       "\xd9\xa1",
                                       "18446744073709551616",
                                       "99999999999999999999999999999999" };
    uint64_t v = 0;

    (void)state;
    assert_true(str_to_u64("0", 0, &v) && v == 0);
    assert_true(str_to_u64("007", 10, &v) && v == 7);
    assert_true(str_to_u64("18446744073709551615", UINT64_MAX, &v) && v == UINT64_MAX);
    v = 42;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(str_to_u64(bad[i], UINT64_MAX, &v));
    assert_int_equal(v, 42);
}

static void numbers_above_the_maximum_are_refused(void **state)
{
    uint64_t v = 0;

    (void)state;
    assert_true(str_to_u64("65535", 65535, &v) && v == 65535);
    assert_false(str_to_u64("65536", 65535, &v));
    assert_false(str_to_u64("1", 0, &v));
}

static void sizes_are_binary_multiples(void **state)
{
    static const struct {
        const char *text;
        uint64_t want;
    } cases[] = {
        { "0", 0 },
        { "512", 512 },
        { "512B", 512 },
        { "64K", 64 << 10 },
        { "64k", 64 << 10 },
        { "1KB", 1024 },
        { "10MiB", 10 << 20 },
        { "2G", UINT64_C(2) << 30 },
        { "1.5G", UINT64_C(3) << 29 },
        { "0.5K", 512 },
        { "1.000000001G", (UINT64_C(1) << 30) + 1 },
        { "0.3K", 307 },
        { "1TB", UINT64_C(1) << 40 },
        { "16383P", UINT64_C(16383) << 50 },
        { "16383.999999999P", (UINT64_C(16383) << 50) + UINT64_C(1125899905716724) },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t v = 0;

        assert_true(str_to_size(cases[i].text, &v));
        assert_int_equal(v, cases[i].want);
    }
}

static void malformed_or_too_large_sizes_are_refused(void **state)
{
    static const char *const bad[] = { "",
                                       "K",
                                       "1.5",
                                       "1.5B",
                                       ".5G",
                                       "1.G",
                                       "1..5G",
                                       "-1K",
                                       "1 K",
                                       "1K ",
                                       "1KK",
                                       "1Ki",
                                       "1kib",
                                       "1E",
                                       "1X",
                                       "1.5.5G",
                                       "0x1K",
                                       "1.0000000001G",
                                       "16384P",
                                       "18446744073709551616",
                                       "18446744073709551615K" };
    uint64_t v = 42;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(str_to_size(bad[i], &v));
    assert_int_equal(v, 42);
}

static void durations_have_units_and_bare_numbers_are_seconds(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } cases[] = {
        { "0", 0 },
        { "30", 30 * NSEC_PER_SEC },
        { "30s", 30 * NSEC_PER_SEC },
        { "500ms", 500 * NSEC_PER_MSEC },
        { "1.5s", 1500 * NSEC_PER_MSEC },
        { "1.5", 1500 * NSEC_PER_MSEC },
        { "0.001ms", 1000 },
        { "2m", 120 * NSEC_PER_SEC },
        { "1h", 3600 * NSEC_PER_SEC },
        { "1d", 86400 * NSEC_PER_SEC },
        { "9223372036", INT64_C(9223372036) * NSEC_PER_SEC },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v = -1;

        assert_true(str_to_duration(cases[i].text, &v));
        assert_int_equal(v, cases[i].want);
    }
}

static void malformed_or_too_long_durations_are_refused(void **state)
{
    static const char *const bad[] = {
        "",    "s",   "-1s",  "1 s",        "1S",      "1sec", "1.s",
        ".5s", "1us", "1m1s", "9223372037", "106752d", "inf",  "99999999999999999999h"
    };
    int64_t v = 42;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(str_to_duration(bad[i], &v));
    assert_int_equal(v, 42);
}

static void utf8_is_decoded_and_malformed_sequences_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t want;
        uint32_t character;
    } cases[] = {
        { "a", 1, 'a' },
        { "\xc2\x80", 2, 0x80 },
        { "\xdf\xbf", 2, 0x7ff },
        { "\xe0\xa0\x80", 3, 0x800 },
        { "\xef\xbf\xbf", 3, 0xffff },
        { "\xf0\x90\x80\x80", 4, 0x10000 },
        { "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
        { "", 0, 0 },
        { "\x80", 0, 0 },             /* continuation alone */
        { "\xc0\x80", 0, 0 },         /* overlong */
        { "\xc1\xbf", 0, 0 },         /* overlong */
        { "\xe0\x9f\xbf", 0, 0 },     /* overlong */
        { "\xf0\x8f\xbf\xbf", 0, 0 }, /* overlong */
        { "\xed\xa0\x80", 0, 0 },     /* surrogate */
        { "\xed\xbf\xbf", 0, 0 },     /* surrogate */
        { "\xf4\x90\x80\x80", 0, 0 }, /* above the last character */
        { "\xf8\x88\x80\x80", 0, 0 }, /* five bytes */
        { "\xff", 0, 0 },
        { "\xe2\x82", 0, 0 }, /* cut */
        { "\xe2\x82x", 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint32_t c = 0;

        assert_int_equal(str_utf8(cases[i].bytes, strlen(cases[i].bytes), &c), cases[i].want);
        assert_int_equal(c, cases[i].character);
    }
}

static void escape_shows_what_is_hidden_and_leaves_the_rest(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "plain /path with spaces", "plain /path with spaces" },
        { "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
          "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80" },
        { "back\\slash", "back\\slash" },
        { "a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd" },
        { "\x1b[31mred", "\\x1b[31mred" },
        { "\x7f", "\\x7f" },
        { "\xc2\x9b"
          "31m",
          "\\u{9b}31m" },
        { "\xe2\x80\xaegpj.exe", "\\u{202e}gpj.exe" },
        { "\xe2\x81\xa6", "\\u{2066}" },
        { "\xd8\x9c", "\\u{61c}" },
        { "a\xe2\x80\x8b"
          "b",
          "a\\u{200b}b" },
        { "\xef\xbb\xbf", "\\u{feff}" },
        { "\xe2\x80\xa8", "\\u{2028}" },
        { "\xf3\xa0\x81\x81", "\\u{e0041}" },
        { "\xff\xfe", "\\xff\\xfe" },
        { "\xc3", "\\xc3" },
        { "\xed\xa0\x80", "\\xed\\xa0\\x80" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _buf_ struct buf b;

        buf_init(&b, 1000);
        assert_int_equal(str_escape(&b, cases[i].text, strlen(cases[i].text)), 0);
        assert_string_equal(b.data, cases[i].want);
    }
}

static void escape_takes_a_length_and_shows_nul(void **state)
{
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_int_equal(str_escape(&b, "a\0bXX", 3), 0);
    assert_string_equal(b.data, "a\\x00b");
}

static void quoted_text_is_one_word_of_a_shell(void **state)
{
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_int_equal(str_quote(&b, "it's $(x)"), 0);
    assert_string_equal(b.data, "'it'\\''s $(x)'");
}

static void escape_of_any_bytes_is_visible_utf8_and_stable(void **state)
{
    (void)state;
    srand(11);
    for (unsigned round = 0; round < 5000; round++) {
        _buf_ struct buf once, twice;
        char bytes[32];

        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (char)(rand() % 4 ? rand() : 0x80 | rand());
        buf_init(&once, 1000);
        buf_init(&twice, 1000);
        assert_int_equal(str_escape(&once, bytes, sizeof(bytes)), 0);
        assert_int_equal(str_escape(&twice, once.data, once.len), 0);
        assert_string_equal(once.data, twice.data);
        for (size_t i = 0; i < once.len;) {
            uint32_t c = 0;
            size_t n = str_utf8(once.data + i, once.len - i, &c);

            assert_true(n > 0 && !str_is_invisible(c));
            i += n;
        }
    }
}

static void escape_reports_a_full_buffer(void **state)
{
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, 5);
    assert_int_equal(str_escape(&b, "abc\n", 4), -E2BIG);
}

static void nearest_finds_small_mistakes(void **state)
{
    static const char *const names[] = { "filesystem.rw", "network",         "networks", "ro", "rw",
                                         "timeout",       "allowAllSockets", NULL };
    static const struct {
        const char *word, *want;
    } cases[] = {
        { "netwrok", "network" },
        { "networ", "network" },
        { "Network", "network" },
        { "NETWORK", "network" },
        { "timeuot", "timeout" },
        { "time-out", "timeout" },
        { "tmeot", "timeout" },
        { "or", "ro" },
        { "rx", "ro" },
        { "allowallsockets", "allowAllSockets" },
        { "filesystem.wr", "filesystem.rw" },
        { "networks", "networks" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(str_nearest(cases[i].word, names), cases[i].want);
}

static void nearest_does_not_guess_wildly(void **state)
{
    static const char *const names[] = { "network", "rw", "timeout", NULL };
    static const char *const none[] = { NULL };
    static const char *const words[] = {
        "", "x", "abc", "net", "frwb", "timeoutout", "completely different"
    };
    char word[5000];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_null(str_nearest(words[i], names));
    memset(word, 'a', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    assert_null(str_nearest(word, names));
    assert_null(str_nearest("network", none));
}

static void words_are_quoted_where_a_shell_would_see_more(void **state)
{
    static const struct {
        const char *word, *expected;
    } table[] = {
        { "make", "make" },
        { "--ro=a/b.c:1,2", "--ro=a/b.c:1,2" },
        { "", "''" },
        { "a b", "'a b'" },
        { "it's", "'it'\\''s'" },
        { "~", "'~'" },
        { "$(x)", "'$(x)'" },
        { "a\nb", "'a\nb'" },
        { "*", "'*'" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _buf_ struct buf b = { .limit = 100 };
        assert_int_equal(str_word(&b, table[i].word), 0);
        assert_string_equal(b.data, table[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_quoted_where_a_shell_would_see_more),
        cmocka_unit_test(prefix_and_suffix_are_compared_whole),
        cmocka_unit_test(numbers_are_decimal_and_whole),
        cmocka_unit_test(numbers_above_the_maximum_are_refused),
        cmocka_unit_test(sizes_are_binary_multiples),
        cmocka_unit_test(malformed_or_too_large_sizes_are_refused),
        cmocka_unit_test(durations_have_units_and_bare_numbers_are_seconds),
        cmocka_unit_test(malformed_or_too_long_durations_are_refused),
        cmocka_unit_test(utf8_is_decoded_and_malformed_sequences_are_refused),
        cmocka_unit_test(escape_shows_what_is_hidden_and_leaves_the_rest),
        cmocka_unit_test(escape_takes_a_length_and_shows_nul),
        cmocka_unit_test(quoted_text_is_one_word_of_a_shell),
        cmocka_unit_test(escape_of_any_bytes_is_visible_utf8_and_stable),
        cmocka_unit_test(escape_reports_a_full_buffer),
        cmocka_unit_test(nearest_finds_small_mistakes),
        cmocka_unit_test(nearest_does_not_guess_wildly),
    };

    return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
