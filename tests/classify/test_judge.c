/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the case tables cannot say: the part and the reason of a verdict, what a configuration may
 * not do, no memory, depth, size, and the keys of approvals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "agentbox/agentbox.h"
#include "classify/judge.h"
#include "classify/key.h"
#include "classify/walk.h"

struct judged {
    struct arena arena;
    struct ruleset *rules;
    struct verdict v;
};

static void judge(struct judged *j, const char *text)
{
    static const struct ruleset_config config = { .home = "/home/me" };

    arena_init(&j->arena, ARENA_DEFAULT_LIMIT);
    assert_int_equal(ruleset_new(&config, &j->rules, NULL), ABX_OK);
    judge_text(j->rules, text, strlen(text), NULL, &j->arena, &j->v);
}

static void judged_done(struct judged *j)
{
    ruleset_free(j->rules);
    arena_done(&j->arena);
}
#define _judged_ __attribute__((cleanup(judged_done)))

static void assert_part(const struct judged *j, const char *part)
{
    if (j->v.part_len != strlen(part) || memcmp(j->v.part, part, j->v.part_len) != 0)
        fail_msg("the part is '%.*s', not '%s'", (int)j->v.part_len, j->v.part, part);
}

static void the_part_is_the_command_that_decided(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        { "ls && rm -rf / && pwd", "rm -rf /" }, { "ls; git  push -f; pwd", "git  push -f" },
        { "echo $(rm  -rf  /)", "rm  -rf  /" },  { "bash -c 'ls; rm -rf /'", "rm -rf /" },
        { "sudo rm -rf /", "sudo rm -rf /" },    { "git push; rm -rf /", "rm -rf /" },
        { "sudo ls; kill 1", "sudo ls" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _judged_ struct judged j;

        judge(&j, rows[i].text);
        assert_part(&j, rows[i].part);
        assert_true(strlen(j.v.reason) > 10);
    }
}

static void the_part_of_an_argument_vector_is_its_words(void **state)
{
    static const char *const argv[] = { "rm", "-rf", "/" };
    _judged_ struct judged j;

    (void)state;
    judge(&j, "ls");
    judge_argv(j.rules, argv, ARRAY_LEN(argv), NULL, &j.arena, &j.v);
    assert_int_equal(j.v.decision, DECISION_FORBIDDEN);
    assert_part(&j, "rm -rf /");
    judge_argv(j.rules, argv, 0, NULL, &j.arena, &j.v);
    assert_int_equal(j.v.decision, DECISION_SANDBOXED);
}

static void an_empty_variable_is_named_as_the_danger(void **state)
{
    _judged_ struct judged j;

    (void)state;
    judge(&j, "rm -rf \"$DIR/\"");
    assert_int_equal(j.v.decision, DECISION_ESCALATED);
    assert_non_null(strstr(j.v.reason, "empty"));
}

static void unreadable_text_says_where(void **state)
{
    _judged_ struct judged j;

    (void)state;
    judge(&j, "echo 'x");
    assert_int_equal(j.v.decision, DECISION_ESCALATED);
    assert_string_equal(j.v.rule, RULE_UNREADABLE);
    assert_non_null(strstr(j.v.reason, "byte"));
}

/* ---- configuration ---- */

static int32_t with_override(const char *rule, enum decision decision, bool trusted)
{
    const struct rule_override o = { rule, decision, trusted, NULL, false };
    const struct ruleset_config config = { .overrides = &o, .override_count = 1 };
    _ruleset_ struct ruleset *rules = NULL;

    return ruleset_new(&config, &rules, NULL);
}

static void only_a_trusted_override_lowers_what_is_forbidden(void **state)
{
    (void)state;
    assert_int_equal(with_override("fork-bomb", DECISION_ESCALATED, false), ABX_E_CONFIG);
    assert_int_equal(with_override("fork-bomb", DECISION_ALLOW, false), ABX_E_CONFIG);
    assert_int_equal(with_override("fork-bomb", DECISION_FORBIDDEN, false), ABX_OK);
    assert_int_equal(with_override("fork-bomb", DECISION_ALLOW, true), ABX_OK);
    assert_int_equal(with_override("git-write", DECISION_ALLOW, false), ABX_OK);
    assert_int_equal(with_override(RULE_CHAIN_ALLOW, DECISION_SANDBOXED, false), ABX_OK);
    assert_int_equal(with_override("no-such-rule", DECISION_ALLOW, true), ABX_E_CONFIG);
}

static void rules_without_effect_are_errors(void **state)
{
    const struct custom_rule custom = { .pattern = "", .decision = DECISION_ALLOW };
    const struct protected_path protected[] = { { "a[", DECISION_FORBIDDEN, NULL } };
    const struct ruleset_config configs[] = {
        { .custom = &custom, .custom_count = 1 },
        { .protected = protected, .protected_count = 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
        struct ruleset *rules = NULL;

        assert_int_equal(ruleset_new(&configs[i], &rules, NULL), ABX_E_CONFIG);
        assert_null(rules);
    }
}

static void names_of_rules_are_there_once(void **state)
{
    struct rule_info a, b;

    (void)state;
    for (size_t i = 0; rule_info(i, &a); i++) {
        for (size_t k = 0; k < i && rule_info(k, &b); k++)
            assert_string_not_equal(a.name, b.name);
        assert_true(strlen(a.reason) > 10 && a.reason[strlen(a.reason) - 1] == '.');
    }
    assert_false(rule_info(100000, &a));
}

static void decisions_have_names(void **state)
{
    enum decision d;

    (void)state;
    for (unsigned i = 0; i <= DECISION_FORBIDDEN; i++) {
        assert_true(decision_parse(decision_name((enum decision)i), &d));
        assert_int_equal(d, i);
    }
    assert_false(decision_parse("Allow", &d));
}

/* ---- limits ---- */

static void without_memory_it_is_escalated(void **state)
{
    static const char *const texts[] = { "ls -la && echo hi", "bash -c 'ls; pwd'",
                                         "rm -rf build",      "find . -exec cat {} +",
                                         "ls | xargs cat",    "ls | cat; echo 'x" };
    static const struct ruleset_config config = { .home = NULL };
    _ruleset_ struct ruleset *rules = NULL;

    (void)state;
    assert_int_equal(ruleset_new(&config, &rules, NULL), ABX_OK);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        for (size_t limit = 0; limit < ((size_t)64 << 10); limit += limit < 4096 ? 16 : 512) {
            struct arena arena;
            struct verdict v;

            arena_init(&arena, limit);
            judge_text(rules, texts[i], strlen(texts[i]), NULL, &arena, &v);
            const bool enough = v.decision < DECISION_ESCALATED;
            assert_true(!enough || (limit >= 4096 && i < ARRAY_LEN(texts) - 1));
            arena_done(&arena);
        }
    }
}

static char *repeat(const char *piece, size_t times, const char *end)
{
    size_t n = strlen(piece);
    char *text = malloc(n * times + strlen(end) + 1);

    assert_non_null(text);
    for (size_t i = 0; i < times; i++)
        memcpy(text + i * n, piece, n);
    memcpy(text + n * times, end, strlen(end) + 1);
    return text;
}

static void what_is_too_deep_is_escalated(void **state)
{
    static const char *const pieces[] = { "env ", "sudo ", "eval ", "nice -n 1 ", "$(", "xargs " };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        char *text = repeat(pieces[i], 1000, "ls");
        _judged_ struct judged j;

        judge(&j, text);
        assert_true(j.v.decision >= DECISION_ESCALATED);
        free(text);
    }
}

static void a_text_above_the_limit_is_escalated(void **state)
{
    char *text = repeat("ls; ", WALK_MAX_TEXT / 4 + 16, "ls");
    _judged_ struct judged j;

    (void)state;
    judge(&j, text);
    assert_int_equal(j.v.decision, DECISION_ESCALATED);
    free(text);
}

static void a_danger_far_behind_is_found(void **state)
{
    char *text = repeat("ls -la src; ", 5000, "rm -rf /");
    _judged_ struct judged j;

    (void)state;
    judge(&j, text);
    assert_int_equal(j.v.decision, DECISION_FORBIDDEN);
    free(text);
}

/* Text that no shell would take is cut where operators are; guesses are bounded, too. */
static void guesses_reach_so_far_and_no_further(void **state)
{
    static const struct {
        const char *piece;
        size_t times;
        const char *end;
        enum decision decision;
    } rows[] = {
        { "x; ", 1000, "rm -rf / '", DECISION_FORBIDDEN },
        { "x; ", 1100, "rm -rf / '", DECISION_ESCALATED }, /* more pieces than are looked at */
        { "x ", 1000, "; rm -rf / '", DECISION_FORBIDDEN },
        { "rm -rf x ", 300, "/ '", DECISION_ESCALATED }, /* more words */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *text = repeat(rows[i].piece, rows[i].times, rows[i].end);
        _judged_ struct judged j;

        judge(&j, text);
        if (j.v.decision != rows[i].decision)
            fail_msg("row %zu: %s", i, decision_name(j.v.decision));
        free(text);
    }
}

static void words_with_operators_are_guessed_at_so_far(void **state)
{
    static const char *argv[2 * 1100 + 3];
    _judged_ struct judged j;

    (void)state;
    judge(&j, "ls");
    for (size_t pipes = 1000; pipes <= 1100; pipes += 100) {
        const size_t count = 2 * pipes + 3;

        for (size_t i = 0; i < 2 * pipes; i++)
            argv[i] = i % 2 ? "|" : "ls";
        argv[count - 3] = "rm";
        argv[count - 2] = "-rf";
        argv[count - 1] = "/";
        judge_argv(j.rules, argv, count, NULL, &j.arena, &j.v);
        assert_int_equal(j.v.decision == DECISION_FORBIDDEN, pipes == 1000);
    }
}

static void only_what_starts_itself_twice_is_a_bomb(void **state)
{
    static const struct {
        const char *text;
        enum decision decision;
    } rows[] = {
        { "f() { f | f & }; f '", DECISION_FORBIDDEN },
        { "f ( ) { x f; f|f&}; f '", DECISION_FORBIDDEN },
        { "f() { f; }; f '", DECISION_ESCALATED },
        { "f() { f | g; }; f '", DECISION_ESCALATED },
        { "f() f|f '", DECISION_ESCALATED },
        { "f() { '", DECISION_ESCALATED },
        { "() { | } '", DECISION_ESCALATED },
        { "f( '", DECISION_ESCALATED },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _judged_ struct judged j;

        judge(&j, rows[i].text);
        if (j.v.decision != rows[i].decision)
            fail_msg("%s: %s", rows[i].text, decision_name(j.v.decision));
    }
}

/* Ticks for one verdict. What the rules do is not among the steps that the reader counts. */
static clock_t time_of(const char *piece, size_t bytes)
{
    char *text = repeat(piece, bytes / strlen(piece), "");
    _judged_ struct judged j;
    clock_t begin = clock();

    judge(&j, text);
    free(text);
    return clock() - begin;
}

static void the_rules_take_linear_time(void **state)
{
    static const char *const pieces[] = {
        "tar --checkpoint-action=exec=x ",
        "tar ~ ",
        "cp ~/.ssh/x ",
        "rm -rf a ",
        "git -c alias.x=y ",
        "sudo ",
        "xargs ",
        "find -exec x \\; ",
        "ssh -o ProxyCommand=x ",
        "vim -c '!x' ",
        "alias a=b ",
        "env A=b ",
        "gdb -ex '!x' ",
        "mapfile -C 'x' ",
        "[[ x || x ]];",
        "echo $'x' &>x;",
        "sh 3<x /dev/fd/4 ",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        clock_t small = time_of(pieces[i], (size_t)24 << 10);
        clock_t large = time_of(pieces[i], (size_t)384 << 10);

        /* 16 times the text; a quadratic one takes 256 times as long. */
        if (large > 80 * small + CLOCKS_PER_SEC / 10)
            fail_msg("'%s': %ld ticks for 24 KiB, %ld for 384 KiB", pieces[i], (long)small,
                     (long)large);
    }
}

/* xargs -I aa…ab echo aa…ab: at every place of the word nearly all of the mark fits. */
static void marks_are_found_in_linear_time(void **state)
{
    const size_t bytes = (size_t)256 << 10;
    char *mark = repeat("a", bytes, "b"), *front = repeat("a", 2 * bytes, "");
    char *text = NULL;
    _judged_ struct judged j;
    clock_t begin = clock();

    (void)state;
    assert_true(asprintf(&text, "xargs -I %s echo %s%s", mark, front, mark) > 0);
    judge(&j, text);
    if (clock() - begin > 2 * CLOCKS_PER_SEC)
        fail_msg("%ld ticks", (long)(clock() - begin));
    free(mark);
    free(front);
    free(text);
}

/* ---- keys ---- */

struct keyed {
    const char *words[4]; /* a text if the second is NULL */
    size_t count;         /* 0: a text */
    const char *cwd;
    uint8_t policy;
};

static void key(const struct keyed *k, char ret[SHA256_HEX_BYTES])
{
    uint8_t policy[SHA256_BYTES] = { k->policy };

    if (k->count > 0)
        key_of_argv(k->words, k->count, k->cwd, policy, ret);
    else
        key_of_text(k->words[0], strlen(k->words[0]), k->cwd, policy, ret);
}

static void different_commands_have_different_keys(void **state)
{
    static const struct keyed rows[] = {
        { { "ls -la" }, 0, "/p", 1 },        { { "ls  -la" }, 0, "/p", 1 },
        { { "ls -la " }, 0, "/p", 1 },       { { "ls\n-la" }, 0, "/p", 1 },
        { { "ls -la" }, 0, "/q", 1 },        { { "ls -la" }, 0, "/p", 2 },
        { { "ls -la" }, 1, "/p", 1 },        { { "ls", "-la" }, 2, "/p", 1 },
        { { "ls", "-", "la" }, 3, "/p", 1 }, { { "ls", "-la", "" }, 3, "/p", 1 },
        { { "ls -la/p" }, 0, "", 1 },        { { "" }, 0, "/p", 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char a[SHA256_HEX_BYTES], b[SHA256_HEX_BYTES];

        key(&rows[i], a);
        key(&rows[i], b);
        assert_string_equal(a, b);
        for (size_t k = 0; k < i; k++) {
            key(&rows[k], b);
            assert_string_not_equal(a, b);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_part_is_the_command_that_decided),
        cmocka_unit_test(the_part_of_an_argument_vector_is_its_words),
        cmocka_unit_test(an_empty_variable_is_named_as_the_danger),
        cmocka_unit_test(unreadable_text_says_where),
        cmocka_unit_test(only_a_trusted_override_lowers_what_is_forbidden),
        cmocka_unit_test(rules_without_effect_are_errors),
        cmocka_unit_test(names_of_rules_are_there_once),
        cmocka_unit_test(decisions_have_names),
        cmocka_unit_test(without_memory_it_is_escalated),
        cmocka_unit_test(what_is_too_deep_is_escalated),
        cmocka_unit_test(a_text_above_the_limit_is_escalated),
        cmocka_unit_test(a_danger_far_behind_is_found),
        cmocka_unit_test(guesses_reach_so_far_and_no_further),
        cmocka_unit_test(words_with_operators_are_guessed_at_so_far),
        cmocka_unit_test(only_what_starts_itself_twice_is_a_bomb),
        cmocka_unit_test(the_rules_take_linear_time),
        cmocka_unit_test(marks_are_found_in_linear_time),
        cmocka_unit_test(different_commands_have_different_keys),
    };

    return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
