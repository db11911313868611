/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns on real trees: what they match, where the walk goes, and when it gives up. */
#include "lib/tree.h"

#include "base/glob.h"

static int32_t scan_within(struct tree *t, struct scan_budget budget, abx_error **err)
{
    assert_int_equal(policy_build(NULL, t->call, &t->arena, &t->policy, err), ABX_OK);
    return scan_facts_within(&budget, t->policy, NULL, &t->arena, &t->facts, err);
}

static void expect_refusal(struct tree *t, struct scan_budget budget, const char *const *words)
{
    abx_error *err = NULL;

    assert_int_equal(scan_within(t, budget, &err), ABX_E_CONFIG);
    for (; *words; words++)
        if (!strstr(abx_error_message(err), *words) && !strstr(abx_error_hint(err), *words))
            fail_msg("no '%s' in '%s' / '%s'", *words, abx_error_message(err), abx_error_hint(err));
    abx_error_free(err);
}

static void plain(struct tree *t)
{
    only(t, "@base");
    no_names(t);
}

static void many_patterns_find_all_their_matches(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/.env", "");
    make_file(t, "/home/w/a/.env", "");
    make_file(t, "/home/w/a/b/c/key.pem", "");
    make_file(t, "/home/w/a/b/x1/y/deep", "");
    make_file(t, "/home/w/a/b/.x2/y/deep", "");
    make_file(t, "/home/w/z/one", "");
    make_file(t, "/home/w/z/two/three", "");
    plain(t);
    rule(t, "filesystem.exclude", "**/.env");
    rule(t, "filesystem.exclude", "**/*.pem");
    rule(t, "filesystem.ro", "a/b/*/y");   /* starts inside what the others walk */
    rule(t, "filesystem.exclude", "z/**"); /* all below, not the directory */
    rule(t, "filesystem.exclude", "~/w/a/**/nothing/**");
    expect(t, "bind-rw @/home/w\n"
              "mask-file @/home/w/.env\n"
              "pin @/home/w/a\n"
              "mask-file @/home/w/a/.env\n"
              "pin @/home/w/a/b\n"
              "pin @/home/w/a/b/.x2\n"
              "bind-ro @/home/w/a/b/.x2/y\n"
              "pin @/home/w/a/b/c\n"
              "mask-file @/home/w/a/b/c/key.pem\n"
              "pin @/home/w/a/b/x1\n"
              "bind-ro @/home/w/a/b/x1/y\n"
              "pin @/home/w/z\n"
              "mask-file @/home/w/z/one\n"
              "mask-dir @/home/w/z/two\n");
}

static void a_match_below_a_match_wins_over_a_rule_between(void **state)
{
    struct tree *t = *state;

    make_dir(t, "/home/w/s/open/s");
    plain(t);
    rule(t, "filesystem.exclude", "**/s");
    rule(t, "filesystem.rw", "s/open");
    run(t);
    has(t, "tmpfs @/home/w/s\n");
    has(t, "bind-rw @/home/w/s/open early\n");
    has(t, "mask-dir @/home/w/s/open/s\n");
}

static void only_directories_that_may_matter_are_read(void **state)
{
    struct tree *t = *state;

    for (int i = 0; i < 300; i++)
        make_file(t, arena_printf(&t->arena, "/home/w/big/f%d", i), "");
    make_file(t, "/home/w/a/x.c", "");
    make_file(t, "/home/w/a/b/x.c", "");
    only(t, NULL);
    no_names(t);
    rule(t, "filesystem.exclude", "a/*.c");
    rule(t, "filesystem.exclude", "a/*/x.c");
    rule(t, "filesystem.exclude", "*/b/*.c");
    /* big is entered for the third pattern: its two names and a's are all that is looked at. */
    assert_int_equal(scan_within(t, (struct scan_budget){ 400, 10 }, NULL), ABX_OK);
    rule(t, "filesystem.exclude", "a/**/x");
    assert_int_equal(scan_within(t, (struct scan_budget){ 400, 10 }, NULL), ABX_OK);
    only(t, NULL);
    settings_free(t->call);
    assert_int_equal(settings_new(ORIGIN_CALL, &t->call, NULL), ABX_OK);
    only(t, NULL);
    no_names(t);
    rule(t, "filesystem.exclude", "a/*.c");
    rule(t, "filesystem.exclude", "a/b/**");
    assert_int_equal(scan_within(t, (struct scan_budget){ 10, 10 }, NULL), ABX_OK);
}

static void one_walk_serves_all_patterns(void **state)
{
    struct tree *t = *state;

    for (int i = 0; i < 200; i++)
        make_file(t, arena_printf(&t->arena, "/home/w/d%d/f", i), "");
    only(t, NULL);
    no_names(t);
    for (int i = 0; i < 15; i++)
        rule(t, "filesystem.exclude", arena_printf(&t->arena, "**/nothing%d", i));
    assert_int_equal(scan_within(t, (struct scan_budget){ 500, 10 }, NULL), ABX_OK);
}

static void too_much_to_look_at_names_the_pattern_and_the_place(void **state)
{
    static const char *const words[] = { "'**/secret'", "more than 20 directory entries",
                                         "/home/w/d'", "fewer '**'", NULL };
    struct tree *t = *state;

    for (int i = 0; i < 30; i++)
        make_file(t, arena_printf(&t->arena, "/home/w/d/f%d", i), "");
    plain(t);
    rule(t, "filesystem.exclude", "**/secret");
    expect_refusal(t, (struct scan_budget){ 20, 10 }, words);
}

static void too_long_a_walk_names_the_pattern_and_the_place(void **state)
{
    static const char *const words[] = { "'**/secret'", "seconds", "/home/w'", NULL };
    struct tree *t = *state;

    make_file(t, "/home/w/f", "");
    plain(t);
    rule(t, "filesystem.exclude", "**/secret");
    expect_refusal(t, (struct scan_budget){ 20, -2 }, words);
}

static void many_patterns_do_not_put_the_clock_off(void **state)
{
    static const char *const words[] = { "seconds", "/home/w/d'", NULL };
    struct tree *t = *state;
    char name[200];

    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < 900; i++)
        make_file(t, arena_printf(&t->arena, "/home/w/d/%s%d", name, i), "");
    plain(t);
    for (int i = 0; i < 20000; i++)
        rule(t, "filesystem.exclude", arena_printf(&t->arena, "d/a*b%d", i));
    expect_refusal(t, (struct scan_budget){ 1000, 0 }, words);
}

static void too_long_among_submodules_names_the_place(void **state)
{
    static const char *const words[] = { "/home/w/.git/modules'", "seconds", NULL };
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_dir(t, "/home/w/.git/modules/lib");
    only(t, "@git"); /* nothing is writable: there is no walk */
    expect_refusal(t, (struct scan_budget){ 1000, -2 }, words);
}

static void too_much_for_protected_names_is_said(void **state)
{
    static const char *const words[] = { "protected names", "more than 20", "/home/w/d'", NULL };
    struct tree *t = *state;

    for (int i = 0; i < 30; i++)
        make_file(t, arena_printf(&t->arena, "/home/w/d/f%d", i), "");
    expect_refusal(t, (struct scan_budget){ 20, 10 }, words);
}

static void too_deep_a_tree_is_an_error(void **state)
{
    static const char *const words[] = { "levels", "'**/x'", NULL };
    struct tree *t = *state;

    for (unsigned i = 0; i < SCAN_MAX_DEPTH + 2; i++) {
        assert_int_equal(mkdir("d", 0755), 0);
        assert_int_equal(chdir("d"), 0);
    }
    assert_int_equal(chdir(at(t, "/home/w")), 0);
    plain(t);
    rule(t, "filesystem.exclude", "**/x");
    expect_refusal(t, (struct scan_budget){ 100000, 10 }, words);
}

static void too_many_components_are_an_error(void **state)
{
    struct tree *t = *state;
    char pattern[2 * GLOB_MAX_PARTS + 8] = "*";

    for (unsigned i = 0; i < GLOB_MAX_PARTS; i++)
        strcat(pattern, "/a");
    rule(t, "filesystem.exclude", pattern);
    expect_error(t, NULL, ABX_E_CONFIG, "the pattern is too long", "64 components");
}

static void links_are_not_followed_and_loops_end(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/o/secret", "");
    make_dir(t, "/home/w/a");
    make_link(t, "..", "/home/w/a/up");
    make_link(t, "a", "/home/w/also");
    make_link(t, "../o", "/home/w/out");
    make_link(t, "../../o/secret", "/home/w/a/secret");
    plain(t);
    rule(t, "filesystem.exclude", "**/secret");
    /* The link that matches stands for where it leads; the directory is not entered by "out". */
    expect(t, "mask-file @/home/o/secret\n"
              "bind-rw @/home/w\n"
              "pin @/home/w/a\n"
              "pin @/home/w/a/secret\n");
}

static void directories_that_cannot_be_listed_are_denied_or_named(void **state)
{
    struct tree *t = *state;

    obey_permissions(true);
    make_file(t, "/home/w/a/closed/secret", "");
    assert_int_equal(chmod(at(t, "/home/w/a/closed"), 0311), 0);
    plain(t);
    rule(t, "filesystem.exclude", "**/secret");
    run(t);
    has(t, "mask-dir @/home/w/a/closed\n");
    rule(t, "filesystem.exclude", "a/closed/*");
    expect_error(t, NULL, ABX_E_IO, "list '", "without a pattern");
    assert_int_equal(chmod(at(t, "/home/w/a/closed"), 0755), 0);
    obey_permissions(false);
}

static void thousands_of_matches_are_thousands_of_masks(void **state)
{
    struct tree *t = *state;

    for (int i = 0; i < 3000; i++)
        make_file(t, arena_printf(&t->arena, "/home/w/d%d/%d.key", i / 100, i), "");
    plain(t);
    rule(t, "filesystem.exclude", "**/*.key");
    run(t);
    unsigned masks = 0;
    for (uint32_t i = 0; i < t->plan->mount_count; i++)
        masks += t->plan->mounts[i].kind == MOUNT_MASK_FILE &&
                 path_is_beneath(t->plan->mounts[i].path, t->base);
    assert_int_equal(masks, 3000);
}

static void more_masks_than_a_plan_holds_are_refused(void **state)
{
    static const struct policy_rule rule = { ACCESS_EXCLUDE, ORIGIN_CALL, RULE_GLOB, "**/f*", "x" };
    size_t count = PLAN_MAX_MOUNTS + 1;
    struct facts_case c;
    struct plan plan = { 0 };
    abx_error *err = NULL;

    (void)state;
    case_init(&c);
    struct path_fact *paths = arena_alloc(&c.arena, count, sizeof *paths);
    assert_non_null(paths);
    for (size_t i = 0; i < count; i++) {
        paths[i] = (struct path_fact){ .rule = &rule, .why = "x **/f*", .exists = true };
        paths[i].path = arena_printf(&c.arena, "/w/f%zu", i);
    }
    c.facts.paths = paths;
    c.facts.path_count = count;
    assert_int_equal(mounts_compile(&c.policy, &c.facts, &c.arena, &plan, &err), ABX_E_CONFIG);
    assert_non_null(strstr(abx_error_message(err), "at most 65536 are possible"));
    assert_non_null(strstr(abx_error_hint(err), "name parents"));
    abx_error_free(err);
    case_done(&c);
}

static void special_characters_above_a_pattern_mean_themselves(void **state)
{
    static const char *const dirs[] = { "[ab]", "st*r", "q?", "back\\slash", "{x}", "new\nline" };
    struct tree *t = *state;

    make_file(t, "/home/w/a/k.key", "");
    make_file(t, "/home/w/star/k.key", "");
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        const char *dir = arena_printf(&t->arena, "/home/w/%s", dirs[i]);
        make_file(t, arena_printf(&t->arena, "%s/k.key", dir), "");
        assert_int_equal(chdir(at(t, dir)), 0);
        settings_free(t->call);
        assert_int_equal(settings_new(ORIGIN_CALL, &t->call, NULL), ABX_OK);
        plain(t);
        rule(t, "filesystem.exclude", "*.key");
        expect(t, arena_printf(&t->arena, "bind-rw @%s\nmask-file @%s/k.key\n", dir, dir));
    }
}

#define WALK_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WALK_TEST(many_patterns_find_all_their_matches),
        WALK_TEST(a_match_below_a_match_wins_over_a_rule_between),
        WALK_TEST(only_directories_that_may_matter_are_read),
        WALK_TEST(one_walk_serves_all_patterns),
        WALK_TEST(too_much_to_look_at_names_the_pattern_and_the_place),
        WALK_TEST(too_long_a_walk_names_the_pattern_and_the_place),
        WALK_TEST(many_patterns_do_not_put_the_clock_off),
        WALK_TEST(too_long_among_submodules_names_the_place),
        WALK_TEST(too_much_for_protected_names_is_said),
        WALK_TEST(too_deep_a_tree_is_an_error),
        WALK_TEST(too_many_components_are_an_error),
        WALK_TEST(links_are_not_followed_and_loops_end),
        WALK_TEST(directories_that_cannot_be_listed_are_denied_or_named),
        WALK_TEST(thousands_of_matches_are_thousands_of_masks),
        cmocka_unit_test(more_masks_than_a_plan_holds_are_refused),
        WALK_TEST(special_characters_above_a_pattern_mean_themselves),
    };

    return cmocka_run_group_tests_name("walk", tests, NULL, NULL);
}
