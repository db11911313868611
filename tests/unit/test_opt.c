/* SPDX-License-Identifier: Apache-2.0 */
/* Command-line options: every spelling, every mistake, and the help text. */
#include "base/opt.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ID_CWD, ID_RW, ID_QUIET, ID_VERBOSE, ID_TEXT, ID_SECRET };

static const struct opt_spec specs[] = {
    { OPT_HEADING, 0, NULL, NULL, "Files:" },        { ID_CWD, 'C', "cwd", "DIR", "Run there." },
    { ID_RW, 0, "rw", "PATH", "Make it writable." }, { OPT_HEADING, 0, NULL, NULL, "Output:" },
    { ID_QUIET, 'q', "quiet", NULL, "Say less." },   { ID_VERBOSE, 'v', NULL, NULL, "Say more." },
    { ID_TEXT, 'c', NULL, "TEXT", "Shell text." },   { ID_SECRET, 0, "secret", NULL, NULL },
};

/* Runs all words through and writes what came out: "0=/x" "2" "?name" "op:word" … */
static void walk(struct opt *o, struct buf *b)
{
    for (int id; (id = opt_next(o)) != OPT_END;) {
        if (b->len > 0)
            (void)buf_putc(b, ' ');
        if (id >= 0)
            (void)buf_printf(b, "%d", id);
        else if (id == OPT_OPERAND)
            (void)buf_puts(b, "op");
        else
            (void)buf_printf(b, "%s%s%.*s",
                             id == OPT_UNKNOWN         ? "unknown"
                             : id == OPT_MISSING_VALUE ? "missing"
                                                       : "unexpected",
                             o->dashes, (int)o->name_len, o->name);
        if (o->value)
            (void)buf_printf(b, "=%s", o->value);
    }
}

#define WORDS_MAX 8

static void check(unsigned flags, char *const *words, const char *want, int want_next)
{
    _buf_ struct buf b;
    struct opt o;
    int argc = 0;

    while (argc < WORDS_MAX && words[argc])
        argc++;
    buf_init(&b, 1000);
    (void)buf_puts(&b, "");
    opt_init(&o, specs, ARRAY_LEN(specs), argc, words, flags);
    walk(&o, &b);
    assert_string_equal(b.data, want);
    assert_int_equal(o.next, want_next);
    assert_int_equal(opt_next(&o), OPT_END);
}

static void every_spelling_of_an_option_is_understood(void **state)
{
    static char *const cases[][WORDS_MAX] = {
        { "--cwd=/x", NULL },
        { "--cwd", "/x", NULL },
        { "-C/x", NULL },
        { "-C", "/x", NULL },
    };
    static char *const cluster[] = { "-qvC/x", "-vqc", "a b", NULL };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check(0, cases[i], "0=/x", cases[i][1] ? 2 : 1);
    check(0, cluster, "2 3 0=/x 3 2 4=a b", 3);
}

static void repeated_options_come_one_by_one(void **state)
{
    static char *const words[] = { "--rw", "a", "--rw=b", "--rw", "c", NULL };

    (void)state;
    check(0, words, "1=a 1=b 1=c", 5);
}

static void values_may_be_empty_or_look_like_options(void **state)
{
    static char *const words[] = { "--rw=", "--rw", "--quiet", "-C", "--", "--rw=a=b", NULL };

    (void)state;
    check(0, words, "1= 1=--quiet 0=-- 1=a=b", 6);
}

static void operands_come_in_order_between_options(void **state)
{
    static char *const words[] = { "a", "-q", "-", "", "--", "-v", "--", NULL };

    (void)state;
    check(0, words, "op=a 2 op=- op= op=-v op=--", 7);
}

static void stopping_leaves_everything_from_the_first_operand_on(void **state)
{
    static char *const plain[] = { "-q", "make", "-q", "--rw", NULL };
    static char *const dashes[] = { "-q", "--", "-v", NULL };
    static char *const twice[] = { "--", "--", "-v", NULL };
    static char *const none[] = { NULL };

    (void)state;
    check(OPT_STOP_AT_OPERAND, plain, "2", 1);
    check(OPT_STOP_AT_OPERAND, dashes, "2", 2);
    check(OPT_STOP_AT_OPERAND, twice, "", 1);
    check(OPT_STOP_AT_OPERAND, none, "", 0);
}

static void abbreviations_and_other_names_are_unknown(void **state)
{
    static char *const words[] = {
        "--qui", "--quiett", "--QUIET", "--=x", "-x", "-qxv", "---", NULL
    };

    (void)state;
    check(0, words,
          "unknown--qui unknown--quiett unknown--QUIET unknown--=x unknown-x 2 unknown-x "
          "unknown---",
          7);
}

static void a_missing_value_is_reported(void **state)
{
    static char *const with_long[] = { "--rw", NULL };
    static char *const with_short[] = { "-qC", NULL };

    (void)state;
    check(0, with_long, "missing--rw", 1);
    check(0, with_short, "2 missing-C", 1);
}

static void a_value_that_nobody_wants_is_reported(void **state)
{
    static char *const words[] = { "--quiet=yes", "--quiet=", NULL };

    (void)state;
    check(0, words, "unexpected--quiet=yes unexpected--quiet=", 2);
}

static void the_row_of_the_option_is_given(void **state)
{
    static char *const words[] = { "--rw=a", "--rw", NULL };
    struct opt o;

    (void)state;
    opt_init(&o, specs, ARRAY_LEN(specs), 2, words, 0);
    assert_int_equal(opt_next(&o), ID_RW);
    assert_string_equal(o.spec->long_name, "rw");
    assert_int_equal(opt_next(&o), OPT_MISSING_VALUE);
    assert_string_equal(o.spec->value, "PATH");
    assert_int_equal(opt_next(&o), OPT_END);
    assert_null(o.spec);
}

static void unknown_names_come_with_the_nearest_one_shown_in_help(void **state)
{
    static char *const words[] = { "--quite", "--wr=x", "--secrt", "--elephant", "-x", NULL };
    static const char *const want[] = { "quiet", "rw", NULL, NULL, NULL };
    struct opt o;

    (void)state;
    opt_init(&o, specs, ARRAY_LEN(specs), 5, words, 0);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(opt_next(&o), OPT_UNKNOWN);
        if (want[i])
            assert_string_equal(o.nearest, want[i]);
        else
            assert_null(o.nearest);
    }
}

static void an_unknown_name_may_be_very_long(void **state)
{
    char word[10000];
    char *words[] = { word };
    struct opt o;

    (void)state;
    memset(word, '-', 2);
    memset(word + 2, 'q', sizeof(word) - 3);
    word[sizeof(word) - 1] = '\0';
    opt_init(&o, specs, ARRAY_LEN(specs), 1, words, 0);
    assert_int_equal(opt_next(&o), OPT_UNKNOWN);
    assert_int_equal(o.name_len, sizeof(word) - 3);
    assert_null(o.nearest);
}

static void help_is_aligned_with_headings_and_value_names(void **state)
{
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, 10000);
    assert_int_equal(opt_help(&b, specs, ARRAY_LEN(specs), OPT_HELP_WIDTH), 0);
    assert_string_equal(b.data, "Files:\n"
                                "  -C, --cwd DIR  Run there.\n"
                                "      --rw PATH  Make it writable.\n"
                                "\n"
                                "Output:\n"
                                "  -q, --quiet    Say less.\n"
                                "  -v             Say more.\n"
                                "  -c TEXT        Shell text.\n");
}

static void long_help_is_broken_and_long_names_get_a_line(void **state)
{
    static const struct opt_spec wide[] = {
        { 0, 0, "short", NULL,
          "A sentence that is much too long for one line of eighty columns, so has to be broken." },
        { 1, 'n', "a-very-long-option-name", "VALUE", "Below \xe2\x80\xa6 it." },
    };
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, 10000);
    assert_int_equal(opt_help(&b, wide, ARRAY_LEN(wide), OPT_HELP_WIDTH), 0);
    assert_string_equal(
        b.data, "      --short  A sentence that is much too long for one line of eighty columns,\n"
                "               so has to be broken.\n"
                "  -n, --a-very-long-option-name VALUE\n"
                "               Below \xe2\x80\xa6 it.\n");
}

static void help_reports_a_full_buffer(void **state)
{
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, 20);
    assert_int_equal(opt_help(&b, specs, ARRAY_LEN(specs), OPT_HELP_WIDTH), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_of_an_option_is_understood),
        cmocka_unit_test(repeated_options_come_one_by_one),
        cmocka_unit_test(values_may_be_empty_or_look_like_options),
        cmocka_unit_test(operands_come_in_order_between_options),
        cmocka_unit_test(stopping_leaves_everything_from_the_first_operand_on),
        cmocka_unit_test(abbreviations_and_other_names_are_unknown),
        cmocka_unit_test(a_missing_value_is_reported),
        cmocka_unit_test(a_value_that_nobody_wants_is_reported),
        cmocka_unit_test(the_row_of_the_option_is_given),
        cmocka_unit_test(unknown_names_come_with_the_nearest_one_shown_in_help),
        cmocka_unit_test(an_unknown_name_may_be_very_long),
        cmocka_unit_test(help_is_aligned_with_headings_and_value_names),
        cmocka_unit_test(long_help_is_broken_and_long_names_get_a_line),
        cmocka_unit_test(help_reports_a_full_buffer),
    };

    return cmocka_run_group_tests_name("opt", tests, NULL, NULL);
}
