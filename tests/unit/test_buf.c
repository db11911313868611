/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The growing buffer: contents, ceiling, what a failure leaves behind. Memory is made to run out by
 * asking for more than any machine has; under AddressSanitizer that must give NULL, not a report.
 */
#include "base/buf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

static void appended_bytes_are_kept_in_order_and_terminated(void **state)
{
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, 1000);
    assert_int_equal(buf_puts(&b, "one"), 0);
    assert_int_equal(buf_putc(&b, '\0'), 0);
    assert_int_equal(buf_append(&b, "two", 3), 0);
    assert_int_equal(buf_printf(&b, "%d%s", 3, "four"), 0);
    assert_int_equal(b.len, 12);
    assert_memory_equal(b.data, "one\0two3four", 13);
}

static void growing_byte_by_byte_keeps_every_byte(void **state)
{
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, 100000);
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal(buf_putc(&b, (char)('a' + i % 26)), 0);
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal(b.data[i], 'a' + i % 26);
    assert_int_equal(b.data[b.len], '\0');
}

static void the_limit_is_reached_exactly_and_not_passed(void **state)
{
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, 5);
    assert_int_equal(buf_puts(&b, "12345"), 0);
    assert_true(b.cap <= 6);
    assert_int_equal(buf_putc(&b, '6'), -E2BIG);
    assert_int_equal(b.failed, -E2BIG);
    assert_string_equal(b.data, "12345");
}

static void a_limit_of_zero_holds_nothing(void **state)
{
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, 0);
    assert_int_equal(buf_append(&b, NULL, 0), 0);
    assert_string_equal(b.data, "");
    assert_int_equal(buf_putc(&b, 'x'), -E2BIG);
}

static void a_failed_buffer_takes_nothing_more(void **state)
{
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, 5);
    (void)buf_puts(&b, "123");
    assert_int_equal(buf_puts(&b, "456"), -E2BIG);
    assert_int_equal(buf_putc(&b, '4'), -E2BIG);
    assert_int_equal(buf_printf(&b, "%d", 4), -E2BIG);
    assert_int_equal(b.len, 3);
    assert_string_equal(b.data, "123");
    assert_null(buf_take(&b));
}

static void running_out_of_memory_is_a_failure_that_keeps_the_bytes(void **state)
{
    _buf_ struct buf b;
    volatile size_t much = SIZE_MAX / 4;

    (void)state;
    buf_init(&b, SIZE_MAX);
    (void)buf_puts(&b, "kept");
    assert_int_equal(buf_append(&b, b.data, much), -ENOMEM);
    assert_int_equal(buf_putc(&b, 'x'), -ENOMEM);
    assert_string_equal(b.data, "kept");
}

static void sizes_that_wrap_around_are_refused(void **state)
{
    _buf_ struct buf b;
    volatile size_t all = SIZE_MAX;

    (void)state;
    buf_init(&b, SIZE_MAX);
    (void)buf_puts(&b, "1234567890");
    assert_int_equal(buf_append(&b, b.data, all), -E2BIG);
    assert_string_equal(b.data, "1234567890");
}

static void a_text_that_printf_cannot_make_is_a_failure(void **state)
{
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, SIZE_MAX);
    assert_int_equal(buf_printf(&b, "%lc", UNPRINTABLE), -ENOMEM);
    assert_int_equal(b.len, 0);
}

static void take_hands_the_bytes_over_and_leaves_an_empty_buffer(void **state)
{
    _buf_ struct buf b;
    char *text;

    (void)state;
    buf_init(&b, 10);
    (void)buf_puts(&b, "abc");
    text = buf_take(&b);
    assert_string_equal(text, "abc");
    free(text);
    assert_int_equal(b.len, 0);
    assert_null(b.data);
    assert_int_equal(buf_puts(&b, "0123456789"), 0);
    assert_string_equal(b.data, "0123456789");
}

static void take_of_an_empty_buffer_is_the_empty_string(void **state)
{
    _buf_ struct buf b;
    char *text;

    (void)state;
    buf_init(&b, 10);
    text = buf_take(&b);
    assert_string_equal(text, "");
    free(text);
}

static void done_accepts_a_zeroed_buffer_and_being_called_twice(void **state)
{
    struct buf b = { 0 };

    (void)state;
    buf_done(&b);
    buf_init(&b, 10);
    (void)buf_puts(&b, "abc");
    buf_done(&b);
    buf_done(&b);
    assert_null(b.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appended_bytes_are_kept_in_order_and_terminated),
        cmocka_unit_test(growing_byte_by_byte_keeps_every_byte),
        cmocka_unit_test(the_limit_is_reached_exactly_and_not_passed),
        cmocka_unit_test(a_limit_of_zero_holds_nothing),
        cmocka_unit_test(a_failed_buffer_takes_nothing_more),
        cmocka_unit_test(running_out_of_memory_is_a_failure_that_keeps_the_bytes),
        cmocka_unit_test(sizes_that_wrap_around_are_refused),
        cmocka_unit_test(a_text_that_printf_cannot_make_is_a_failure),
        cmocka_unit_test(take_hands_the_bytes_over_and_leaves_an_empty_buffer),
        cmocka_unit_test(take_of_an_empty_buffer_is_the_empty_string),
        cmocka_unit_test(done_accepts_a_zeroed_buffer_and_being_called_twice),
    };

    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
