/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every row of the case tables comes out as written, and every rule is right about its own example
 * and counter-example. The tables are the arguments; a wrong row is named by file and line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cases.h"

static char **tables;

static void show(void *user, const struct case_row *row)
{
    (void)user;
    if (!row->decision_right || !row->rule_right)
        print_error("%s:%zu: want %s %s, got %s %s: %s\n", row->file, row->line, row->want,
                    row->want_rule, decision_name(row->got.decision), row->got.rule, row->shown);
}

static void every_row_comes_out_as_written(void **state)
{
    struct case_counts counts = { 0 };

    (void)state;
    for (char **table = tables; *table; table++)
        assert_true(cases_run(*table, show, NULL, &counts));
    assert_int_equal(counts.wrong_decisions + counts.wrong_rules, 0);
    assert_true(counts.rows >= 1500);
}

static void judge(const struct ruleset *rules, const char *text, struct arena *arena,
                  struct verdict *ret)
{
    judge_text(rules, text, strlen(text), NULL, arena, ret);
}

static void every_rule_knows_its_examples(void **state)
{
    struct ruleset_config config = { .no_protected_paths = true };
    _ruleset_ struct ruleset *rules = NULL;
    struct rule_info info;

    (void)state;
    assert_int_equal(ruleset_new(&config, &rules, NULL), 0);
    for (size_t i = 0; rule_info(i, &info); i++) {
        _arena_ struct arena arena;
        struct verdict v;

        arena_init(&arena, ARENA_DEFAULT_LIMIT);
        judge(rules, info.example, &arena, &v);
        if (v.decision != info.decision || strcmp(v.rule, info.name) != 0)
            fail_msg("%s: '%s' is %s %s", info.name, info.example, decision_name(v.decision),
                     v.rule);
        judge(rules, info.counter_example, &arena, &v);
        if (strcmp(v.rule, info.name) == 0)
            fail_msg("%s: '%s' should be none of it", info.name, info.counter_example);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_comes_out_as_written),
        cmocka_unit_test(every_rule_knows_its_examples),
    };

    (void)argc;
    tables = argv + 1;
    return cmocka_run_group_tests_name("classify cases", tests, NULL, NULL);
}
