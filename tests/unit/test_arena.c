/* SPDX-License-Identifier: Apache-2.0 */
/* The arena: alignment, zeroes, ceiling, overflow, pieces that do not touch each other. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

#define UNPRINTABLE ((wint_t)0x20ac) /* %lc in the C locale: printf fails */

__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static bool all_zero(const unsigned char *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (p[i] != 0)
            return false;
    }
    return true;
}

/* Sizes around the block sizes, and both very small and very large ones in between. */
static size_t piece_size(unsigned i)
{
    static const size_t sizes[] = { 1, 16, 4000, 17, 5000, 100000, 3, 4096, 300000, 0, 2049 };

    return sizes[i % ARRAY_LEN(sizes)];
}

static void pieces_are_aligned_zeroed_and_apart(void **state)
{
    enum { PIECES = 200 };
    _arena_ struct arena a;
    unsigned char *pieces[PIECES];

    (void)state;
    arena_init(&a, ARENA_DEFAULT_LIMIT);
    for (unsigned i = 0; i < PIECES; i++) {
        size_t n = piece_size(i);

        pieces[i] = arena_alloc(&a, n, 1);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        assert_true(all_zero(pieces[i], n));
        memset(pieces[i], (int)(i + 1), n);
    }
    for (unsigned i = 0; i < PIECES; i++) {
        for (size_t k = 0; k < piece_size(i); k++)
            assert_int_equal(pieces[i][k], (unsigned char)(i + 1));
    }
}

static void an_empty_piece_is_not_null(void **state)
{
    _arena_ struct arena a;

    (void)state;
    arena_init(&a, 100);
    assert_non_null(arena_alloc(&a, 0, 8));
    assert_non_null(arena_alloc(&a, 8, 0));
}

static void nothing_is_given_beyond_the_limit(void **state)
{
    _arena_ struct arena a;

    (void)state;
    arena_init(&a, 64);
    assert_non_null(arena_alloc(&a, 1, 48));
    assert_null(arena_alloc(&a, 1, 17));
    assert_non_null(arena_alloc(&a, 1, 16));
    assert_null(arena_alloc(&a, 1, 1));
    assert_int_equal(a.used, 64);
}

static void a_zeroed_arena_gives_nothing_and_can_be_done(void **state)
{
    struct arena a = { 0 };

    (void)state;
    assert_null(arena_alloc(&a, 1, 1));
    arena_done(&a);
    arena_done(&a);
}

static void a_product_that_overflows_is_refused(void **state)
{
    _arena_ struct arena a;
    volatile size_t half = SIZE_MAX / 2 + 1, all = SIZE_MAX;

    (void)state;
    arena_init(&a, SIZE_MAX);
    assert_null(arena_alloc(&a, half, 2));
    assert_null(arena_alloc(&a, 2, half));
    assert_null(arena_alloc(&a, all, 1));
    assert_null(arena_alloc(&a, all - 16, 1));
    assert_null(arena_strndup(&a, "x", all));
    assert_int_equal(a.used, 0);
}

static void running_out_of_memory_gives_null_and_the_arena_lives_on(void **state)
{
    _arena_ struct arena a;
    volatile size_t much = SIZE_MAX / 4;

    (void)state;
    arena_init(&a, SIZE_MAX);
    assert_null(arena_alloc(&a, much, 1));
    assert_string_equal(arena_strdup(&a, "still here"), "still here");
}

static void strings_are_copied_with_their_length(void **state)
{
    _arena_ struct arena a;
    char text[] = "abcdef";
    char *whole, *part;

    (void)state;
    arena_init(&a, 1000);
    whole = arena_strdup(&a, text);
    part = arena_strndup(&a, text, 3);
    text[0] = 'X';
    assert_string_equal(whole, "abcdef");
    assert_string_equal(part, "abc");
    assert_string_equal(arena_strndup(&a, NULL, 0), "");
}

static void printf_makes_texts_of_any_length(void **state)
{
    _arena_ struct arena a;

    (void)state;
    arena_init(&a, 20000);
    assert_string_equal(arena_printf(&a, "%s-%d", "x", 7), "x-7");
    assert_int_equal(strlen(arena_printf(&a, "%*d", 10000, 1)), 10000);
    assert_null(arena_printf(&a, "%*d", 20000, 1));
    assert_null(arena_printf(&a, "%lc", UNPRINTABLE));
}

/* A text is tried in place first: whatever became of that, what comes next is zeroed and apart. */
static void joined_texts_are_whole_or_not_there(void **state)
{
    _arena_ struct arena a;
    char long_text[4096];

    (void)state;
    arena_init(&a, 8192);
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    assert_string_equal(arena_join(&a, "/dir", "/", "name"), "/dir/name");
    assert_string_equal(arena_join(&a, "", "", ""), "");
    char *text = arena_join(&a, long_text, "=", "end"); /* more than is left of the first block */
    assert_int_equal(strlen(text), sizeof long_text - 1 + 4);
    assert_string_equal(text + sizeof long_text - 1, "=end");
    assert_null(arena_join(&a, long_text, "", "")); /* beyond the limit */
    assert_string_equal(arena_join(&a, "a", "b", "c"), "abc");
}

static void printf_at_every_distance_from_the_end_of_a_block(void **state)
{
    (void)state;

    for (size_t used = 3900; used < 4200; used++) {
        _arena_ struct arena a;
        char expected[200];

        arena_init(&a, 100000);
        assert_non_null(arena_alloc(&a, used, 1));
        (void)snprintf(expected, sizeof expected, "%0150d", 7);
        char *text = arena_printf(&a, "%0150d", 7);
        const unsigned char *next = arena_alloc(&a, 64, 1);
        assert_string_equal(text, expected);
        assert_true(all_zero(next, 64));
        assert_string_equal(text, expected);
    }
}

static void a_large_piece_does_not_waste_the_block_in_use(void **state)
{
    _arena_ struct arena a;
    char *first, *second;

    (void)state;
    arena_init(&a, ARENA_DEFAULT_LIMIT);
    first = arena_alloc(&a, 1, 16);
    assert_non_null(arena_alloc(&a, 1, 100000));
    second = arena_alloc(&a, 1, 16);
    assert_ptr_equal(second, first + 16);
}

static void a_list_grows_and_keeps_what_it_has(void **state)
{
    struct arena a;
    unsigned *list = NULL;
    size_t room = 0;

    (void)state;
    arena_init(&a, 1024);
    for (unsigned i = 0; i < 40; i++) {
        list = arena_grow(&a, list, i, sizeof *list, 3, &room);
        assert_non_null(list);
        assert_true(room > i);
        list[i] = i;
    }
    for (unsigned i = 0; i < 40; i++)
        assert_int_equal(list[i], i);
    assert_int_equal(room, 48);
    assert_null(arena_grow(&a, list, room, SIZE_MAX / 4, 3, &room));
    assert_int_equal(room, 48);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_grows_and_keeps_what_it_has),
        cmocka_unit_test(pieces_are_aligned_zeroed_and_apart),
        cmocka_unit_test(an_empty_piece_is_not_null),
        cmocka_unit_test(nothing_is_given_beyond_the_limit),
        cmocka_unit_test(a_zeroed_arena_gives_nothing_and_can_be_done),
        cmocka_unit_test(a_product_that_overflows_is_refused),
        cmocka_unit_test(running_out_of_memory_gives_null_and_the_arena_lives_on),
        cmocka_unit_test(strings_are_copied_with_their_length),
        cmocka_unit_test(printf_makes_texts_of_any_length),
        cmocka_unit_test(joined_texts_are_whole_or_not_there),
        cmocka_unit_test(printf_at_every_distance_from_the_end_of_a_block),
        cmocka_unit_test(a_large_piece_does_not_waste_the_block_in_use),
    };

    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
