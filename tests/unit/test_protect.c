/* SPDX-License-Identifier: Apache-2.0 */
/* Protected names below the top of writable roots, and what presets leave writable. */
#include "lib/tree.h"

static void names_that_exist_deeper_are_protected(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/a/.envrc", "");
    make_file(t, "/home/w/a/b/.vscode/tasks.json", "");
    make_file(t, "/home/w/a/b/.claude/settings.json", "");
    make_file(t, "/home/w/1/2/3/4/5/.mcp.json", "");
    make_file(t, "/home/w/1/2/3/4/5/6/.mcp.json", "");
    make_file(t, "/home/w/a/plain", "");
    run(t);
    has(t, "bind-ro @/home/w/a/.envrc\n");
    has(t, "bind-ro @/home/w/a/b/.vscode\n");
    has(t, "pin @/home/w/a/b/.claude\n");
    has(t, "bind-ro @/home/w/a/b/.claude/settings.json\n");
    has(t, "bind-ro @/home/w/1/2/3/4/5/.mcp.json\n");
    has_not(t, "@/home/w/1/2/3/4/5/6");
    has_not(t, "@/home/w/a/.idea"); /* absent ones only at the top */
    has_not(t, "@/home/w/a/b/.claude/hooks");
    has_not(t, "@/home/w/a/plain");
}

/* The name's rule is exact and the pattern is not, but protection never shows what is hidden. */
static void a_pattern_hides_protected_names(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/.npmrc", "");
    make_file(t, "/home/w/sub/.envrc", "");
    make_file(t, "/home/w/.vscode/x", "");
    rule(t, "filesystem.exclude", "**/.[ne]*rc");
    rule(t, "filesystem.rw", "**/.vscode");
    run(t);
    has(t, "mask-file @/home/w/.npmrc\n");
    has(t, "mask-file @/home/w/sub/.envrc\n");
    has(t, "bind-ro @/home/w/.vscode\n");
    rule(t, "filesystem.rw", ".vscode"); /* an exact grant counts more than protection */
    run(t);
    has_not(t, "bind-ro @/home/w/.vscode\n");
}

static void links_with_a_protected_name_are_held_at_both_ends(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/a/real", "");
    make_link(t, "real", "/home/w/a/.envrc");
    make_link(t, "nowhere", "/home/w/a/.mcp.json");
    run(t);
    has(t, "pin @/home/w/a/.envrc\n");
    has(t, "bind-ro @/home/w/a/real\n");
    has(t, "pin @/home/w/a/.mcp.json\n");
}

static void what_the_host_runs_anyway_is_not_searched(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/a/node_modules/x/.envrc", "");
    make_file(t, "/home/w/.venv/site-packages/x/.envrc", "");
    make_git(t, "/home/w/node_modules/x/.git");
    run(t);
    has_not(t, "node_modules");
    has_not(t, "site-packages");
}

static void a_root_inside_a_root_has_all_its_levels(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/1/2/3/4/5/.envrc", "");
    rule(t, "filesystem.rw", "..");
    run(t);
    has(t, "bind-rw @/home\n");
    has(t, "bind-ro @/home/w/1/2/3/4/5/.envrc\n");
}

static void a_root_that_another_rule_closes_is_not_searched(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/a/.envrc", "");
    make_file(t, "/home/w/b/c/.envrc", "");
    rule(t, "filesystem.ro", ".");
    rule(t, "filesystem.rw", "b");
    run(t);
    has_not(t, "@/home/w/a");
    has(t, "bind-rw @/home/w/b\n");
    has(t, "bind-ro @/home/w/b/c/.envrc\n");
}

static void roots_of_a_pattern_are_searched(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/o/x1/s/.envrc", "");
    make_git(t, "/home/o/x1/.git");
    rule(t, "filesystem.rw", "~/o/x*");
    run(t);
    has(t, "bind-rw @/home/o/x1\n");
    has(t, "bind-ro @/home/o/x1/s/.envrc\n");
    has(t, "bind-ro @/home/o/x1/.git/config\n");
}

static void the_home_as_working_directory_is_not_searched(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/x/.envrc", "");
    assert_int_equal(chdir(at(t, "/home")), 0);
    run(t);
    has_not(t, "@/home/x");
}

static void a_closed_directory_of_ours_is_protected_as_a_whole(void **state)
{
    struct tree *t = *state;

    obey_permissions(true);
    make_file(t, "/home/w/a/closed/.envrc", "");
    assert_int_equal(chmod(at(t, "/home/w/a/closed"), 0), 0);
    run(t);
    has(t, "bind-ro @/home/w/a/closed\n");
    assert_int_equal(chmod(at(t, "/home/w/a/closed"), 0755), 0);
    obey_permissions(false);
}

static void nested_and_bare_repositories_are_protected(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_git(t, "/home/w/v/dep/.git");
    make_file(t, "/home/w/v/broken/.git/config", "");
    make_git(t, "/home/w/v/bare");
    make_dir(t, "/home/w/v/half/objects"); /* names that a project may have, too */
    make_dir(t, "/home/w/v/half/refs");
    make_dir(t, "/home/w/v/half/config");
    make_file(t, "/home/w/v/once/config", "[core]\n\trepositoryformatversion = 0\n");
    make_file(t, "/home/w/v/never/config", "[core]\n\tformat = 0\n[x]\nbare = true\n");
    only(t, "@git");
    rule(t, "filesystem.presets", "@base");
    no_names(t);
    run(t);
    has(t, "bind-ro @/home/w/v/dep/.git/config\n");
    has(t, "bind-ro @/home/w/v/dep/.git/hooks held\n");
    has(t, "bind-ro @/home/w/v/broken/.git/config\n");
    has(t, "bind-ro @/home/w/v/bare/config\n");
    has(t, "bind-ro @/home/w/v/bare/hooks held\n");
    has(t, "bind-ro @/home/w/v/once/config\n");
    has(t, "bind-ro @/home/w/v/once/hooks held\n");
    has_not(t, "@/home/w/v/dep/refs");
    has_not(t, "@/home/w/v/never");
    has_not(t, "@/home/w/v/half");
}

static void without_git_preset_and_names_nothing_is_searched(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/v/dep/.git");
    make_file(t, "/home/w/v/.envrc", "");
    only(t, "@base");
    no_names(t);
    expect(t, "bind-rw @/home/w\n");
}

static void what_a_config_names_is_protected(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_file(
        t, "/home/w/.git/config",
        "[core] hooksPath = \"ho ok\\\\s\" ; comment\n\tworktree = ../tree\n"
        "[INCLUDE]\n\tpath = ../inc/first\\\nx\n[includeIf \"gitdir:[x]\\\"\"] path=~/w/second\n");
    make_file(t, "/home/w/second", "[core]\nhookspath = /nowhere/h\nhookspath=~/w/other\n");
    make_file(t, "/home/w/other/pre-commit", "");
    make_dir(t, "/home/w/inc");
    make_dir(t, "/home/w/tree");
    make_file(t, "/home/.gitconfig", "[core]\n\thooksPath = mine\n");
    only(t, "@git");
    rule(t, "filesystem.presets", "@base");
    no_names(t);
    run(t);
    has(t, "bind-ro @/home/w/ho ok\\s held\n");
    has(t, "bind-ro @/home/w/tree/ho ok\\s held\n");
    has(t, "bind-ro @/home/w/.git/ho ok\\s held\n"); /* of a push */
    has(t, "bind-ro @/home/w/.git/mine held\n");
    has(t, "bind-ro @/home/w/inc/firstx held\n");
    has(t, "bind-ro @/home/w/second\n");
    has(t, "bind-ro @/home/w/other\n");
    has(t, "bind-ro @/home/w/mine held\n");
}

static void a_config_that_cannot_be_read_whole_is_refused(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_file(t, "/home/w/.git/config", "[include]\npath = config\n");
    expect_error(t, NULL, ABX_E_CONFIG, "/home/w/.git/config' names: it includes too many files",
                 "!@git");
    char *large = malloc((2u << 20) + 1);
    assert_non_null(large);
    memset(large, '\n', 2u << 20);
    large[2u << 20] = '\0';
    make_file(t, "/home/w/.git/config", large);
    expect_error(t, NULL, ABX_E_CONFIG, "it is too large", "");
    large[1u << 20] = '\0';
    for (int i = 0; i < 8; i++)
        make_file(t, arena_printf(&t->arena, "/home/w/%d/.git/config", i), large);
    for (size_t i = 0; i < 1u << 20; i += 2)
        large[i] = 'a'; /* as many keys as there can be */
    make_file(t, "/home/w/8/.git/config", large);
    free(large);
    make_file(t, "/home/w/.git/config", "");
    expect_error(t, NULL, ABX_E_CONFIG, "too large together", "!@git");
}

static void agents_and_caches_leave_data_writable_and_nothing_else(void **state)
{
    static const char *const data[] = { ".claude/projects/p", ".claude/todos/x",   ".cache/pip/x",
                                        ".cache/go-build/x",  ".cargo/registry/x", "go/pkg/mod",
                                        ".npm/_cacache/x",    ".codex/sessions/x" };
    static const char *const rest[] = { ".claude/shell-snapshots",
                                        ".claude/local",
                                        ".claude/statusline.sh",
                                        ".claude/plugins",
                                        ".cache/p10k-dump.zsh",
                                        ".cache/gitstatus",
                                        ".cache/nvim",
                                        ".cache/pre-commit",
                                        ".cargo/bin",
                                        ".cargo/env",
                                        ".npm/_npx",
                                        "go/bin",
                                        "go/src",
                                        ".bun/bin",
                                        ".codex/config.toml",
                                        ".pi/agent/bin" };
    struct tree *t = *state;

    for (size_t i = 0; i < ARRAY_LEN(data); i++)
        make_dir(t, arena_printf(&t->arena, "/home/%s", data[i]));
    for (size_t i = 0; i < ARRAY_LEN(rest); i++)
        make_file(t, arena_printf(&t->arena, "/home/%s/x", rest[i]), "");
    run(t);
    for (size_t i = 0; i < ARRAY_LEN(data); i++)
        has_not(t, arena_printf(&t->arena, "bind-ro @/home/%s", data[i]));
    for (size_t i = 0; i < ARRAY_LEN(rest); i++)
        has_not(t, arena_printf(&t->arena, "bind-rw @/home/%s", rest[i]));
    has(t, "bind-rw @/home/.claude/projects\n");
    has(t, "bind-rw @/home/.cargo/registry\n");
    has_not(t, "bind-rw @/home/.claude\n"); /* nothing new beside them */
    has_not(t, "bind-rw @/home/.cargo\n");
    has(t, "bind-rw @/home/.cache\n");
    has(t, "bind-ro @/home/.cache/nvim\n");
    has(t, "bind-ro @/home/.cache/p10k-dump.zsh\n");
    rule(t, "filesystem.rw", "~/.cache/nvim"); /* what the user says counts */
    run(t);
    has_not(t, "bind-ro @/home/.cache/nvim\n");
}

static void an_empty_folder_is_open_for_the_first_run(void **state)
{
    struct tree *t = *state;

    make_dir(t, "/home/.cargo/bin");
    make_dir(t, "/home/.claude");
    run(t);
    has(t, "bind-rw @/home/.cargo\n");
    has(t, "bind-ro @/home/.cargo/bin\n");
    has(t, "bind-ro @/home/.cargo/config.toml held\n");
    has(t, "bind-rw @/home/.claude\n");
    has(t, "bind-ro @/home/.claude/hooks held\n");
    make_dir(t, "/home/.cargo/registry");
    make_dir(t, "/home/.claude/todos");
    run(t);
    has_not(t, "bind-rw @/home/.cargo\n");
    has_not(t, "@/home/.cargo/config.toml");
    has_not(t, "bind-rw @/home/.claude\n");
    has_not(t, "@/home/.claude/hooks");
}

static void a_link_may_not_choose_the_working_directory(void **state)
{
    struct tree *t = *state;

    make_dir(t, "/home/w/real");
    make_dir(t, "/home/.config");
    make_link(t, "real", "/home/w/inner");
    make_link(t, "../.config", "/home/w/pkg");
    make_link(t, "w", "/home/own");
    assert_int_equal(scan(t, "inner", NULL), ABX_OK);
    assert_int_equal(scan(t, at(t, "/home/own"), NULL), ABX_OK);
    assert_int_equal(scan(t, at(t, "/home/own/inner"), NULL), ABX_OK);
    expect_error(t, "pkg", ABX_E_INVALID, "/home/w/pkg' leads to '", "name the directory itself");
    expect_error(t, at(t, "/home/own/pkg"), ABX_E_INVALID, "/home/w/pkg' leads to '", "/.config'");
}

#define PROTECT_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROTECT_TEST(names_that_exist_deeper_are_protected),
        PROTECT_TEST(a_pattern_hides_protected_names),
        PROTECT_TEST(links_with_a_protected_name_are_held_at_both_ends),
        PROTECT_TEST(what_the_host_runs_anyway_is_not_searched),
        PROTECT_TEST(a_root_inside_a_root_has_all_its_levels),
        PROTECT_TEST(a_root_that_another_rule_closes_is_not_searched),
        PROTECT_TEST(roots_of_a_pattern_are_searched),
        PROTECT_TEST(the_home_as_working_directory_is_not_searched),
        PROTECT_TEST(a_closed_directory_of_ours_is_protected_as_a_whole),
        PROTECT_TEST(nested_and_bare_repositories_are_protected),
        PROTECT_TEST(without_git_preset_and_names_nothing_is_searched),
        PROTECT_TEST(what_a_config_names_is_protected),
        PROTECT_TEST(a_config_that_cannot_be_read_whole_is_refused),
        PROTECT_TEST(agents_and_caches_leave_data_writable_and_nothing_else),
        PROTECT_TEST(an_empty_folder_is_open_for_the_first_run),
        PROTECT_TEST(a_link_may_not_choose_the_working_directory),
    };

    return cmocka_run_group_tests_name("protect", tests, NULL, NULL);
}
