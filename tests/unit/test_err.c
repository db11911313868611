/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error object: what the accessors say, chains, one-line texts, and no memory. A message that
 * printf cannot make stands in for "no memory": both end without a text.
 */
#include "base/err.h"

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

static int32_t make_without_memory(abx_error **err)
{
    return err_new(err, ABX_E_CONFIG, "%lc", UNPRINTABLE);
}

static void a_new_error_has_code_and_message_and_nothing_else(void **state)
{
    _err_ abx_error *e = NULL;

    (void)state;
    assert_int_equal(err_new(&e, ABX_E_CONFIG, "key '%s'", "a.b"), ABX_E_CONFIG);
    assert_int_equal(abx_error_code(e), ABX_E_CONFIG);
    assert_string_equal(abx_error_message(e), "key 'a.b'");
    assert_string_equal(abx_error_subject(e), "");
    assert_string_equal(abx_error_hint(e), "");
    assert_int_equal(abx_error_errno(e), 0);
    assert_null(abx_error_next(e));
}

static void a_shortage_has_a_hint_until_somebody_knows_more(void **state)
{
    _err_ abx_error *e = NULL, *f = NULL, *g = NULL;

    (void)state;
    assert_int_equal(err_sys(&e, ABX_E_IO, -EMFILE, "open"), ABX_E_IO);
    assert_non_null(strstr(abx_error_hint(e), "ulimit -n"));
    err_hint(&e, "raise --fds");
    assert_string_equal(abx_error_hint(e), "raise --fds");
    (void)err_sys(&f, ABX_E_IO, -EFBIG, "write");
    assert_non_null(strstr(abx_error_hint(f), "ulimit -f"));
    (void)err_sys(&g, ABX_E_IO, -ENOENT, "open");
    assert_string_equal(abx_error_hint(g), "");
}

static void a_system_error_names_the_reason(void **state)
{
    _err_ abx_error *e = NULL, *unknown = NULL;

    (void)state;
    assert_int_equal(err_sys(&e, ABX_E_IO, -ENOENT, "open '%s'", "/x"), ABX_E_IO);
    assert_string_equal(abx_error_message(e), "open '/x': No such file or directory");
    assert_int_equal(abx_error_errno(e), ENOENT);
    assert_int_equal(err_sys(&unknown, ABX_E_IO, -99999, "x"), ABX_E_IO);
    assert_string_equal(abx_error_message(unknown), "x: unknown error");
}

static void the_reason_survives_a_very_long_path(void **state)
{
    _err_ abx_error *e = NULL;
    size_t n;

    (void)state;
    (void)err_sys(&e, ABX_E_IO, -ENOENT, "open '%*d'", 1000000, 1);
    n = strlen(abx_error_message(e));
    assert_true(n < 100000);
    assert_string_equal(abx_error_message(e) + n - 27, ": No such file or directory");
}

static void without_a_place_for_the_error_the_code_is_returned(void **state)
{
    (void)state;
    assert_int_equal(err_new(NULL, ABX_E_STATE, "x"), ABX_E_STATE);
    assert_int_equal(err_sys(NULL, ABX_E_EXEC, -EPERM, "x"), ABX_E_EXEC);
    assert_int_equal(err_nomem(NULL), ABX_E_NOMEM);
    err_subject(NULL, "x");
    err_hint(NULL, "x");
    assert_int_equal(err_wrap(NULL, "x"), ABX_E_NOMEM);
    err_append(NULL, NULL);
}

static void additions_to_no_error_do_nothing(void **state)
{
    abx_error *e = NULL;

    (void)state;
    err_subject(&e, "x");
    err_hint(&e, "x");
    (void)err_wrap(&e, "x");
    err_append(&e, NULL);
    assert_null(e);
}

static void subject_and_hint_are_copied_and_replaced(void **state)
{
    _err_ abx_error *e = NULL;
    char subject[] = "/etc/x";

    (void)state;
    (void)err_new(&e, ABX_E_CONFIG, "m");
    err_subject(&e, "first");
    err_subject(&e, subject);
    subject[0] = '?';
    err_hint(&e, "use %s", "--rw");
    err_hint(&e, "use %s", "--ro");
    assert_string_equal(abx_error_subject(e), "/etc/x");
    assert_string_equal(abx_error_hint(e), "use --ro");
}

static void wrapping_puts_the_outer_words_in_front(void **state)
{
    _err_ abx_error *e = NULL;

    (void)state;
    (void)err_sys(&e, ABX_E_SANDBOX, -EACCES, "bind '/a'");
    assert_int_equal(err_wrap(&e, "mounts"), ABX_E_SANDBOX);
    assert_int_equal(err_wrap(&e, "wrap command"), ABX_E_SANDBOX);
    assert_string_equal(abx_error_message(e), "wrap command: mounts: bind '/a': Permission denied");
    assert_int_equal(abx_error_errno(e), EACCES);
}

static void texts_are_one_line_and_show_what_is_hidden(void **state)
{
    _err_ abx_error *e = NULL;

    (void)state;
    (void)err_new(&e, ABX_E_CONFIG, "path '%s'", "a\nb\x1b[2J\xff\xe2\x80\xae");
    err_subject(&e, "x\ry");
    err_hint(&e, "%s", "\t");
    assert_string_equal(abx_error_message(e), "path 'a\\x0ab\\x1b[2J\\xff\\u{202e}'");
    assert_string_equal(abx_error_subject(e), "x\\x0dy");
    assert_string_equal(abx_error_hint(e), "\\x09");
}

static void chains_keep_their_order(void **state)
{
    _err_ abx_error *e = NULL;
    const abx_error *at;

    (void)state;
    for (int i = 0; i < 5; i++) {
        abx_error *more = NULL;

        (void)err_new(&more, ABX_E_CONFIG, "%d", i);
        err_append(&e, more);
    }
    at = e;
    for (int i = 0; i < 5; i++, at = abx_error_next(at))
        assert_int_equal(abx_error_message(at)[0], '0' + i);
    assert_null(at);
}

static void the_error_for_no_memory_is_whole_and_cannot_be_changed(void **state)
{
    abx_error *e = NULL, *other = NULL;

    (void)state;
    assert_int_equal(err_nomem(&e), ABX_E_NOMEM);
    err_subject(&e, "x");
    err_hint(&e, "x");
    assert_int_equal(err_wrap(&e, "x"), ABX_E_NOMEM);
    (void)err_new(&other, ABX_E_IO, "dropped");
    err_append(&e, other);
    assert_int_equal(abx_error_code(e), ABX_E_NOMEM);
    assert_string_equal(abx_error_message(e), "out of memory");
    assert_string_equal(abx_error_subject(e), "");
    assert_string_equal(abx_error_hint(e), "");
    assert_null(abx_error_next(e));
    abx_error_free(e);
    abx_error_free(e);
}

static void an_error_without_memory_is_still_an_error(void **state)
{
    abx_error *e = NULL;

    (void)state;
    assert_int_equal(make_without_memory(&e), ABX_E_NOMEM);
    assert_int_equal(abx_error_code(e), ABX_E_NOMEM);
    abx_error_free(e);
}

static void the_error_for_no_memory_ends_a_chain(void **state)
{
    _err_ abx_error *e = NULL;
    abx_error *more = NULL;

    (void)state;
    (void)err_new(&e, ABX_E_CONFIG, "first");
    (void)err_nomem(&more);
    err_append(&e, more);
    more = NULL;
    (void)err_new(&more, ABX_E_CONFIG, "dropped");
    err_append(&e, more);
    assert_int_equal(abx_error_code(abx_error_next(e)), ABX_E_NOMEM);
    assert_null(abx_error_next(abx_error_next(e)));
}

static void a_hint_without_memory_leaves_the_old_one(void **state)
{
    _err_ abx_error *e = NULL;

    (void)state;
    (void)err_new(&e, ABX_E_CONFIG, "m");
    err_hint(&e, "old");
    err_hint(&e, "%lc", UNPRINTABLE);
    assert_string_equal(abx_error_hint(e), "old");
}

static void accessors_of_null_are_harmless(void **state)
{
    (void)state;
    assert_int_equal(abx_error_code(NULL), ABX_OK);
    assert_string_equal(abx_error_message(NULL), "");
    assert_string_equal(abx_error_subject(NULL), "");
    assert_string_equal(abx_error_hint(NULL), "");
    assert_int_equal(abx_error_errno(NULL), 0);
    assert_null(abx_error_next(NULL));
    abx_error_free(NULL);
    abx_free(NULL);
}

static void every_code_has_a_name(void **state)
{
    (void)state;
    for (int32_t code = ABX_E_FORBIDDEN; code <= ABX_E_FORKED; code++) {
        assert_memory_equal(abx_error_name(code), "ABX_E_", 6);
        assert_string_not_equal(abx_error_name(code), "ABX_E_?");
    }
    assert_string_equal(abx_error_name(ABX_OK), "ABX_OK");
    assert_string_equal(abx_error_name(ABX_E_SANDBOX), "ABX_E_SANDBOX");
    assert_string_equal(abx_error_name(-1), "ABX_E_?");
    assert_string_equal(abx_error_name(ABX_E_FORKED + 1), "ABX_E_?");
    assert_string_equal(abx_error_name(INT32_MIN), "ABX_E_?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_error_has_code_and_message_and_nothing_else),
        cmocka_unit_test(a_shortage_has_a_hint_until_somebody_knows_more),
        cmocka_unit_test(a_system_error_names_the_reason),
        cmocka_unit_test(the_reason_survives_a_very_long_path),
        cmocka_unit_test(without_a_place_for_the_error_the_code_is_returned),
        cmocka_unit_test(additions_to_no_error_do_nothing),
        cmocka_unit_test(subject_and_hint_are_copied_and_replaced),
        cmocka_unit_test(wrapping_puts_the_outer_words_in_front),
        cmocka_unit_test(texts_are_one_line_and_show_what_is_hidden),
        cmocka_unit_test(chains_keep_their_order),
        cmocka_unit_test(the_error_for_no_memory_is_whole_and_cannot_be_changed),
        cmocka_unit_test(an_error_without_memory_is_still_an_error),
        cmocka_unit_test(the_error_for_no_memory_ends_a_chain),
        cmocka_unit_test(a_hint_without_memory_leaves_the_old_one),
        cmocka_unit_test(accessors_of_null_are_harmless),
        cmocka_unit_test(every_code_has_a_name),
    };

    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
