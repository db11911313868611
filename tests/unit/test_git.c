/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner on git repositories: directories, worktrees, submodules, forged pointers. */
#include "lib/tree.h"

static void repository_is_protected_where_it_is(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_git(t, "/home/w/.git/modules/lib/sub");
    make_dir(t, "/home/w/.git/modules/lib/sub/hooks");
    make_file(t, "/home/w/.git/worktrees/x/gitdir", "/elsewhere/.git\n");
    make_file(t, "/home/w/.git/worktrees/x/commondir", "../..\n");
    make_git(t, "/home/.git"); /* not ours: found only from home itself */
    only(t, "@git");
    rule(t, "filesystem.presets", "@base");
    no_names(t);
    expect(t, "bind-rw @/home/w\n"
              "pin @/home/w/.git\n"
              "bind-ro @/home/w/.git/commondir held\n"
              "bind-ro @/home/w/.git/config\n"
              "bind-ro @/home/w/.git/hooks held\n"
              "pin @/home/w/.git/modules\n"
              "pin @/home/w/.git/modules/lib\n"
              "pin @/home/w/.git/modules/lib/sub\n"
              "bind-ro @/home/w/.git/modules/lib/sub/commondir held\n"
              "bind-ro @/home/w/.git/modules/lib/sub/config\n"
              "bind-ro @/home/w/.git/modules/lib/sub/hooks\n"
              "pin @/home/w/.git/worktrees\n"
              "pin @/home/w/.git/worktrees/x\n"
              "bind-ro @/home/w/.git/worktrees/x/commondir\n"
              "bind-ro @/home/w/.git/worktrees/x/gitdir\n");
}

static void subdirectory_of_a_repository_can_commit(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_dir(t, "/home/w/.git/hooks");
    make_dir(t, "/home/w/sub");
    assert_int_equal(chdir(at(t, "/home/w/sub")), 0);
    only(t, "@git");
    rule(t, "filesystem.presets", "@base");
    no_names(t);
    expect(t, "bind-rw @/home/w/.git\n"
              "bind-ro @/home/w/.git/commondir held\n"
              "bind-ro @/home/w/.git/config\n"
              "bind-ro @/home/w/.git/hooks\n"
              "bind-rw @/home/w/sub\n");
    rule(t, "filesystem.ro", ".."); /* what the user says about it counts */
    run(t);
    has_not(t, "bind-rw @/home/w/.git\n");
}

static void worktree_gets_its_common_directory(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/main/.git");
    make_dir(t, "/home/main/.git/hooks");
    make_file(t, "/home/main/.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    make_file(t, "/home/main/.git/worktrees/w/commondir", "../..\n");
    make_file(t, "/home/main/.git/worktrees/w/gitdir", at(t, "/home/w/.git\n"));
    make_file(t, "/home/w/.git",
              arena_printf(&t->arena, "gitdir: %s/home/main/.git/worktrees/w\n", t->base));
    only(t, "@git");
    rule(t, "filesystem.presets", "@base");
    no_names(t);
    expect(t, "bind-rw @/home/main/.git\n"
              "bind-ro @/home/main/.git/commondir held\n"
              "bind-ro @/home/main/.git/config\n"
              "bind-ro @/home/main/.git/hooks\n"
              "pin @/home/main/.git/worktrees\n"
              "pin @/home/main/.git/worktrees/w\n"
              "bind-ro @/home/main/.git/worktrees/w/commondir\n"
              "bind-ro @/home/main/.git/worktrees/w/gitdir\n"
              "bind-rw @/home/w\n"
              "bind-ro @/home/w/.git\n");
}

static void submodule_gets_the_modules_of_its_parent(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_git(t, "/home/w/.git/modules/lib");
    make_file(t, "/home/w/.git/modules/lib/config", "[core]\n\tworktree = ../../../lib\n");
    make_file(t, "/home/w/lib/.git", "gitdir: ../.git/modules/lib\n");
    only(t, "@git");
    rule(t, "filesystem.presets", "@base");
    no_names(t);
    run(t);
    has(t, "bind-ro @/home/w/lib/.git\n"); /* from above: its pointer is protected */
    assert_int_equal(chdir(at(t, "/home/w/lib")), 0);
    run(t);
    has(t, "bind-rw @/home/w/.git/modules/lib\n");
    has(t, "bind-ro @/home/w/.git/modules/lib/config\n");
    has(t, "bind-ro @/home/w/lib/.git\n");
}

static void what_belongs_to_modules_and_worktrees_is_found(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_file(t, "/home/w/.git/config", "[extensions]\n\tworktreeConfig\n");
    make_git(t, "/home/w/.git/worktrees/x");
    make_file(t, "/home/w/.git/worktrees/x/config.worktree",
              arena_printf(&t->arena, "[core]\n\thooksPath = :(optional)%s/home/w/h\n", t->base));
    make_git(t, "/home/w/.git/worktrees/x/modules/m");
    make_git(t, "/home/w/.git/modules/m");
    make_file(t, "/home/w/.git/modules/m/config", "[extensions]\n\tworktreeConfig\n");
    make_file(t, "/home/w/.git/modules/m/config.worktree", "[core]\n\tworktree = ../../../m\n");
    make_file(t, "/home/w/.git/modules/m/worktrees/y/HEAD", "ref: refs/heads/y\n");
    make_git(t, "/home/w/.git/modules/m/n");       /* "m" and "m/n" */
    make_git(t, "/home/w/.git/modules/m/objects"); /* "m/objects" */
    make_file(t, "/home/w/.git/modules/m/logs/HEAD", "\n");
    make_file(t, "/home/w/m/.git", "x");
    only(t, "@git");
    rule(t, "filesystem.presets", "@base");
    no_names(t);
    run(t);
    has(t, "bind-ro @/home/w/h held\n");
    has(t, "bind-ro @/home/w/m/.git\n");
    has(t, "bind-ro @/home/w/.git/worktrees/x/modules/m/config\n");
    has(t, "bind-ro @/home/w/.git/modules/m/config.worktree\n");
    has(t, "bind-ro @/home/w/.git/modules/m/worktrees/y/commondir held\n");
    has(t, "bind-ro @/home/w/.git/modules/m/worktrees/y/config.worktree held\n");
    has(t, "bind-ro @/home/w/.git/modules/m/n/config\n");
    has(t, "bind-ro @/home/w/.git/modules/m/objects/config\n");
    has_not(t, "/logs/");
}

static void modules_beyond_all_depth_are_closed(void **state)
{
    struct tree *t = *state;
    const char *path = "/home/w/.git/modules", *closed = NULL;

    make_git(t, "/home/w/.git");
    for (int i = 0; i < 40; i++) {
        path = arena_printf(&t->arena, "%s/a", path);
        if (i == 32)
            closed = arena_printf(&t->arena, "bind-ro @%s\n", path);
    }
    make_git(t, path);
    only(t, "@git");
    rule(t, "filesystem.presets", "@base");
    no_names(t);
    run(t);
    has(t, closed);
}

static void forged_pointer_grants_nothing(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/other/.git");
    make_file(t, "/home/w/.git", arena_printf(&t->arena, "gitdir: %s/home/other/.git\n", t->base));
    only(t, "@git");
    rule(t, "filesystem.presets", "@base");
    no_names(t);
    run(t);
    has_not(t, "bind-rw @/home/other");
    has(t, "bind-ro @/home/w/.git\n");
    assert_int_equal(unlink(at(t, "/home/w/.git")), 0);
    make_link(t, "../other/.git", "/home/w/.git");
    run(t);
    has_not(t, "bind-rw @/home/other");
    has(t, "pin @/home/w/.git\n");
}

static void strict_repository_keeps_other_branches(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_file(t, "/home/w/.git/refs/heads/main", "1\n");
    make_file(t, "/home/w/.git/refs/heads/topic/one", "2\n");
    make_file(t, "/home/w/.git/packed-refs", "\n");
    make_dir(t, "/home/w/.git/refs/tags");
    rule(t, "filesystem.presets", "@git-strict");
    run(t);
    has_not(t, "heads/main\n");
    has(t, "bind-ro @/home/w/.git/refs/heads/topic/one\n");
    has(t, "bind-ro @/home/w/.git/refs/tags\n");
    has(t, "bind-ro @/home/w/.git/packed-refs\n");
    has(t, "bind-ro @/home/w/refs held\n"); /* so that the work tree is never a bare repository */
    has(t, "bind-ro @/home/w/commondir held\n");
}

/* Beyond those that are held: a .git that a link or a commondir can make none closes its tree. */
static void strict_trees_without_end_never_become_bare(void **state)
{
    static const char *const moved[] = { "HEAD", "objects", "refs" };
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    for (int i = 0; i < 60; i++) {
        const char *top = arena_printf(&t->arena, "/home/w/d%02d", i);
        const char *dir = arena_printf(&t->arena, "%s/.git", top);

        make_git(t, dir);
        if (i % 5 < 3) {
            const char *name = moved[i % 5];
            const char *from = at(t, arena_printf(&t->arena, "%s/%s", dir, name));

            assert_int_equal(rename(from, at(t, arena_printf(&t->arena, "%s/x", top))), 0);
            make_link(t, "../x", arena_printf(&t->arena, "%s/%s", dir, name));
        } else if (i % 5 == 3) {
            make_file(t, arena_printf(&t->arena, "%s/commondir", dir), "../../.git\n");
        }
    }
    rule(t, "filesystem.presets", "@git-strict");
    run(t);
    for (int i = 0; i < 60; i++) {
        const char *top = arena_printf(&t->arena, "bind-ro @/home/w/d%02d", i);

        if (!strstr(t->text, arena_printf(&t->arena, "%s/refs held\n", top)))
            has(t, arena_printf(&t->arena, "%s%s\n", top, i % 5 < 4 ? "" : "/.git"));
    }
}

int main(void)
{
#define SCAN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        SCAN_TEST(repository_is_protected_where_it_is),
        SCAN_TEST(subdirectory_of_a_repository_can_commit),
        SCAN_TEST(worktree_gets_its_common_directory),
        SCAN_TEST(submodule_gets_the_modules_of_its_parent),
        SCAN_TEST(what_belongs_to_modules_and_worktrees_is_found),
        SCAN_TEST(modules_beyond_all_depth_are_closed),
        SCAN_TEST(forged_pointer_grants_nothing),
        SCAN_TEST(strict_repository_keeps_other_branches),
        SCAN_TEST(strict_trees_without_end_never_become_bare),
    };

    return cmocka_run_group_tests_name("git", tests, NULL, NULL);
}
