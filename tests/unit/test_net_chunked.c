/* SPDX-License-Identifier: Apache-2.0 */
/* Chunked bodies: what they hold, where they end, what is refused; in pieces of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/http1.h"

/* Feeds `step` bytes at a time; what the body is goes to out. */
static enum http1_chunks_step decode(const char *in, size_t len, size_t step, char *out,
                                     size_t *ret_used)
{
    struct http1_chunks k = { 0 };
    enum http1_chunks_step got = HTTP1_CHUNKS_MORE;
    size_t at = 0;

    *out = '\0';
    while (at < len && got != HTTP1_CHUNKS_END && got != HTTP1_CHUNKS_BAD) {
        size_t used = 0;
        struct span data = { NULL, 0 };
        got = http1_chunks_next(&k, in + at, len - at < step ? len - at : step, &used, &data);
        if (got == HTTP1_CHUNKS_DATA)
            strncat(out, data.at, data.len);
        at += used;
    }
    *ret_used = at;
    return got;
}

static void bodies_are_read_in_any_pieces(void **state)
{
    static const struct {
        const char *in, *body, *rest;
    } table[] = {
        { "0\r\n\r\n", "", "" },
        { "5\r\nhello\r\n0\r\n\r\nGET", "hello", "GET" },
        { "5;a=b;c=\"d\"\r\nhello\r\n1 ;x\r\n", NULL, NULL },
        { "5;a=b\r\nhello\r\n001\r\n!\r\n0;x\r\n\r\n", "hello!", "" },
        { "A\r\n0123456789\r\n0000000\r\nX: y\r\nZ:\r\n\r\n\r\n", "0123456789", "\r\n" },
        { "2\r\n\r\n\r\n0\r\n\r\n", "\r\n", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        for (size_t step = 1; step < 40; step++) {
            char out[64];
            size_t used;
            enum http1_chunks_step got = decode(table[i].in, strlen(table[i].in), step, out, &used);

            assert_int_equal(got, table[i].body ? HTTP1_CHUNKS_END : HTTP1_CHUNKS_BAD);
            if (!table[i].body)
                continue;
            assert_string_equal(out, table[i].body);
            assert_string_equal(table[i].in + used, table[i].rest);
        }
    }
}

static void everything_else_is_bad(void **state)
{
    static const char *const table[] = {
        "\r\n",
        ";x\r\n",
        " 5\r\nhello",
        "5 \r\nhello",
        "5\nhello",
        "5\r\r\n",
        "5\rhello",
        "0x5\r\n",
        "+5\r\n",
        "-1\r\n",
        "g\r\n",
        "5\r\nhellox",
        "5\r\nhello\n",
        "5\r\nhello\rx",
        "5;a\nb\r\n",
        "5;\x01\r\n",
        "1234567890123456\r\n",
        "0000000000000000\r\n",
        "0\r\n X: y\r\n",
        "0\r\nX y: z\r\n",
        "0\r\nX\r\n",
        "0\r\n: y\r\n",
        "0\r\nX: y\n\r\n",
        "0\r\nX: y\rz",
        "0\r\nX: \x7f\r\n",
        "0\r\n\rx",
        "0\r\n\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char out[64];
        size_t used;
        if (decode(table[i], strlen(table[i]), 1, out, &used) != HTTP1_CHUNKS_BAD)
            fail_msg("row %zu: %s", i, table[i]);
    }
}

static void bad_and_end_stay(void **state)
{
    struct http1_chunks bad = { 0 }, end = { 0 };
    struct span data;
    size_t used;

    (void)state;
    assert_int_equal(http1_chunks_next(&bad, "x", 1, &used, &data), HTTP1_CHUNKS_BAD);
    assert_int_equal(http1_chunks_next(&bad, "0\r\n\r\n", 5, &used, &data), HTTP1_CHUNKS_BAD);
    assert_int_equal(used, 0);
    assert_int_equal(http1_chunks_next(&end, "0\r\n\r\n", 5, &used, &data), HTTP1_CHUNKS_END);
    assert_int_equal(http1_chunks_next(&end, "5\r\n", 3, &used, &data), HTTP1_CHUNKS_END);
    assert_int_equal(used, 0);
}

static void sizes_of_any_magnitude_are_counted(void **state)
{
    struct http1_chunks k = { 0 };
    struct span data;
    size_t used;

    (void)state;
    assert_int_equal(http1_chunks_next(&k, "fffffffffffffff\r\n", 17, &used, &data),
                     HTTP1_CHUNKS_MORE);
    assert_true(k.left == UINT64_C(0xfffffffffffffff));
}

static enum http1_chunks_step repeat(const char *start, const char *unit, size_t times)
{
    struct http1_chunks k = { 0 };
    enum http1_chunks_step got;
    struct span data;
    size_t used;

    got = http1_chunks_next(&k, start, strlen(start), &used, &data);
    for (size_t i = 0; i < times && got == HTTP1_CHUNKS_MORE; i++)
        got = http1_chunks_next(&k, unit, strlen(unit), &used, &data);
    return got;
}

static void lines_are_limited(void **state)
{
    (void)state;
    assert_int_equal(repeat("5;", "x", HTTP1_CHUNK_LINE - 3), HTTP1_CHUNKS_MORE);
    assert_int_equal(repeat("5;", "x", HTTP1_CHUNK_LINE), HTTP1_CHUNKS_BAD);
    assert_int_equal(repeat("0\r\n", "X: y\r\n", HTTP1_HEADERS_MAX), HTTP1_CHUNKS_MORE);
    assert_int_equal(repeat("0\r\n", "X: y\r\n", HTTP1_HEADERS_MAX + 1), HTTP1_CHUNKS_BAD);
    assert_int_equal(repeat("0\r\nX: ", "y", HTTP1_TRAILERS_MAX), HTTP1_CHUNKS_BAD);
}

static void heads_of_chunks_are_read_back(void **state)
{
    static const size_t sizes[] = { 1, 15, 16, 4096, 65535, 1 << 20 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char head[HTTP1_CHUNK_HEAD];
        struct http1_chunks k = { 0 };
        size_t len = http1_chunk_head(sizes[i], head), used;
        struct span data;

        assert_int_equal(len, strlen(head));
        assert_int_equal(http1_chunks_next(&k, head, len, &used, &data), HTTP1_CHUNKS_MORE);
        assert_int_equal(k.left, sizes[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_read_in_any_pieces),
        cmocka_unit_test(everything_else_is_bad),
        cmocka_unit_test(bad_and_end_stay),
        cmocka_unit_test(sizes_of_any_magnitude_are_counted),
        cmocka_unit_test(lines_are_limited),
        cmocka_unit_test(heads_of_chunks_are_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
