/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner on real trees: paths, links, patterns, names, working directories. */
#include "lib/tree.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>

#include "base/fd.h"
#include "lib/need.h"

static void facts_say_who_and_where(void **state)
{
    struct tree *t = *state;

    run(t);
    assert_int_equal(t->facts->uid, geteuid());
    assert_string_equal(t->facts->home, at(t, "/home"));
    assert_string_equal(t->facts->cwd, at(t, "/home/w"));
    assert_string_equal(t->facts->places[PLACE_PROC], "/proc");
}

static void home_comes_from_passwd_when_unset(void **state)
{
    struct tree *t = *state;

    unsetenv("HOME");
    assert_int_equal(scan(t, NULL, NULL), ABX_OK);
    if (geteuid() == 0)
        assert_string_equal(t->facts->home, "/root");
}

static void spellings_of_one_path_are_one(void **state)
{
    static const char *const spellings[] = { "p",      "p/",  "p/.",    "./p",        "~/w/p",
                                             "../w/p", "p//", "x/../p", "./././p/./", "gone/../p" };
    struct tree *t = *state;

    make_dir(t, "/home/w/p");
    make_dir(t, "/home/w/x");
    only(t, "@base");
    no_names(t);
    for (size_t i = 0; i < ARRAY_LEN(spellings); i++)
        rule(t, "filesystem.ro", spellings[i]);
    rule(t, "filesystem.ro", at(t, "/home/w/p"));
    make_dir(t, "/home/w/q"); /* each of these alone leads there */
    rule(t, "filesystem.ro", at(t, "/home/w//q"));
    make_dir(t, "/home/w/r");
    rule(t, "filesystem.ro", at(t, "/home/w/x/..//../w/r/"));
    expect(t, "bind-rw @/home/w\nbind-ro @/home/w/p\nbind-ro @/home/w/q\nbind-ro @/home/w/r\n");
}

static void odd_names_are_ordinary_names(void **state)
{
    static const char *const names[] = { "a\nb",    "[x]",  "back\\slash", "\xff\xfe",
                                         " space ", "st*r", "-dash" };
    struct tree *t = *state;

    only(t, "@base");
    no_names(t);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        make_file(t, arena_printf(&t->arena, "/home/w/%s", names[i]), "");
        rule(t, "filesystem.ro", names[i]);
    }
    run(t);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        has(t, arena_printf(&t->arena, "bind-ro @/home/w/%s\n", names[i]));
}

static void working_directory_with_brackets_works(void **state)
{
    struct tree *t = *state;

    make_dir(t, "/home/w/app/[slug]");
    make_file(t, "/home/w/app/[slug]/a.key", "");
    assert_int_equal(chdir(at(t, "/home/w/app/[slug]")), 0);
    only(t, "@base");
    no_names(t);
    rule(t, "filesystem.exclude", "*.key");
    expect(t, "bind-rw @/home/w/app/[slug]\nmask-file @/home/w/app/[slug]/a.key\n");
}

static void symlink_and_target_are_both_protected(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/real/conf", "");
    make_link(t, "real", "/home/w/l1");
    make_link(t, "l1/conf", "/home/w/l2");
    only(t, "@base");
    no_names(t);
    rule(t, "filesystem.ro", "l2");
    expect(t, "bind-rw @/home/w\n"
              "pin @/home/w/l1\n"
              "pin @/home/w/l2\n"
              "pin @/home/w/real\n"
              "bind-ro @/home/w/real/conf\n");
}

static void dangling_and_circular_links_are_pinned(void **state)
{
    struct tree *t = *state;

    make_link(t, "nowhere/x", "/home/w/dangling");
    make_link(t, "loop", "/home/w/loop");
    only(t, "@base");
    no_names(t);
    rule(t, "filesystem.exclude", "dangling");
    rule(t, "filesystem.exclude", "loop");
    expect(t, "bind-rw @/home/w\n"
              "pin @/home/w/dangling\n"
              "pin @/home/w/loop\n"
              "bind-ro @/home/w/nowhere held\n");
}

static void file_in_the_way_is_pinned(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/f", "");
    only(t, "@base");
    no_names(t);
    rule(t, "filesystem.ro", "f/x/y");
    expect(t, "bind-rw @/home/w\npin @/home/w/f\n");
}

static void planted_link_does_not_open_what_is_excluded(void **state)
{
    struct tree *t = *state;
    abx_error *err = NULL;
    static const char *const argv[] = { "true", NULL };
    const struct plan_request request = { .argv = argv, .argc = 1 };

    make_dir(t, "/home/.ssh");
    make_link(t, "../.ssh", "/home/w/build");
    only(t, "@base");
    rule(t, "filesystem.rw", "build");
    assert_int_equal(scan(t, NULL, NULL), ABX_OK);
    assert_int_equal(plan_compile(t->policy, t->facts, &request, &t->arena, &t->plan, &err),
                     ABX_E_CONFIG);
    assert_non_null(strstr(abx_error_message(err), "symbolic link"));
    abx_error_free(err);
}

static void patterns_find_all_and_follow_nothing(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/.env", "");
    make_file(t, "/home/w/a/.env", "");
    make_file(t, "/home/w/a/b/.env", "");
    make_file(t, "/home/w/a/b/x.pem", "");
    make_file(t, "/home/secret/.env", "");
    make_link(t, "../secret", "/home/w/out");
    make_link(t, "..", "/home/w/a/up");
    only(t, "@base");
    no_names(t);
    rule(t, "filesystem.exclude", "**/.env");
    rule(t, "filesystem.ro", "a/*/x.pem");
    rule(t, "filesystem.ro", "**/nothing");
    expect(t, "bind-rw @/home/w\n"
              "mask-file @/home/w/.env\n"
              "pin @/home/w/a\n"
              "mask-file @/home/w/a/.env\n"
              "pin @/home/w/a/b\n"
              "mask-file @/home/w/a/b/.env\n"
              "bind-ro @/home/w/a/b/x.pem\n");
}

static void restricting_patterns_are_told_for_what_comes(void **state)
{
    struct tree *t = *state;

    make_dir(t, "/home/w/real");
    make_link(t, "real", "/home/w/link");
    rule(t, "filesystem.exclude", "link/**/.env");
    rule(t, "filesystem.ro", "absent/*.lock");
    rule(t, "filesystem.rw", "*.out");
    run(t); /* the presets' own patterns speak of what exists */
    assert_int_equal(t->facts->pattern_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct pattern_fact *f = &t->facts->patterns[i];
        bool env = f->rule->access == ACCESS_EXCLUDE;
        assert_string_equal(f->start, at(t, env ? "/home/w/real" : "/home/w/absent"));
        assert_string_equal(f->pattern, env ? "**/.env" : "*.lock");
    }
}

static void trailing_double_star_means_all_below(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/d/f", "");
    make_file(t, "/home/w/d/e/g", "");
    only(t, "@base");
    no_names(t);
    rule(t, "filesystem.exclude", "d/**/");
    expect(t, "bind-rw @/home/w\n"
              "pin @/home/w/d\n"
              "mask-dir @/home/w/d/e\n"
              "mask-file @/home/w/d/f\n");
}

static void pipes_do_not_stop_the_scan(void **state)
{
    struct tree *t = *state;

    make_dir(t, "/home/w/.git");
    assert_int_equal(mkfifo(at(t, "/home/w/.git/HEAD"), 0600), 0);
    assert_int_equal(mkfifo(at(t, "/home/w/pipe"), 0600), 0);
    make_dir(t, "/home/w/.git/objects");
    make_dir(t, "/home/w/.git/refs");
    assert_int_equal(mkfifo(at(t, "/home/w/.git/config"), 0600), 0);
    rule(t, "filesystem.exclude", "**/p*");
    run(t);
    has(t, "mask-file @/home/w/pipe\n");
    has(t, "bind-ro @/home/w/.git/config\n");
}

static void default_protects_names_present_and_absent(void **state)
{
    struct tree *t = *state;

    make_dir(t, "/home/w/.claude");
    make_file(t, "/home/w/.claude/settings.json", "");
    make_dir(t, "/home/w/.vscode");
    make_file(t, "/home/w/.npmrc", "");
    run(t);
    has(t, "bind-ro @/home/w/.vscode\n");
    has(t, "bind-ro @/home/w/.npmrc\n");
    has(t, "bind-ro @/home/w/.mcp.json held\n");
    has(t, "bind-ro @/home/w/.idea held\n");
    has(t, "pin @/home/w/.claude\n");
    has(t, "bind-ro @/home/w/.claude/settings.json\n");
    has(t, "bind-ro @/home/w/.claude/hooks held\n");
    has_not(t, "@/home/w/.bashrc");
    has_not(t, "@/home/w/.yarnrc");
}

static void writable_home_protects_start_up_files_too(void **state)
{
    struct tree *t = *state;

    rule(t, "filesystem.rw", "~");
    run(t);
    has(t, "bind-rw @/home\n");
    has(t, "bind-ro @/home/.bashrc held\n");
    has(t, "bind-ro @/home/.ssh held\n");
    has(t, "bind-ro @/home/w/.mcp.json held\n"); /* the working directory counts all the same */
    has(t, "bind-ro @/home/.local held\n");      /* our own state */
}

static void own_state_cannot_be_granted(void **state)
{
    struct tree *t = *state;

    make_dir(t, "/home/.local/state/agentbox/runs");
    make_dir(t, "/xdg/agentbox");
    setenv("XDG_CONFIG_HOME", at(t, "/xdg"), 1);
    only(t, NULL);
    no_names(t);
    rule(t, "filesystem.rw", "~/.local/state/agentbox/runs");
    rule(t, "filesystem.rw", at(t, "/xdg/agentbox"));
    expect(t, "mask-dir @/home/.local/state/agentbox\n");
}

static void unknown_home_and_user_are_named(void **state)
{
    struct tree *t = *state;

    rule(t, "filesystem.rw", "~nobody-of-that-name/x");
    expect_error(t, NULL, ABX_E_CONFIG, "no such user", "'./~nobody-of-that-name/x'");
}

static void other_users_home_is_found(void **state)
{
    struct tree *t = *state;

    only(t, NULL);
    rule(t, "filesystem.ro", "~root/x");
    assert_int_equal(scan(t, NULL, NULL), ABX_OK);
    bool found = false;
    for (size_t i = 0; i < t->facts->path_count; i++)
        found = found || str_has_prefix(t->facts->paths[i].path, "/root");
    assert_true(found);
}

static void working_directory_that_is_gone_is_refused(void **state)
{
    struct tree *t = *state;

    make_dir(t, "/home/gone");
    assert_int_equal(chdir(at(t, "/home/gone")), 0);
    assert_int_equal(rmdir(at(t, "/home/gone")), 0);
    expect_error(t, NULL, ABX_E_INVALID, "find the working directory", "-C DIR");
    expect_error(t, "sub", ABX_E_INVALID, "relative to one that does not exist", "");
    assert_int_equal(scan(t, at(t, "/home/w"), NULL), ABX_OK);
    assert_string_equal(t->facts->cwd, at(t, "/home/w"));
}

static void given_working_directory_must_be_one(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/f", "");
    make_dir(t, "/home/w/d");
    make_link(t, "d", "/home/w/l");
    expect_error(t, "f", ABX_E_INVALID, "working directory 'f'", "");
    expect_error(t, "none", ABX_E_INVALID, "working directory 'none'", "");
    assert_int_equal(scan(t, "l/../l", NULL), ABX_OK);
    assert_string_equal(t->facts->cwd, at(t, "/home/w/d"));
}

static void path_longer_than_the_kernel_takes_is_found(void **state)
{
    struct tree *t = *state;
    char name[201];

    memset(name, 'n', 200);
    name[200] = '\0';
    for (int i = 0; i < 30; i++) {
        assert_int_equal(mkdir(name, 0755), 0);
        assert_int_equal(chdir(name), 0);
    }
    only(t, "@base");
    no_names(t);
    run(t);
    assert_true(strlen(t->facts->cwd) > 6000);
    has(t, "bind-rw @/home/w/nnn");
    const char *deep = t->facts->cwd;
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(scan(t, deep, NULL), ABX_OK);
    assert_string_equal(t->facts->cwd, deep);
    for (int i = 0; i < 30; i++) { /* nftw cannot */
        _fd_ int fd = fd_open_path(AT_FDCWD, path_parent(&t->arena, deep));
        assert_true(fd >= 0);
        assert_int_equal(unlinkat(fd, name, AT_REMOVEDIR), 0);
        deep = path_parent(&t->arena, deep);
    }
}

static unsigned open_descriptors(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void no_descriptor_is_left_open(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_link(t, "/etc", "/home/w/etc");
    rule(t, "filesystem.exclude", "**/x");
    rule(t, "filesystem.ro", "etc/passwd");
    rule(t, "filesystem.rw", "~nobody-of-that-name"); /* also when it fails */
    unsigned before = open_descriptors();
    assert_int_equal(scan(t, NULL, NULL), ABX_E_CONFIG);
    assert_int_equal(open_descriptors(), before);
}

static void running_out_of_memory_is_reported(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    for (size_t limit = 8000; limit < 120000; limit += 4000) {
        struct arena small;
        const struct policy *policy = NULL;
        const struct facts *facts = NULL;
        arena_init(&small, limit);
        int32_t r = policy_build(NULL, t->call, &small, &policy, NULL);
        if (r == ABX_OK)
            r = scan_facts(policy, NULL, &small, &facts, NULL);
        assert_true(r == ABX_E_NOMEM || (r == ABX_OK && facts));
        arena_done(&small);
    }
}

/* In a mount namespace of its own, so it comes last. */
static void second_mounts_show_no_more(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/secret/deep/key", "");
    make_dir(t, "/second");
    make_dir(t, "/part");
    need(unshare(CLONE_NEWNS) == 0, "root: mounting needs it");
    assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    assert_int_equal(mount(at(t, "/home"), at(t, "/second"), NULL, MS_BIND, NULL), 0);
    assert_int_equal(mount(at(t, "/home/secret/deep"), at(t, "/part"), NULL, MS_BIND, NULL), 0);
    only(t, "@base");
    no_names(t);
    rule(t, "filesystem.exclude", "~/secret");
    expect(t, "mask-dir @/home/secret\n"
              "bind-rw @/home/w\n"
              "mask-dir @/part\n"
              "mask-dir @/second/secret\n");
    assert_int_equal(umount(at(t, "/second")), 0);
    assert_int_equal(umount(at(t, "/part")), 0);
}

int main(void)
{
#define SCAN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        SCAN_TEST(facts_say_who_and_where),
        SCAN_TEST(home_comes_from_passwd_when_unset),
        SCAN_TEST(spellings_of_one_path_are_one),
        SCAN_TEST(odd_names_are_ordinary_names),
        SCAN_TEST(working_directory_with_brackets_works),
        SCAN_TEST(symlink_and_target_are_both_protected),
        SCAN_TEST(dangling_and_circular_links_are_pinned),
        SCAN_TEST(file_in_the_way_is_pinned),
        SCAN_TEST(planted_link_does_not_open_what_is_excluded),
        SCAN_TEST(patterns_find_all_and_follow_nothing),
        SCAN_TEST(restricting_patterns_are_told_for_what_comes),
        SCAN_TEST(trailing_double_star_means_all_below),
        SCAN_TEST(pipes_do_not_stop_the_scan),
        SCAN_TEST(default_protects_names_present_and_absent),
        SCAN_TEST(writable_home_protects_start_up_files_too),
        SCAN_TEST(own_state_cannot_be_granted),
        SCAN_TEST(unknown_home_and_user_are_named),
        SCAN_TEST(other_users_home_is_found),
        SCAN_TEST(working_directory_that_is_gone_is_refused),
        SCAN_TEST(given_working_directory_must_be_one),
        SCAN_TEST(path_longer_than_the_kernel_takes_is_found),
        SCAN_TEST(no_descriptor_is_left_open),
        SCAN_TEST(running_out_of_memory_is_reported),
        SCAN_TEST(second_mounts_show_no_more),
    };

    return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
