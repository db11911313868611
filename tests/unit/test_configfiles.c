/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files: which are read, and which are refused for what they are. */
#include "lib/tree.h"

#include <sys/resource.h>

#include "lib/need.h"
#include "probe/configfiles.h"

static int32_t find(struct tree *t, const char *cwd, const char *file,
                    struct configfile ret[CONFIGFILES_COUNT], abx_error **err)
{
    const struct configfiles_request request = { .cwd = cwd, .file = file };

    return configfiles_find(&request, &t->arena, ret, err);
}

static void refused(struct tree *t, const char *file, const char *message, const char *hint)
{
    struct configfile files[CONFIGFILES_COUNT];
    abx_error *err = NULL;

    assert_int_not_equal(find(t, NULL, file, files, &err), ABX_OK);
    if (!strstr(abx_error_message(err), message) || !strstr(abx_error_hint(err), hint))
        fail_msg("'%s' / '%s'", abx_error_message(err), abx_error_hint(err));
    abx_error_free(err);
}

static const struct configfile *of(const struct configfile files[CONFIGFILES_COUNT],
                                   enum origin origin)
{
    for (size_t i = 0; i < CONFIGFILES_COUNT; i++)
        if (files[i].origin == origin)
            return &files[i];
    return NULL;
}

static void the_nearest_project_and_the_users_own_are_found(void **state)
{
    struct tree *t = *state;
    struct configfile files[CONFIGFILES_COUNT];

    make_git(t, "/home/w/.git");
    make_file(t, "/home/w/.agentbox.json", "{}");
    make_file(t, "/home/.config/agentbox/config.yaml", "a: 1");
    make_dir(t, "/home/w/deep/er");
    assert_int_equal(find(t, "deep/er", NULL, files, NULL), ABX_OK);
    assert_string_equal(of(files, ORIGIN_PROJECT)->text, "{}");
    assert_string_equal(of(files, ORIGIN_PROJECT)->directory, at(t, "/home/w"));
    assert_string_equal(of(files, ORIGIN_GLOBAL)->text, "a: 1");
    make_file(t, "/home/xdg/agentbox/config.json", "{ }");
    setenv("XDG_CONFIG_HOME", at(t, "/home/xdg"), 1);
    assert_int_equal(find(t, NULL, NULL, files, NULL), ABX_OK);
    assert_string_equal(of(files, ORIGIN_GLOBAL)->text, "{ }");
    unsetenv("XDG_CONFIG_HOME");
    make_file(t, "/home/w/other.json", "{1}");
    assert_int_equal(find(t, NULL, "other.json", files, NULL), ABX_OK);
    assert_string_equal(of(files, ORIGIN_PROJECT)->text, "{1}");
    assert_int_equal(find(t, at(t, "/home/none"), NULL, files, NULL), ABX_OK); /* others say so */
    const char *name = NULL;
    assert_int_equal(configfiles_name("deep", "../other.json", &t->arena, &name, NULL), ABX_OK);
    assert_string_equal(name, at(t, "/home/w/other.json"));
}

static void what_is_no_file_of_ours_is_refused(void **state)
{
    struct tree *t = *state;
    const char *path = at(t, "/home/w/.agentbox.json");

    make_link(t, "/etc/passwd", "/home/w/.agentbox.json");
    refused(t, NULL, "symbolic link", "--config");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(t, NULL, "not a plain file", "--no-config");
    assert_int_equal(unlink(path), 0);
    make_file(t, "/home/w/.agentbox.json", "{}");
    assert_int_equal(chmod(path, 0646), 0);
    refused(t, NULL, "others can write it", "chmod go-w");
    assert_int_equal(chmod(path, 0), 0);
    obey_permissions(true);
    refused(t, NULL, "Permission denied", "");
    obey_permissions(false);
    assert_int_equal(chmod(path, 0644), 0);
    make_file(t, "/home/w/.agentbox.yaml", "");
    refused(t, NULL, "both", "keep one");
    assert_int_equal(unlink(at(t, "/home/w/.agentbox.yaml")), 0);
    make_file(t, "/home/w/.agentbox.yml", "");
    refused(t, NULL, ".agentbox.yml': a file of that name would not be read",
            "call it .agentbox.yaml");
    assert_int_equal(unlink(at(t, "/home/w/.agentbox.yml")), 0);
    assert_int_equal(truncate(path, (2 << 20)), 0);
    refused(t, NULL, "larger than 1 MiB", "page of text");
    if (geteuid() == 0) {
        assert_int_equal(truncate(path, 0), 0);
        assert_int_equal(chown(path, 12345, 12345), 0);
        refused(t, NULL, "belongs to another user", "chown");
    }
}

static void a_file_by_its_name_has_to_be_one(void **state)
{
    struct tree *t = *state;
    struct configfile one;
    abx_error *err = NULL;

    make_file(t, "/home/w/c.json", "{}");
    make_dir(t, "/home/w/dir");
    assert_int_equal(configfiles_read(NULL, "c.json", ORIGIN_PROJECT, &t->arena, &one, NULL),
                     ABX_OK);
    assert_string_equal(one.path, at(t, "/home/w/c.json"));
    assert_int_equal(one.len, 2);
    static const char *const wrong[] = { "none.json", "none/c.json", "dir/", "c.json/x", "dir" };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_int_equal(configfiles_read(NULL, wrong[i], ORIGIN_PROJECT, &t->arena, &one, &err),
                         ABX_E_CONFIG);
        assert_non_null(strstr(abx_error_message(err), wrong[i][0] == 'd' ? "dir" : "c"));
        abx_error_free(err);
        err = NULL;
    }
    refused(t, "dir/", "it is a directory", "name the file in it");
    refused(t, "none/x", "none/x", "");
    assert_int_equal(chmod(at(t, "/home/w/dir"), 0), 0);
    obey_permissions(true);
    assert_int_equal(configfiles_read(NULL, "dir/x", ORIGIN_PROJECT, &t->arena, &one, NULL),
                     ABX_E_CONFIG);
    obey_permissions(false);
}

static void looking_that_fails_is_no_absence(void **state)
{
    struct tree *t = *state;
    struct configfile files[CONFIGFILES_COUNT];
    struct rlimit had, none;

    make_file(t, "/home/xdg/agentbox/config.json", "{}");
    assert_int_equal(chmod(at(t, "/home/xdg"), 0), 0);
    setenv("XDG_CONFIG_HOME", at(t, "/home/xdg"), 1);
    obey_permissions(true);
    refused(t, NULL, "look for configuration in '", "");
    obey_permissions(false);
    assert_int_equal(chmod(at(t, "/home/xdg"), 0700), 0);
    unsetenv("XDG_CONFIG_HOME");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &had), 0);
    none = had;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0); /* what is open stays */
    const int32_t of_own = find(t, NULL, NULL, files, NULL);
    const int32_t of_other = find(t, at(t, "/home/w"), NULL, files, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &had), 0);
    assert_int_equal(of_own, ABX_E_CONFIG);
    assert_int_equal(of_other, ABX_E_IO);
    assert_int_equal(find(t, NULL, NULL, files, NULL), ABX_OK);
}

/* /tmp, and what somebody else owns. */
static void the_search_ends_where_others_may_put_files(void **state)
{
    struct tree *t = *state;
    struct configfile files[CONFIGFILES_COUNT];

    need(geteuid() == 0, "root: gives files away");
    make_git(t, "/home/w/.git");
    make_file(t, "/home/w/.agentbox.json", "{}");
    make_dir(t, "/home/w/open/in");
    assert_int_equal(find(t, "open/in", NULL, files, NULL), ABX_OK);
    assert_non_null(of(files, ORIGIN_PROJECT)->text);
    assert_int_equal(chmod(at(t, "/home/w/open"), 01777), 0);
    assert_int_equal(find(t, "open/in", NULL, files, NULL), ABX_OK);
    assert_null(of(files, ORIGIN_PROJECT)->text);
    assert_int_equal(chmod(at(t, "/home/w/open"), 0755), 0);
    assert_int_equal(chown(at(t, "/home/w/open"), 12345, 12345), 0);
    assert_int_equal(find(t, "open/in", NULL, files, NULL), ABX_OK);
    assert_null(of(files, ORIGIN_PROJECT)->text);
}

static void a_mode_that_a_command_can_give_does_not_end_the_search(void **state)
{
    struct tree *t = *state;
    static const char *const opened[] = { "/home/w/open", "/home/w" };

    make_git(t, "/home/w/.git");
    make_file(t, "/home/w/.agentbox.json", "{}");
    make_dir(t, "/home/w/open/in");
    for (size_t i = 0; i < ARRAY_LEN(opened); i++) {
        struct configfile files[CONFIGFILES_COUNT];

        assert_int_equal(chmod(at(t, opened[i]), 0777), 0);
        assert_int_equal(find(t, "open/in", NULL, files, NULL), ABX_OK);
        assert_non_null(of(files, ORIGIN_PROJECT)->text);
    }
    if (geteuid() == 0) { /* what somebody else made there is told */
        struct configfile files[CONFIGFILES_COUNT];

        assert_int_equal(chown(at(t, "/home/w/.agentbox.json"), 12345, 12345), 0);
        assert_int_equal(find(t, "open/in", NULL, files, NULL), ABX_E_CONFIG);
    }
}

/* A command can make a repository below the project's file. */
static void the_outermost_repository_counts(void **state)
{
    struct tree *t = *state;
    struct configfile files[CONFIGFILES_COUNT];

    make_git(t, "/home/w/.git");
    make_file(t, "/home/w/.agentbox.json", "{}");
    make_git(t, "/home/w/a/.git");
    make_dir(t, "/home/w/a/b");
    make_file(t, "/home/w/a/b/.git", "gitdir: nowhere");
    assert_int_equal(find(t, "a/b", NULL, files, NULL), ABX_OK);
    assert_non_null(of(files, ORIGIN_PROJECT)->text);
    assert_string_equal(of(files, ORIGIN_PROJECT)->directory, at(t, "/home/w"));
    assert_null(of(files, ORIGIN_PROJECT)->hides);
    make_git(t, "/.git"); /* above the home: not looked at */
    make_file(t, "/.agentbox.json", "{}");
    assert_int_equal(unlink(at(t, "/home/w/.agentbox.json")), 0);
    assert_int_equal(find(t, "a/b", NULL, files, NULL), ABX_OK);
    assert_null(of(files, ORIGIN_PROJECT)->text);
    make_git(t, "/home/.git");
    make_file(t, "/home/.agentbox.json", "{0}");
    assert_int_equal(find(t, "a/b", NULL, files, NULL), ABX_OK);
    assert_string_equal(of(files, ORIGIN_PROJECT)->text, "{0}");
    if (geteuid() != 0)
        return;
    assert_int_equal(chmod(at(t, "/home"), 01777), 0); /* others could have made both */
    assert_int_equal(find(t, "a/b", NULL, files, NULL), ABX_OK);
    assert_null(of(files, ORIGIN_PROJECT)->text);
}

static void a_file_says_whose_place_it_takes(void **state)
{
    struct tree *t = *state;
    struct configfile files[CONFIGFILES_COUNT];

    make_file(t, "/home/w/.agentbox.yaml", "");
    make_file(t, "/home/w/a/b/.agentbox.json", "{}");
    make_git(t, "/home/w/a/.git");
    make_dir(t, "/home/w/a/b/c");
    assert_int_equal(find(t, "a/b/c", NULL, files, NULL), ABX_OK);
    assert_non_null(of(files, ORIGIN_PROJECT)->text);
    assert_null(of(files, ORIGIN_PROJECT)->hides); /* that one is outside of the repository */
    make_git(t, "/home/w/.git");
    assert_int_equal(find(t, "a/b/c", NULL, files, NULL), ABX_OK);
    assert_string_equal(of(files, ORIGIN_PROJECT)->directory, at(t, "/home/w/a/b"));
    assert_string_equal(of(files, ORIGIN_PROJECT)->hides, at(t, "/home/w/.agentbox.yaml"));
    make_link(t, "nowhere", "/home/w/a/.agentbox.jsonc");
    assert_int_equal(find(t, "a/b/c", NULL, files, NULL), ABX_OK);
    assert_string_equal(of(files, ORIGIN_PROJECT)->hides, at(t, "/home/w/a/.agentbox.jsonc"));
    assert_int_equal(find(t, "a", "b/.agentbox.json", files, NULL), ABX_OK);
    assert_string_equal(of(files, ORIGIN_PROJECT)->hides, at(t, "/home/w/a/.agentbox.jsonc"));
    make_file(t, "/home/w/a/b/x.json", "{}"); /* is found by its name only */
    assert_int_equal(find(t, "a/b", "x.json", files, NULL), ABX_OK);
    assert_null(of(files, ORIGIN_PROJECT)->hides);
}

/* A file further up would not count: whoever makes a deep directory must not gain by it. */
static void what_lies_too_deep_is_refused(void **state)
{
    struct tree *t = *state;
    struct configfile files[CONFIGFILES_COUNT];
    const char *path = "/home/w";
    abx_error *err = NULL;

    make_git(t, "/home/w/.git");
    for (int i = 2; i < CONFIGFILES_MAX_DEPTH; i++) /* the last one is the home */
        path = arena_printf(&t->arena, "%s/d", path);
    make_dir(t, path);
    make_file(t, "/home/w/.agentbox.json", "{}");
    assert_int_equal(find(t, at(t, path), NULL, files, NULL), ABX_OK);
    assert_non_null(of(files, ORIGIN_PROJECT)->text);
    path = arena_printf(&t->arena, "%s/d", path);
    make_dir(t, path);
    assert_int_equal(find(t, at(t, path), NULL, files, &err), ABX_E_CONFIG);
    assert_non_null(strstr(abx_error_message(err), "directories deep"));
    assert_string_equal(abx_error_subject(err), at(t, path));
    assert_non_null(strstr(abx_error_hint(err), "--config"));
    abx_error_free(err);
}

static void a_name_needs_a_directory_that_is_there(void **state)
{
    struct tree *t = *state;
    const char *name = "untouched";
    abx_error *err = NULL;

    assert_int_equal(configfiles_name(NULL, "w/..", &t->arena, &name, NULL), ABX_E_CONFIG);
    make_dir(t, "/home/gone");
    assert_int_equal(chdir(at(t, "/home/gone")), 0);
    assert_int_equal(rmdir(at(t, "/home/gone")), 0);
    assert_int_equal(configfiles_name(NULL, "x.json", &t->arena, &name, &err), ABX_E_CONFIG);
    assert_non_null(strstr(abx_error_message(err), "find configuration 'x.json'"));
    assert_string_equal(name, "untouched");
    abx_error_free(err);
}

static void without_memory_no_file_is_left_out(void **state)
{
    struct tree *t = *state;
    struct configfile files[CONFIGFILES_COUNT], one;
    const struct configfiles_request request = { .cwd = "in/side" };
    size_t wanting = 0;

    make_git(t, "/home/w/.git");
    make_file(t, "/home/w/in/side/.agentbox.json", "{}");
    make_file(t, "/home/w/.agentbox.json", "{}");
    make_file(t, "/home/.config/agentbox/config.json", "{}");
    for (size_t limit = 0;; limit += 16) {
        _arena_ struct arena arena;

        arena_init(&arena, limit);
        int32_t found = configfiles_find(&request, &arena, files, NULL);
        const char *name = NULL;
        int32_t named = configfiles_name("in", "../x", &arena, &name, NULL);
        assert_true(named == ABX_OK ? str_eq(name, at(t, "/home/w/x")) : named == ABX_E_NOMEM);
        int32_t read = configfiles_read("/", at(t, "/home/w/.agentbox.json"), ORIGIN_PROJECT,
                                        &arena, &one, NULL);
        if (found == ABX_OK && read == ABX_OK && named == ABX_OK)
            break;
        assert_true(found == ABX_E_NOMEM || of(files, ORIGIN_PROJECT)->hides);
        assert_true(found == ABX_E_NOMEM || of(files, ORIGIN_GLOBAL)->text);
        wanting++;
    }
    assert_true(wanting > 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_nearest_project_and_the_users_own_are_found),
        TEST(what_is_no_file_of_ours_is_refused),
        TEST(a_file_by_its_name_has_to_be_one),
        TEST(looking_that_fails_is_no_absence),
        TEST(the_search_ends_where_others_may_put_files),
        TEST(a_mode_that_a_command_can_give_does_not_end_the_search),
        TEST(the_outermost_repository_counts),
        TEST(a_file_says_whose_place_it_takes),
        TEST(what_lies_too_deep_is_refused),
        TEST(a_name_needs_a_directory_that_is_there),
        TEST(without_memory_no_file_is_left_out),
    };

    return cmocka_run_group_tests_name("configfiles", tests, NULL, NULL);
}
