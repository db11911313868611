/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as text: cleaning, containment, parts. */
#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void is_clean_accepts_only_the_canonical_spelling(void **state)
{
    static const char *const clean[] = { "/",       "/a", "/a/b",  "/...",  "/..a", "/.a",
                                         "/a./b..", "/ ", "/a\nb", "/\xff", "/*",   "/~" };
    static const char *const dirty[] = { "",     "a",      "a/b",   ".",     "..",      "//",
                                         "/a/",  "/a//b",  "//a",   "/.",    "/..",     "/./a",
                                         "/a/.", "/a/./b", "/../a", "/a/..", "/a/../b", "./a" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clean); i++)
        assert_true(path_is_clean(clean[i]));
    for (size_t i = 0; i < ARRAY_LEN(dirty); i++)
        assert_false(path_is_clean(dirty[i]));
}

static void is_beneath_holds_for_the_directory_and_all_below(void **state)
{
    (void)state;
    assert_true(path_is_beneath("/a", "/a"));
    assert_true(path_is_beneath("/a/b", "/a"));
    assert_true(path_is_beneath("/a/b/c", "/a"));
    assert_true(path_is_beneath("/", "/"));
    assert_true(path_is_beneath("/a", "/"));
}

static void is_beneath_rejects_sibling_with_same_prefix(void **state)
{
    (void)state;
    assert_false(path_is_beneath("/ab", "/a"));
    assert_false(path_is_beneath("/ab/c", "/a"));
    assert_false(path_is_beneath("/a.b", "/a"));
}

static void is_beneath_rejects_parents_and_strangers(void **state)
{
    (void)state;
    assert_false(path_is_beneath("/a", "/a/b"));
    assert_false(path_is_beneath("/", "/a"));
    assert_false(path_is_beneath("/b/a", "/a"));
}

static void is_beneath_rejects_what_is_not_absolute(void **state)
{
    (void)state;
    assert_false(path_is_beneath("/a", ""));
    assert_false(path_is_beneath("/a", "a"));
    assert_false(path_is_beneath("a", "/"));
    assert_false(path_is_beneath("", ""));
}

static void depth_counts_components(void **state)
{
    (void)state;
    assert_int_equal(path_depth("/"), 0);
    assert_int_equal(path_depth("/a"), 1);
    assert_int_equal(path_depth("/a/b/c"), 3);
}

static void basename_is_the_last_component(void **state)
{
    (void)state;
    assert_string_equal(path_basename("/"), "");
    assert_string_equal(path_basename("/a"), "a");
    assert_string_equal(path_basename("/a/b.c"), "b.c");
    assert_string_equal(path_basename("plain"), "plain");
}

static void clean_gives_one_spelling_for_each_path(void **state)
{
    static const struct {
        const char *base, *path, *want;
    } cases[] = {
        { "/w", "", "/w" },
        { "/w", ".", "/w" },
        { "/w", "a", "/w/a" },
        { "/w", "./a/", "/w/a" },
        { "/w", "a//b", "/w/a/b" },
        { "/w", "..", "/" },
        { "/w", "../..", "/" },
        { "/w", "../../../etc", "/etc" },
        { "/w/x", "../y", "/w/y" },
        { "/w", "a/../../b", "/b" },
        { "/w", "a/b/../..", "/w" },
        { "/", "a", "/a" },
        { "/", "", "/" },
        { "/", "..", "/" },
        { "/w", "/", "/" },
        { "/w", "//", "/" },
        { "/w", "/a", "/a" },
        { "/w", "//a///b//", "/a/b" },
        { "/w", "/../a", "/a" },
        { "/w", "/a/./../b/.", "/b" },
        { "/w", "...", "/w/..." },
        { "/w", "..a/.b/c..", "/w/..a/.b/c.." },
        { "/w", "a\n/\xff*", "/w/a\n/\xff*" },
        { "unused when absolute", "/a", "/a" },
    };
    _arena_ struct arena a;

    (void)state;
    arena_init(&a, 100000);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(path_clean(&a, cases[i].base, cases[i].path), cases[i].want);
}

static void clean_of_random_paths_is_clean_and_stable(void **state)
{
    static const char alphabet[] = "/./a.b/";

    (void)state;
    srand(7);
    for (unsigned round = 0; round < 20000; round++) {
        _arena_ struct arena a;
        char path[20];
        size_t n = (size_t)rand() % sizeof(path);
        const char *once;

        arena_init(&a, 10000);
        for (size_t i = 0; i < n; i++)
            path[i] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
        path[n < sizeof(path) ? n : n - 1] = '\0';
        once = path_clean(&a, "/w/x", path);
        assert_true(path_is_clean(once));
        assert_string_equal(path_clean(&a, "/", once), once);
    }
}

static void clean_has_no_limit_but_the_arena(void **state)
{
    enum { LENGTH = 100001 };
    _arena_ struct arena large, small;
    char *path = malloc(LENGTH + 1);

    (void)state;
    assert_non_null(path);
    for (size_t i = 0; i < LENGTH; i++)
        path[i] = i % 2 ? 'a' : '/';
    path[LENGTH - 1] = '\0';
    arena_init(&large, 4 * LENGTH);
    arena_init(&small, 1000);
    assert_string_equal(path_clean(&large, "/", path), path);
    assert_int_equal(path_depth(path), LENGTH / 2);
    assert_null(path_clean(&small, "/", path));
    free(path);
}

static void join_puts_one_slash_between(void **state)
{
    _arena_ struct arena a;

    (void)state;
    arena_init(&a, 1000);
    assert_string_equal(path_join(&a, "/", "a"), "/a");
    assert_string_equal(path_join(&a, "/a", "b"), "/a/b");
    assert_string_equal(path_join(&a, "/a", "b/c"), "/a/b/c");
}

static void parent_takes_one_component_away(void **state)
{
    _arena_ struct arena a;

    (void)state;
    arena_init(&a, 1000);
    assert_string_equal(path_parent(&a, "/"), "/");
    assert_string_equal(path_parent(&a, "/a"), "/");
    assert_string_equal(path_parent(&a, "/a/b"), "/a");
    assert_string_equal(path_parent(&a, "/a/b/c"), "/a/b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_clean_accepts_only_the_canonical_spelling),
        cmocka_unit_test(is_beneath_holds_for_the_directory_and_all_below),
        cmocka_unit_test(is_beneath_rejects_sibling_with_same_prefix),
        cmocka_unit_test(is_beneath_rejects_parents_and_strangers),
        cmocka_unit_test(is_beneath_rejects_what_is_not_absolute),
        cmocka_unit_test(depth_counts_components),
        cmocka_unit_test(basename_is_the_last_component),
        cmocka_unit_test(clean_gives_one_spelling_for_each_path),
        cmocka_unit_test(clean_of_random_paths_is_clean_and_stable),
        cmocka_unit_test(clean_has_no_limit_but_the_arena),
        cmocka_unit_test(join_puts_one_slash_between),
        cmocka_unit_test(parent_takes_one_component_away),
    };

    return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
