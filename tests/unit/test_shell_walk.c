/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a table of texts does not show: exports, texts inside texts, limits, and that the work grows
 * with the text and not faster. Work is counted, not timed.
 */
#include "classify/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "classify/walker.h"
#include "lib/shell_print.h"

/* ---- texts in texts -------------------------------------------------------------------------- */

struct nested {
    struct arena *arena;
    struct buf *out;
    uint32_t depth;
};

static bool visit_nested(void *user, const struct call *call)
{
    struct nested *nested = user;
    size_t last = call->count - 1;
    struct walk_problem problem;

    if (nested->out->len > 0)
        (void)buf_puts(nested->out, " ; ");
    shell_print_call(nested->out, call);
    if (call->count < 2 || !(str_eq(call->words[0].text, "eval") ||
                             (call->count == 3 && str_eq(call->words[1].text, "-c"))))
        return true;
    nested->depth++;
    if (walk_text(call->words[last].text, call->words[last].len, call, nested->depth, nested->arena,
                  visit_nested, nested, &problem) != WALK_OK)
        (void)buf_puts(nested->out, " ; unreadable");
    nested->depth--;
    return true;
}

static void check_nested(const char *text, const char *want)
{
    _arena_ struct arena arena;
    _buf_ struct buf out;
    struct nested nested = { &arena, &out, 0 };
    struct walk_problem problem;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    buf_init(&out, (size_t)1 << 16);
    assert_int_equal(
        walk_text(text, strlen(text), NULL, 0, &arena, visit_nested, &nested, &problem), WALK_OK);
    if (!out.data || strcmp(out.data, want) != 0)
        fail_msg("'%s': %s, not %s", text, out.data, want);
}

static void a_text_in_a_text_has_the_context_of_its_call(void **state)
{
    (void)state;
    check_nested("sh -c 'a $X'", "sh -c 'a $X' ; a <>+");
    check_nested("X=1; sh -c 'a $X'", "X=1 ; sh -c 'a $X' ; a <>+");
    check_nested("export X=1; sh -c 'a $X'", "export X=1 ; sh -c 'a $X' ; a 1");
    check_nested("X=1 sh -c 'a $X'", "X=1 sh -c 'a $X' ; a 1");
    check_nested("export X=1; X=2; sh -c 'a $X'", "export X=1 ; X=2 ; sh -c 'a $X' ; a 2");
    check_nested("PATH=x; sh -c 'a $PATH'", "PATH=x ; sh -c 'a $PATH' ; a <>+");
    check_nested("(export X=1); sh -c 'a $X'", "export X=1 ; sh -c 'a $X' ; a <>+");
    check_nested("cd /a; sh -c 'cd b; c'", "cd /a ; sh -c 'cd b; c' @/a ; cd b @/a ; c @/a/b");
    check_nested("cd $x; sh -c b", "cd <>+ ; sh -c b {c} ; b {c}");
    check_nested("a | sh -c b", "a {o} ; sh -c b <a {p} ; b <a {p}");
    check_nested("sh -c 'a; b' >f", "sh -c 'a; b' >f ; a >f ; b >f");
    check_nested("sh -c 'sh -c \"cd a; b\"'",
                 "sh -c 'sh -c \"cd a; b\"' ; sh -c 'cd a; b' ; cd a ; b @a");
}

static void eval_knows_the_shell_around_it(void **state)
{
    (void)state;
    check_nested("X=/; eval 'rm $X'", "X=/ ; eval 'rm $X' ; rm /");
    check_nested("f() { rm \"$1\"; }; eval 'f /'", "eval 'f /' ; rm /");
    check_nested("eval 'X=1; a $X'; b $X", "eval 'X=1; a $X' ; X=1 ; a 1 ; b <>+ {c}");
    check_nested("X=1; X=/ eval 'rm $X'", "X=1 ; X=/ eval 'rm $X' ; rm /");
    check_nested("X=1; (eval 'X=2'); a $X", "X=1 ; eval X=2 ; X=2 ; a 1");
}

/* ---- exports --------------------------------------------------------------------------------- */

static bool visit_exports(void *user, const struct call *call)
{
    struct buf *out = user;

    if (call->count == 0 || !str_eq(call->words[0].text, "show"))
        return true;
    for (size_t i = 0; i < call->export_count; i++)
        (void)buf_printf(
            out, "%s%s=%s%s", i > 0 ? " " : "", call->exports[i].name,
            (call->exports[i].value.flags & WORD_UNKNOWN) ? "?" : call->exports[i].value.text,
            call->exports[i].guessed ? "(guessed)" : "");
    return true;
}

static void exports_are_listed_and_the_last_counts(void **state)
{
    static const char *const rows[][2] = {
        { "show", "" },
        { "export A=1; show", "A=1" },
        { "A=1; export A; show", "A=1" },
        { "export A; A=1; show", "A=? A=1" },
        { "A=1; show", "" },
        { "declare -x A=1; show", "A=1" },
        { "typeset -rx A=1; show", "A=1" },
        { "set -a; A=1; show", "A=1" },
        { "set -o allexport; A=1; show", "A=1" },
        { "LD_PRELOAD=x; show", "LD_PRELOAD=x(guessed)" },
        { "GIT_PAGER=x; show", "GIT_PAGER=x(guessed)" },
        { "export A=1; unset A; show", "A=1 A=" },
        { "export A=1; A=$x; show", "A=1 A=?" },
        { "(export A=1); show", "A=1 A=1(guessed) A=?(guessed)" },
        { "if x; then export A=1; fi; show", "A=1 A=1(guessed) A=?(guessed) A=?" },
        { "export A=1 B=2; show", "A=1 B=2" },
        { "f() { show; }; A=1 f", "A=1" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _arena_ struct arena arena;
        _buf_ struct buf out;
        struct walk_problem problem;

        arena_init(&arena, ARENA_DEFAULT_LIMIT);
        buf_init(&out, (size_t)1 << 16);
        assert_int_equal(walk_text(rows[i][0], strlen(rows[i][0]), NULL, 0, &arena, visit_exports,
                                   &out, &problem),
                         WALK_OK);
        if (strcmp(out.data ? out.data : "", rows[i][1]) != 0)
            fail_msg("'%s': %s, not %s", rows[i][0], out.data, rows[i][1]);
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

static bool visit_count(void *user, const struct call *call)
{
    (void)call;
    return --*(size_t *)user > 0;
}

static enum walk_result walk_unit(const char *head, const char *unit, const char *tail, size_t size,
                                  size_t arena_limit, size_t stop_after, uint64_t *ret_steps,
                                  size_t *ret_memory)
{
    size_t head_len = strlen(head), unit_len = strlen(unit), tail_len = strlen(tail),
           len = head_len;
    char *text = malloc(size + head_len + tail_len + unit_len);
    struct walk_problem problem;
    enum walk_result result;
    _arena_ struct arena arena;

    assert_non_null(text);
    arena_init(&arena, arena_limit);
    memcpy(text, head, head_len);
    while (len + unit_len + tail_len <= size) {
        memcpy(text + len, unit, unit_len);
        len += unit_len;
    }
    memcpy(text + len, tail, tail_len);
    result = walk_text(text, len + tail_len, NULL, 0, &arena, visit_count, &stop_after, &problem);
    if (result != WALK_OK)
        assert_non_null(problem.what);
    *ret_steps = problem.steps;
    *ret_memory = arena.used;
    free(text);
    return result;
}

static const char *const hostile[][3] = {
    /* clang-format off */
    { "", "a ", "" },            { "", "a;", "" },            { "", "a\n", "" },
    { "", "A=1;", "" },          { "", "'a'", "" },           { "", "\"a\"", "" },
    { "", "$a", "" },            { "", "\"$a\"", "" },        { "", "`a`", "" },
    { "", "$(a)", "" },          { "", "$((1))", "" },        { "", "$((:#(((\n) )", "" },
    { "", "((a);(b));", "" },    { "", "{a,b}", "" },         { "", " {a,b}", "" },
    { "", "{", "" },             { "", "{a,", "" },           { "", " {1..9}{1..9}{1..9}", "" },
    { "", "cat <<E\nx\nE\n", "" }, { "", "cat <<-E\n\tx\n\tE\n", "" },
    { "", "case x in a) b;; esac;", "" }, { "if a; then b; ", "elif a; then b; ", "fi" },
    { "", "for x in a b; do c; done;", "" }, { "", "f() { a; };", "" }, { "", "f() { f; };f;", "" },
    { "", "${x:-a}", "" },       { "", "a && ", "b" },        { "", "a || ", "b" },
    { "", "a | ", "b" },         { "", "a & ", "" },          { "", "(", "" },
    { "", "{ ", "" },            { "", "$(", "" },            { "", "`", "" },
    { "", "\\`", "" },           { "", "${a:-", "" },         { "", "\"$(", "" },
    { "", "if ", "" },           { "", "export A=1;", "" },   { "", "a+=(x);", "" },
    { "a=(", " x", "); b \"${a[@]}\"" }, { "", "cd a;", "" }, { "", "pushd a;", "" },
    { "x=a;", "x=$x$x;", "" },   { "", "eval a;", "" },       { "", "alias a='a a'\na\n", "" },
    { "", ">a ", "" },           { "", "{ a; } >f;", "" },    { "", "#a\n", "" },
    { "", "\\\n", "" },          { "", "@(a)", "" },          { "", "@(", "" },
    { "", "a[1]=2;", "" },       { "", "a[", "" },            { "", "<(a)", "" },
    { "", "[[ a ]];", "" },      { "", "[[ a && ", "" },      { "", "$'\\x61'", "" },
    { "", "while a; do ", "" },  { "", "f() { local a=1; };f;", "" },
    { "", "set -- \"$@\" a;", "" }, { "X=1", " && X=2", " || X=3" }, { "a", " && X=2", " || exit" },
    { "x='a a a a a a a a';", "$x ", "" }, { "", "if a; then X=1; else X=2; fi;", "" },
    { "X=1;", "while a; do X=$X$X; done;", "" }, { "", "((x=1));", "" }, { "", "let x=1;", "" },
    { "", "cat <<E\n$(a)\n", "" }, { "f() { ", "X=1; return; ", "}; f; f" },
    { "while a; do ", "X=$X; break; ", "done" },
    /* clang-format on */
};

static void work_and_memory_grow_with_the_text_and_not_faster(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        uint64_t small, large;
        size_t memory;

        (void)walk_unit(hostile[i][0], hostile[i][1], hostile[i][2], (size_t)64 << 10,
                        ARENA_DEFAULT_LIMIT, SIZE_MAX, &small, &memory);
        (void)walk_unit(hostile[i][0], hostile[i][1], hostile[i][2], WALK_MAX_TEXT,
                        ARENA_DEFAULT_LIMIT, SIZE_MAX, &large, &memory);
        if (large > 20 * small + ((uint64_t)1 << 20) || large > (uint64_t)256 * WALK_MAX_TEXT)
            fail_msg("'%s': %llu steps for 64 KiB, %llu for 1 MiB", hostile[i][1],
                     (unsigned long long)small, (unsigned long long)large);
        if (memory > ARENA_DEFAULT_LIMIT / 2)
            fail_msg("'%s': %zu bytes", hostile[i][1], memory);
    }
}

static void no_memory_is_said_and_nothing_else_happens(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        for (size_t limit = 0; limit < 6000; limit += 272) {
            uint64_t steps;
            size_t memory;
            enum walk_result result = walk_unit(hostile[i][0], hostile[i][1], hostile[i][2], 200,
                                                limit, SIZE_MAX, &steps, &memory);

            assert_true(result != WALK_STOPPED);
            assert_true(memory <= limit);
        }
    }
}

static void limits_are_refusals(void **state)
{
    static const struct {
        const char *head, *unit, *tail;
        size_t size;
        enum walk_result want;
    } rows[] = {
        { "", "#", "", WALK_MAX_TEXT, WALK_OK },
        { "", "#", "", WALK_MAX_TEXT + 1, WALK_LIMIT },
        { "", "a\n", "", 2 * (size_t)WALK_MAX_CALLS, WALK_OK },
        { "", "a\n", "", 2 * (size_t)WALK_MAX_CALLS + 2, WALK_LIMIT },
        { "", "(", "a", 40, WALK_UNREADABLE },
        { "", "{ ", "a", 4 * (size_t)WALK_MAX_DEPTH, WALK_LIMIT },
        { "f0() { :; };", "cat <<A ", "", 400, WALK_LIMIT },
        { "", "export A=1;", "", 11 * 1025, WALK_LIMIT },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t steps;
        size_t memory;

        if (walk_unit(rows[i].head, rows[i].unit, rows[i].tail, rows[i].size, ARENA_DEFAULT_LIMIT,
                      SIZE_MAX, &steps, &memory) != rows[i].want)
            fail_msg("row %zu", i);
    }
}

static void constructs_nest_up_to_the_limit(void **state)
{
    char text[8 * WALK_MAX_DEPTH];
    _arena_ struct arena arena;
    struct walk_problem problem;
    size_t left = SIZE_MAX;

    (void)state;
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    for (size_t depth = WALK_MAX_DEPTH - 1; depth <= WALK_MAX_DEPTH + 1; depth += 2) {
        text[0] = '\0';
        for (size_t i = 0; i < depth; i++)
            strcat(text, "( ");
        strcat(text, "a");
        for (size_t i = 0; i < depth; i++)
            strcat(text, " )");
        assert_int_equal(
            walk_text(text, strlen(text), NULL, 0, &arena, visit_count, &left, &problem),
            depth < WALK_MAX_DEPTH ? WALK_OK : WALK_LIMIT);
    }
    assert_int_equal(walk_text("a", 1, NULL, WALK_MAX_DEPTH, &arena, visit_count, &left, &problem),
                     WALK_LIMIT);
}

static void function_calls_cannot_multiply_without_end(void **state)
{
    _buf_ struct buf text;
    _arena_ struct arena arena;
    struct walk_problem problem;
    size_t left = SIZE_MAX;

    (void)state;
    buf_init(&text, (size_t)1 << 16);
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    for (int i = 0; i < 40; i++)
        (void)buf_printf(&text, "f%d() { f%d >a; f%d >b; x; }\n", i, i + 1, i + 1);
    (void)buf_puts(&text, "f0");
    assert_int_equal(walk_text(text.data, text.len, NULL, 0, &arena, visit_count, &left, &problem),
                     WALK_LIMIT);
}

static void a_visit_that_says_no_ends_the_walk(void **state)
{
    uint64_t steps;
    size_t memory;

    (void)state;
    assert_int_equal(walk_unit("", "a;", "", 100, ARENA_DEFAULT_LIMIT, 3, &steps, &memory),
                     WALK_STOPPED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_in_a_text_has_the_context_of_its_call),
        cmocka_unit_test(eval_knows_the_shell_around_it),
        cmocka_unit_test(exports_are_listed_and_the_last_counts),
        cmocka_unit_test(work_and_memory_grow_with_the_text_and_not_faster),
        cmocka_unit_test(no_memory_is_said_and_nothing_else_happens),
        cmocka_unit_test(limits_are_refusals),
        cmocka_unit_test(constructs_nest_up_to_the_limit),
        cmocka_unit_test(function_calls_cannot_multiply_without_end),
        cmocka_unit_test(a_visit_that_says_no_ends_the_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
