/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Path patterns. Without "**" the C library's fnmatch (FNM_PATHNAME) is the oracle; with it, a slow
 * recursive matcher written from the definition. Speed is proved by counting steps, not by a clock.
 */
#include "base/glob.h"

#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool matches(const char *pattern, const char *text)
{
    return glob_match(pattern, strlen(pattern), text, strlen(text));
}

static bool valid(const char *pattern)
{
    return glob_check(pattern, strlen(pattern)) == 0;
}

struct row {
    const char *pattern, *text;
    bool want;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool got = matches(rows[i].pattern, rows[i].text);

        if (got != rows[i].want)
            fail_msg("'%s' %s '%s'", rows[i].pattern, got ? "matches" : "does not match",
                     rows[i].text);
    }
}

static void plain_text_matches_itself_only(void **state)
{
    static const struct row rows[] = {
        { "/a/b", "/a/b", true }, { "/a/b", "/a/bc", false }, { "/a/b", "/a", false },
        { "/a", "/a/b", false },  { "/a", "/A", false },      { "", "", true },
        { "", "a", false },       { "a", "", false },         { "/", "/", true },
    };

    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void star_and_question_mark_stay_within_a_component(void **state)
{
    static const struct row rows[] = {
        { "/a/*", "/a/b", true },     { "/a/*", "/a/.b", true },
        { "/a/*", "/a/b/c", false },  { "/a/*", "/a/", true },
        { "/a/*", "/a", false },      { "/*/c", "/b/c", true },
        { "/*/c", "/a/b/c", false },  { "*", "a/b", false },
        { "a?c", "abc", true },       { "a?c", "a/c", false },
        { "?", "", false },           { "*.c", ".c", true },
        { "a*b*c", "aXbYbZc", true }, { "a*b*c", "aXbYbZ", false },
        { "*a", "aaaa", true },       { "a**c", "abc", true },
        { "a**c", "a/c", false },     { "***", "abc", true },
        { "***", "a/b", false },      { "?\xff", "\xfe\xff", true },
    };

    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void sets_have_ranges_negation_and_escapes(void **state)
{
    static const struct row rows[] = {
        { "[abc]", "b", true },   { "[abc]", "d", false },         { "[a-c]", "b", true },
        { "[!a-c]", "b", false }, { "[!a-c]", "d", true },         { "[^a-c]", "d", true },
        { "[!a]", "/", false },   { "a[!x]b", "a/b", false },      { "[]a]", "]", true },
        { "[!]a]", "]", false },  { "[!]a]", "b", true },          { "[a-]", "-", true },
        { "[-a]", "-", true },    { "[a\\]b]", "]", true },        { "[\\a-\\c]", "b", true },
        { "[a!]", "!", true },    { "[\x80-\xff]", "\xc3", true }, { "[[]", "[", true },
        { "[*]", "*", true },     { "[*]", "a", false },           { "[abc]", "", false },
    };

    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void a_backslash_takes_the_meaning_away(void **state)
{
    static const struct row rows[] = {
        { "\\*", "*", true },   { "\\*", "a", false },      { "\\[a]", "[a]", true },
        { "\\\\", "\\", true }, { "\\a", "a", true },       { "a\\?", "ab", false },
        { "\\**", "*x", true }, { "/\\*\\*", "/**", true }, { "/\\*\\*", "/a", false },
    };

    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void two_stars_span_components(void **state)
{
    static const struct row rows[] = {
        { "/a/**/b", "/a/b", true },
        { "/a/**/b", "/a/x/b", true },
        { "/a/**/b", "/a/x/y/b", true },
        { "/a/**/b", "/a/x/y/c", false },
        { "/a/**/b", "/ab", false },
        { "/a/**/b", "/a/xb", false },
        { "**/b", "b", true },
        { "**/b", "a/b", true },
        { "**/b", "/b", true },
        { "**/b", "ab", false },
        { "/**/b", "/b", true },
        { "/**/b", "b", false },
        { "/**/.env*", "/a/b/.env.x", true },
        { "/**/a/**/b", "/x/a/y/a/z/b", true },
        { "/**/a/b/**/c", "/a/x/a/b/c", true },
        { "/**/a/**/b", "/b/a", false },
        { "/**/*/c", "/c", false },
        { "/**/*/c", "/a/b/c", true },
        { "/**/**/c", "/c", true },
        { "/**/a*/b*c", "/a/ax/bxc", true },
    };

    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void trailing_two_stars_match_everything_below_but_not_the_directory(void **state)
{
    static const struct row rows[] = {
        { "/a/**", "/a/b", true },    { "/a/**", "/a/b/c/d", true }, { "/a/**", "/a/.b", true },
        { "/a/**", "/a", false },     { "/a/**", "/a/", false },     { "/a/**", "/ab", false },
        { "/**", "/a", true },        { "/**", "/", false },         { "**", "a/b", true },
        { "**", "", false },          { "/a/**/**", "/a/b", true },  { "/a/**/**", "/a", false },
        { "/a/*/**", "/a/b", false }, { "/a/*/**", "/a/b/c", true },
    };

    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void check_finds_invalid_patterns(void **state)
{
    static const char *const good[] = { "",           "/",     "a",     "[a]",   "[!a]",
                                        "[]]",        "[!]]",  "[a-a]", "[--0]", "**",
                                        "/**/[a-z]*", "\\[",   "a]",    "]",     "[\\]]",
                                        "[a-]",       "[ab]c", "\\\\",  "[:a:]" };
    static const char *const bad[] = { "[",       "a[",           "[]",          "[!]",
                                       "[!",      "[a",           "[a/b]",       "[a-",
                                       "[z-a]",   "\\",           "a\\",         "a\\/b",
                                       "[\\",     "[a\\",         "[[:alpha:]]", "[[=a=]]",
                                       "[[.a.]]", "[a[:digit:]]", "ok/[x/ok",    "[a-\\" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(valid(good[i]));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(glob_check(bad[i], strlen(bad[i])), -EINVAL);
    assert_int_equal(glob_check("a\0b", 3), -EINVAL);
}

static void invalid_patterns_match_nothing(void **state)
{
    (void)state;
    assert_false(matches("[", "["));
    assert_false(matches("a/[", "a/["));
    assert_false(matches("**/[", "x"));
}

static void patterns_have_a_greatest_length(void **state)
{
    static char pattern[GLOB_MAX_PATTERN + 1];

    (void)state;
    memset(pattern, 'a', sizeof(pattern));
    assert_int_equal(glob_check(pattern, GLOB_MAX_PATTERN), 0);
    assert_int_equal(glob_check(pattern, GLOB_MAX_PATTERN + 1), -E2BIG);
    assert_false(glob_match(pattern, GLOB_MAX_PATTERN + 1, pattern, GLOB_MAX_PATTERN + 1));
}

static void is_pattern_tells_plain_paths(void **state)
{
    static const char *const patterns[] = { "*", "a?", "/[a]", "a\\b", "/**/x" };
    static const char *const plain[] = { "", "/a/b", "a]b", "~/x", "{a,b}", "!a", "a\nb" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
        assert_true(glob_is_pattern(patterns[i], strlen(patterns[i])));
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        assert_false(glob_is_pattern(plain[i], strlen(plain[i])));
}

static void random_word(char *out, size_t size, const char *alphabet)
{
    size_t n = (size_t)rand() % size, letters = strlen(alphabet);

    for (size_t i = 0; i < n; i++)
        out[i] = alphabet[(size_t)rand() % letters];
    out[n] = '\0';
}

static bool has_globstar(const char *p)
{
    for (;;) {
        size_t n = strcspn(p, "/");

        if (n == 2 && p[0] == '*' && p[1] == '*')
            return true;
        if (p[n] == '\0')
            return false;
        p += n + 1;
    }
}

static void without_two_stars_it_agrees_with_fnmatch(void **state)
{
    unsigned compared = 0, matched = 0;

    (void)state;
    srand(17);
    for (unsigned round = 0; round < 400000; round++) {
        char pattern[12], text[8];
        bool got, want;

        random_word(pattern, sizeof(pattern), round % 2 ? "ab*?/" : "ab*?[]!^-\\/.c");
        random_word(text, sizeof(text), round % 2 ? "ab/" : "ab]!^-\\/.c");
        if (!valid(pattern) || has_globstar(pattern))
            continue;
        got = matches(pattern, text);
        want = fnmatch(pattern, text, FNM_PATHNAME) == 0;
        if (got != want)
            fail_msg("'%s' '%s': %d, fnmatch says %d", pattern, text, got, want);
        compared++;
        matched += got;
    }
    assert_true(compared > 200000 && matched > 5000);
}

/* The definition, component by component, trying everything. */
static bool slow_match(const char *p, const char *t)
{
    char pc[16], tc[16];
    size_t pn = strcspn(p, "/"), tn = strcspn(t, "/");

    if (pn == 2 && p[0] == '*' && p[1] == '*') {
        if (p[pn] == '\0')
            return t[0] != '\0';
        if (slow_match(p + pn + 1, t))
            return true;
        return t[tn] == '/' && slow_match(p, t + tn + 1);
    }
    memcpy(pc, p, pn);
    memcpy(tc, t, tn);
    pc[pn] = tc[tn] = '\0';
    if (fnmatch(pc, tc, FNM_PATHNAME) != 0)
        return false;
    if (p[pn] == '\0' || t[tn] == '\0') /* what is left of a pattern needs one component or more */
        return p[pn] == t[tn];
    return slow_match(p + pn + 1, t + tn + 1);
}

static void with_two_stars_it_agrees_with_the_definition(void **state)
{
    static const char *const parts[] = { "**", "**", "a", "b", "*", "a*", "?b", "**a" };
    unsigned matched = 0;

    (void)state;
    srand(19);
    for (unsigned round = 0; round < 200000; round++) {
        char pattern[64] = "", text[12];

        for (unsigned i = 0, n = 1 + (unsigned)rand() % 5; i < n; i++) {
            strcat(pattern, i > 0 ? "/" : "");
            strcat(pattern, parts[(size_t)rand() % ARRAY_LEN(parts)]);
        }
        random_word(text, sizeof(text), "ab/");
        if (matches(pattern, text) != slow_match(pattern, text))
            fail_msg("'%s' '%s': %d", pattern, text, matches(pattern, text));
        matched += matches(pattern, text);
    }
    assert_true(matched > 5000);
}

static void check_steps(const char *pattern, const char *text, size_t text_len, uint64_t most)
{
    uint64_t steps = 0;

    (void)glob_match_steps(pattern, strlen(pattern), text, text_len, &steps);
    assert_in_range(steps, 1, 4 * (uint64_t)(strlen(pattern) + 1) * (text_len + 1));
    if (steps > most)
        fail_msg("'%s': %llu steps", pattern, (unsigned long long)steps);
}

static void many_stars_do_not_blow_up(void **state)
{
    enum { LENGTH = 10000 };
    static char as[LENGTH], slashes[LENGTH];

    (void)state;
    memset(as, 'a', sizeof(as));
    for (size_t i = 0; i < sizeof(slashes); i++)
        slashes[i] = i % 2 ? 'a' : '/';
    check_steps("*a*a*a*a*b", as, LENGTH, 8 * LENGTH);
    check_steps("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", as, LENGTH, 8 * LENGTH);
    check_steps("*[a-z]*[a-z]*[a-z]*b", as, LENGTH, 20 * LENGTH);
    check_steps("*aaaaaaaab", as, LENGTH, 30 * LENGTH);
    check_steps("/**/a/**/a/**/a/**/a/**/b", slashes, LENGTH, 10 * LENGTH);
    check_steps("/**/*a*/**/*a*/**/*a*/**/*b*", slashes, LENGTH, 20 * LENGTH);
}

static void steps_stay_within_the_promised_bound(void **state)
{
    (void)state;
    srand(29);
    for (unsigned round = 0; round < 100000; round++) {
        char pattern[24], text[24];
        uint64_t steps = 0, bound;

        random_word(pattern, sizeof(pattern), "aab**?/[-]");
        random_word(text, sizeof(text), "aab/");
        (void)glob_match_steps(pattern, strlen(pattern), text, strlen(text), &steps);
        bound = 4 * (uint64_t)(strlen(pattern) + 1) * (strlen(text) + 1);
        if (steps > bound)
            fail_msg("'%s' '%s': %llu steps", pattern, text, (unsigned long long)steps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_matches_itself_only),
        cmocka_unit_test(star_and_question_mark_stay_within_a_component),
        cmocka_unit_test(sets_have_ranges_negation_and_escapes),
        cmocka_unit_test(a_backslash_takes_the_meaning_away),
        cmocka_unit_test(two_stars_span_components),
        cmocka_unit_test(trailing_two_stars_match_everything_below_but_not_the_directory),
        cmocka_unit_test(check_finds_invalid_patterns),
        cmocka_unit_test(invalid_patterns_match_nothing),
        cmocka_unit_test(patterns_have_a_greatest_length),
        cmocka_unit_test(is_pattern_tells_plain_paths),
        cmocka_unit_test(without_two_stars_it_agrees_with_fnmatch),
        cmocka_unit_test(with_two_stars_it_agrees_with_the_definition),
        cmocka_unit_test(many_stars_do_not_blow_up),
        cmocka_unit_test(steps_stay_within_the_promised_bound),
    };

    return cmocka_run_group_tests_name("glob", tests, NULL, NULL);
}
