/* SPDX-License-Identifier: Apache-2.0 */
/* The mount view: which operations a set of rules becomes. */
#include "lib/facts_case.h"

#include <time.h>

#include "base/str.h"
#include "plan/protocol.h"

#define CASE(name)                                                                                 \
    struct facts_case name;                                                                        \
    (void)state;                                                                                   \
    case_init(&name)

static void no_rules_need_no_mounts(void **state)
{
    CASE(c);
    case_expect(&c, "");
    case_done(&c);
}

static void every_run_replaces_the_usual_places(void **state)
{
    CASE(c);
    case_places(&c);
    case_workdir(&c);
    case_expect(&c, "dev /dev\n"
                    "proc /proc\n"
                    "tmpfs /run sealed\n"
                    "dir /run/agentbox\n"
                    "file /run/agentbox/inside\n"
                    "mask-dir /sys\n"
                    "tmpfs /tmp\n"
                    "bind-rw /w cwd\n");
    case_done(&c);
}

static void nested_rules_change_hands_at_each_level(void **state)
{
    CASE(c);
    case_rw(&c, "/w");
    case_ro(&c, "/w/a");
    case_rw(&c, "/w/a/b");
    case_exclude(&c, "/w/a/b/c");
    case_expect(&c, "bind-rw /w cwd\n"
                    "bind-ro /w/a\n"
                    "bind-rw /w/a/b\n"
                    "mask-dir /w/a/b/c\n");
    case_done(&c);
}

static void rules_that_change_nothing_cost_nothing(void **state)
{
    CASE(c);
    case_ro(&c, "/etc");
    case_rw(&c, "/w");
    case_rw(&c, "/w/a");
    case_rw(&c, "/w/a/b");
    case_exclude(&c, "/x");
    case_exclude(&c, "/x/y");
    case_expect(&c, "bind-rw /w cwd\nmask-dir /x\n");
    case_done(&c);
}

static void parents_of_a_protected_path_are_pinned_once(void **state)
{
    CASE(c);
    case_workdir(&c);
    case_rule(&c, ACCESS_RO, ORIGIN_BUILTIN, RULE_PROTECT, "/w/.git/config", "f");
    case_rule(&c, ACCESS_RO, ORIGIN_BUILTIN, RULE_PROTECT, "/w/.git/hooks", "d");
    case_rule(&c, ACCESS_RO, ORIGIN_BUILTIN, RULE_PROTECT, "/w/.git/modules/m/x/config", "f");
    case_rule(&c, ACCESS_RO, ORIGIN_BUILTIN, RULE_PROTECT, "/w/.git/modules/m/y/config", "f");
    case_expect(&c, "bind-rw /w cwd\n"
                    "pin /w/.git\n"
                    "bind-ro /w/.git/config\n"
                    "bind-ro /w/.git/hooks\n"
                    "pin /w/.git/modules\n"
                    "pin /w/.git/modules/m\n"
                    "pin /w/.git/modules/m/x\n"
                    "bind-ro /w/.git/modules/m/x/config\n"
                    "pin /w/.git/modules/m/y\n"
                    "bind-ro /w/.git/modules/m/y/config\n");
    case_done(&c);
}

static void sibling_with_same_prefix_is_not_taken_for_a_child(void **state)
{
    CASE(c);
    case_rw(&c, "/w");
    case_ro(&c, "/w/a");
    case_ro(&c, "/w/a-b/c");
    case_ro(&c, "/w/a.b");
    case_ro(&c, "/w/a/b");
    case_expect(&c, "bind-rw /w cwd\n"
                    "bind-ro /w/a\n"
                    "pin /w/a-b\n"
                    "bind-ro /w/a-b/c\n"
                    "bind-ro /w/a.b\n");
    case_done(&c);
}

static void cwd_below_private_tmp_is_brought_back(void **state)
{
    CASE(c);
    case_places(&c);
    c.facts.cwd = "/tmp/a/b";
    case_workdir(&c);
    case_rule(&c, ACCESS_RO, ORIGIN_BUILTIN, RULE_PROTECT, "/tmp/a/b/.git/hooks", "d");
    struct plan plan;
    char *text = case_mounts(&c, &plan);
    assert_non_null(strstr(text, "tmpfs /tmp\n"
                                 "dir /tmp/a\n"
                                 "dir /tmp/a/b\n"
                                 "bind-rw /tmp/a/b early cwd\n"
                                 "pin /tmp/a/b/.git\n"
                                 "bind-ro /tmp/a/b/.git/hooks\n"));
    free(text);
    case_done(&c);
}

static void excluded_parent_of_cwd_shows_only_the_way(void **state)
{
    CASE(c);
    c.facts.cwd = "/home/u/src/p";
    case_workdir(&c);
    case_exclude(&c, "/home/u");
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/home/u/notes", "f");
    struct plan plan;
    char *text = case_mounts(&c, &plan);
    assert_string_equal(text, "tmpfs /home/u sealed\n"
                              "file /home/u/notes\n"
                              "bind-ro /home/u/notes early\n"
                              "dir /home/u/src\n"
                              "dir /home/u/src/p\n"
                              "bind-rw /home/u/src/p early cwd\n");
    assert_int_equal(plan.mounts[0].mode, 0111);
    assert_int_equal(plan.mounts[3].mode, 0111);
    free(text);
    case_done(&c);
}

static void protection_does_not_reveal_what_is_excluded(void **state)
{
    CASE(c);
    c.facts.cwd = "/";
    case_exclude(&c, "/w");
    case_rule(&c, ACCESS_RO, ORIGIN_BUILTIN, RULE_PROTECT, "/w/.vscode", "d");
    case_expect(&c, "mask-dir /w\n");
    case_done(&c);
}

static void absent_names_are_held_at_their_first_missing_component(void **state)
{
    CASE(c);
    struct plan plan;
    case_workdir(&c);
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/w/a/b/c", "/w");
    case_rule(&c, ACCESS_EXCLUDE, ORIGIN_CALL, 0, "/w/a/x", "/w");
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/w/d/e/f", "/w/d");
    case_rule(&c, ACCESS_EXCLUDE, ORIGIN_CALL, 0, "/w/z", "/w");
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/etc/none", "/etc");
    char *text = case_mounts(&c, &plan);
    assert_string_equal(text, "bind-rw /w cwd\n"
                              "bind-ro /w/a held\n"
                              "pin /w/d\n"
                              "bind-ro /w/d/e held\n"
                              "bind-ro /w/z held\n");
    assert_int_equal(plan.hold_count, 2);
    assert_string_equal(plan.holds[0].directory, "/w");
    assert_int_equal(plan.holds[0].count, 2);
    assert_string_equal(plan.holds[0].names[0], "a");
    assert_string_equal(plan.holds[0].names[1], "z");
    assert_string_equal(plan.holds[1].directory, "/w/d");
    assert_string_equal(plan.holds[1].names[0], "e");
    free(text);
    case_done(&c);
}

static void granting_an_absent_name_lifts_its_built_in_protection(void **state)
{
    CASE(c);
    case_workdir(&c);
    case_rule(&c, ACCESS_RO, ORIGIN_BUILTIN, RULE_PROTECT | RULE_NAME, "/w/.vscode", "/w")
        ->name_root = "/w";
    case_rule(&c, ACCESS_RW, ORIGIN_CALL, 0, "/w/.vscode", "/w");
    case_expect(&c, "bind-rw /w cwd\n");
    case_done(&c);
}

static void rules_for_present_paths_say_nothing_about_absent_ones(void **state)
{
    CASE(c);
    case_workdir(&c);
    case_rule(&c, ACCESS_RO, ORIGIN_BUILTIN, RULE_IF_PRESENT, "/w/.npmrc", "/w");
    case_expect(&c, "bind-rw /w cwd\n");
    case_done(&c);
}

static void names_count_only_in_a_root_that_is_writable(void **state)
{
    CASE(c);
    case_workdir(&c);
    case_ro(&c, "/w");
    case_rule(&c, ACCESS_RO, ORIGIN_BUILTIN, RULE_PROTECT | RULE_NAME, "/w/.vscode", "/w")
        ->name_root = "/w";
    case_expect(&c, "");
    case_done(&c);
}

static void file_rules_use_file_operations(void **state)
{
    CASE(c);
    case_workdir(&c);
    case_rule(&c, ACCESS_RW, ORIGIN_BUILTIN, RULE_IF_PRESENT, "/home/u/.claude.json", "f");
    case_rule(&c, ACCESS_EXCLUDE, ORIGIN_BUILTIN, 0, "/home/u/.netrc", "f");
    case_rule(&c, ACCESS_EXCLUDE, ORIGIN_CALL, 0, "/w/.env", "f");
    case_expect(&c, "bind-rw /home/u/.claude.json optional\n"
                    "mask-file /home/u/.netrc\n"
                    "bind-rw /w cwd\n"
                    "mask-file /w/.env\n");
    case_done(&c);
}

static void final_rules_are_ceilings_for_all_below(void **state)
{
    CASE(c);
    c.facts.cwd = "/";
    case_rw(&c, "/home/u");
    case_rule(&c, ACCESS_EXCLUDE, ORIGIN_BUILTIN, RULE_FINAL, "/home/u/.local/state/agentbox", "d");
    case_rw(&c, "/home/u/.local/state/agentbox");
    case_rw(&c, "/home/u/.local/state/agentbox/x");
    case_rule(&c, ACCESS_RO, ORIGIN_BUILTIN, RULE_FINAL, "/home/u/.config/agentbox", "d");
    case_rw(&c, "/home/u/.config/agentbox/y");
    case_exclude(&c, "/home/u/.config/agentbox/z");
    case_expect(&c, "bind-rw /home/u\n"
                    "pin /home/u/.config\n"
                    "bind-ro /home/u/.config/agentbox\n"
                    "mask-dir /home/u/.config/agentbox/z\n"
                    "pin /home/u/.local\n"
                    "pin /home/u/.local/state\n"
                    "mask-dir /home/u/.local/state/agentbox\n");
    case_done(&c);
}

static void absent_state_directory_is_held_in_a_writable_home(void **state)
{
    CASE(c);
    c.facts.cwd = "/";
    case_rw(&c, "/home/u");
    case_rule(&c, ACCESS_EXCLUDE, ORIGIN_BUILTIN, RULE_FINAL, "/home/u/.local/state/agentbox",
              "/home/u/.local");
    case_expect(&c, "bind-rw /home/u\npin /home/u/.local\nbind-ro /home/u/.local/state held\n");
    case_done(&c);
}

static void symlinks_of_a_restriction_are_pinned_where_writable(void **state)
{
    CASE(c);
    const struct pin_fact pins[] = { { "/w/conf", 7, 70, true, true },
                                     { "/etc/link", 7, 71, true, false } };
    case_workdir(&c);
    struct path_fact *f = case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/w/real/conf", "f");
    f->pins = pins;
    f->pin_count = 2;
    struct plan plan;
    char *text = case_mounts(&c, &plan);
    assert_string_equal(text, "bind-rw /w cwd\n"
                              "pin /w/conf\n"
                              "pin /w/real\n"
                              "bind-ro /w/real/conf\n");
    assert_int_equal(plan.mounts[1].ino, 70);
    free(text);
    case_done(&c);
}

static void planted_symlink_does_not_widen_a_grant(void **state)
{
    CASE(c);
    const struct pin_fact pin = { "/w/build", 7, 70, true, true };
    case_workdir(&c);
    struct path_fact *f = case_rule(&c, ACCESS_RW, ORIGIN_CALL, 0, "/home/u/.ssh", "d");
    f->pins = &pin;
    f->pin_count = 1;
    case_expect_error(&c, ABX_E_CONFIG,
                      "symbolic link in a writable directory leads to "
                      "'/home/u/.ssh'",
                      "name the target itself");
    f->path = "/w/out"; /* it may lead to what is writable anyway */
    case_expect(&c, "bind-rw /w cwd\n");
    case_done(&c);
}

static void symlink_counts_where_no_run_could_have_planted_it(void **state)
{
    CASE(c);
    struct pin_fact pin = { "/home/u/.cache", 7, 70, true, true };
    case_workdir(&c);
    struct path_fact *f = case_rule(&c, ACCESS_RW, ORIGIN_BUILTIN, RULE_STORE, "/data/cache", "d");
    f->pins = &pin;
    f->pin_count = 1;
    case_expect(&c, "bind-rw /data/cache\nbind-rw /w cwd\n");
    pin.path = "/home/u/.npm/_logs"; /* in a folder that an earlier run may have had */
    case_expect(&c, "bind-rw /w cwd\n");
    pin.is_loose = false;
    case_expect(&c, "bind-rw /data/cache\nbind-rw /w cwd\n");
    case_done(&c);
}

static void writable_root_directory_becomes_writable_entries(void **state)
{
    CASE(c);
    const struct keep_fact top[] = {
        { .path = "/etc", .is_dir = true, .dev = 1, .ino = 3 },
        { .path = "/home", .is_dir = true, .dev = 1, .ino = 4 },
        { .path = "/tmp", .is_dir = true, .dev = 1, .ino = 5 },
        { .path = "/vmlinuz", .dev = 1, .ino = 6 },
    };
    case_places(&c);
    c.facts.places[PLACE_DEV] = c.facts.places[PLACE_PROC] = c.facts.places[PLACE_RUN] = NULL;
    c.facts.places[PLACE_SHM] = NULL;
    c.facts.top = top;
    c.facts.top_count = ARRAY_LEN(top);
    c.facts.cwd = "/";
    case_rw(&c, "/");
    case_rule(&c, ACCESS_EXCLUDE, ORIGIN_BUILTIN, 0, "/home/u/.ssh", "d");
    case_rule(&c, ACCESS_RO, ORIGIN_SYSTEM, 0, "/etc", "d");
    case_expect(&c, "bind-rw /home\n"
                    "pin /home/u\n"
                    "mask-dir /home/u/.ssh\n"
                    "mask-dir /sys\n"
                    "tmpfs /tmp\n"
                    "bind-rw /vmlinuz\n");
    case_done(&c);
}

static void root_directory_cannot_be_excluded(void **state)
{
    CASE(c);
    case_exclude(&c, "/");
    case_expect_error(&c, ABX_E_CONFIG, "'/' cannot be hidden", "exclude what it must not see");
    case_done(&c);
}

static void places_that_are_made_anew_take_no_rules(void **state)
{
    static const char *const paths[] = { "/proc",         "/proc/1",
                                         "/dev",          "/dev/kvm",
                                         "/dev/shm",      "/run",
                                         "/run/agentbox", "/run/agentbox/inside" };
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        CASE(c);
        case_places(&c);
        case_rw(&c, paths[i]);
        case_expect_error(&c, ABX_E_CONFIG, "made anew for every run", "leave it out");
        case_done(&c);
    }
}

static void below_run_and_shm_grants_are_possible(void **state)
{
    CASE(c);
    struct plan plan;
    case_places(&c);
    c.facts.cwd = "/dev/shm/p";
    case_workdir(&c);
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/run/user/1000/x", "f");
    char *text = case_mounts(&c, &plan);
    assert_non_null(strstr(text, "dev /dev\ndir /dev/shm/p\nbind-rw /dev/shm/p early cwd\n"));
    assert_non_null(strstr(text, "file /run/agentbox/inside\n"
                                 "dir /run/user\n"
                                 "dir /run/user/1000\n"
                                 "file /run/user/1000/x\n"
                                 "bind-ro /run/user/1000/x early\n"));
    free(text);
    case_done(&c);
}

static void needed_entries_of_run_are_kept(void **state)
{
    CASE(c);
    const struct keep_fact keeps[] = {
        { .path = "/run/current-system", .target = "/nix/store/abc" },
        { .path = "/run/systemd/resolve/stub-resolv.conf", .dev = 3, .ino = 4 },
    };
    struct plan plan;
    case_places(&c);
    c.facts.keeps = keeps;
    c.facts.keep_count = ARRAY_LEN(keeps);
    char *text = case_mounts(&c, &plan);
    assert_non_null(strstr(text, "link /run/current-system\n"
                                 "dir /run/systemd\n"
                                 "dir /run/systemd/resolve\n"
                                 "file /run/systemd/resolve/stub-resolv.conf\n"
                                 "bind-ro /run/systemd/resolve/stub-resolv.conf early optional\n"));
    free(text);
    case_done(&c);
}

static void user_may_replace_private_tmp_and_show_sys(void **state)
{
    CASE(c);
    struct plan plan;
    case_places(&c);
    case_rw(&c, "/tmp");
    case_ro(&c, "/sys");
    char *text = case_mounts(&c, &plan);
    assert_non_null(strstr(text, "bind-rw /tmp\n"));
    assert_null(strstr(text, "tmpfs /tmp"));
    assert_null(strstr(text, "/sys"));
    free(text);
    case_done(&c);
}

static void host_tmp_is_a_writable_root(void **state)
{
    CASE(c);
    struct plan plan;
    case_places(&c);
    c.policy.tmp_private = false;
    char *text = case_mounts(&c, &plan);
    assert_non_null(strstr(text, "bind-rw /tmp\n"));
    free(text);
    case_done(&c);
}

static void special_working_directories_are_not_made_writable(void **state)
{
    static const char *const cwds[] = { "/", "/home", "/home/u", "/tmp", "/run", "/dev", "/proc" };
    for (size_t i = 0; i < ARRAY_LEN(cwds); i++) {
        CASE(c);
        struct plan plan;
        case_places(&c);
        c.policy.presets = 1;
        c.facts.cwd = cwds[i];
        case_workdir(&c);
        char *text = case_mounts(&c, &plan);
        assert_null(strstr(text, "cwd"));
        assert_non_null(plan_notice(&c.policy, &c.facts));
        free(text);
        case_done(&c);
    }
}

static void hidden_working_directory_is_refused(void **state)
{
    CASE(c);
    case_places(&c);
    case_exclude(&c, "/w");
    case_expect_error(&c, ABX_E_INVALID, "working directory '/w'", "-C DIR");
    c.facts.path_count = 0;
    c.facts.cwd = "/tmp/x";
    case_expect_error(&c, ABX_E_INVALID, "hidden in the sandbox", "--ro or --rw");
    case_done(&c);
}

static void nested_namespaces_get_a_whole_proc(void **state)
{
    CASE(c);
    const struct proc_fact proc = { "/proc/keys", false };
    struct plan plan;
    case_places(&c);
    c.facts.procs = &proc;
    c.facts.proc_count = 1;
    char *text = case_mounts(&c, &plan);
    assert_non_null(strstr(text, "proc /proc\nmask-file /proc/keys optional\n"));
    free(text);
    c.policy.nested = true;
    text = case_mounts(&c, &plan);
    assert_non_null(strstr(text, "proc /proc writable\ntmpfs"));
    free(text);
    c.facts.is_root = true; /* root's number alone opens the host's sysctls */
    text = case_mounts(&c, &plan);
    assert_non_null(strstr(text, "proc /proc\ntmpfs"));
    free(text);
    case_done(&c);
}

static void landlock_writes_only_what_is_mounted_writable(void **state)
{
    CASE(c);
    struct plan plan;
    case_places(&c);
    case_workdir(&c);
    case_rw(&c, "/data");
    case_ro(&c, "/w/a");
    free(case_mounts(&c, &plan));
    static const struct {
        uint32_t grant;
        const char *path;
    } expected[] = { { GRANT_READ, "/" },      { GRANT_WRITE, "/data" },
                     { GRANT_DEVICE, "/dev" }, { GRANT_WRITE, "/dev/shm" },
                     { GRANT_WRITE, "/tmp" },  { GRANT_WRITE, "/w" } };
    assert_int_equal(plan.rule_count, ARRAY_LEN(expected));
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        assert_int_equal(plan.rules[i].grant, expected[i].grant);
        assert_string_equal(plan.rules[i].path, expected[i].path);
    }
    case_done(&c);
}

static void ten_thousand_rules_take_less_than_a_second(void **state)
{
    CASE(c);
    struct plan plan;
    struct timespec start, end;
    case_workdir(&c);
    for (unsigned i = 0; i < 10000; i++) {
        char *path = arena_printf(&c.arena, "/w/d%u/e%u/f%u", i % 7, i % 101, i);
        assert_non_null(path);
        case_rule(&c, i % 2 ? ACCESS_RO : ACCESS_EXCLUDE, ORIGIN_CALL, 0, path, "f");
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    free(case_mounts(&c, &plan));
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(plan.mount_count > 10000);
    assert_true(end.tv_sec - start.tv_sec + (end.tv_nsec < start.tv_nsec ? -1 : 0) < 1);
    case_done(&c);
}

static void too_many_mounts_and_holds_are_refused(void **state)
{
    CASE(c);
    case_workdir(&c);
    for (unsigned i = 0; i <= LAUNCH_MAX_HOLDS; i++) {
        char *dir = arena_printf(&c.arena, "/w/d%u", i);
        char *path = arena_printf(&c.arena, "/w/d%u/x", i);
        assert_true(dir && path);
        case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, path, dir);
    }
    case_expect_error(&c, ABX_E_CONFIG, "in more than 96 directories", "common parent");
    case_done(&c);
}

static void running_out_of_memory_is_reported_at_any_point(void **state)
{
    for (size_t limit = 0; limit < 40000; limit += 1000) {
        CASE(c);
        struct arena small;
        struct plan plan = { 0 };
        abx_error *err = NULL;
        case_places(&c);
        case_workdir(&c);
        case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/w/a/b/c", "d");
        case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/w/n", "/w");
        arena_init(&small, limit);
        int32_t r = mounts_compile(&c.policy, &c.facts, &small, &plan, &err);
        assert_true(r == ABX_OK || r == ABX_E_NOMEM);
        assert_int_equal(abx_error_code(err), r);
        abx_error_free(err);
        arena_done(&small);
        case_done(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rules_need_no_mounts),
        cmocka_unit_test(every_run_replaces_the_usual_places),
        cmocka_unit_test(nested_rules_change_hands_at_each_level),
        cmocka_unit_test(rules_that_change_nothing_cost_nothing),
        cmocka_unit_test(parents_of_a_protected_path_are_pinned_once),
        cmocka_unit_test(sibling_with_same_prefix_is_not_taken_for_a_child),
        cmocka_unit_test(cwd_below_private_tmp_is_brought_back),
        cmocka_unit_test(excluded_parent_of_cwd_shows_only_the_way),
        cmocka_unit_test(protection_does_not_reveal_what_is_excluded),
        cmocka_unit_test(absent_names_are_held_at_their_first_missing_component),
        cmocka_unit_test(granting_an_absent_name_lifts_its_built_in_protection),
        cmocka_unit_test(rules_for_present_paths_say_nothing_about_absent_ones),
        cmocka_unit_test(names_count_only_in_a_root_that_is_writable),
        cmocka_unit_test(file_rules_use_file_operations),
        cmocka_unit_test(final_rules_are_ceilings_for_all_below),
        cmocka_unit_test(absent_state_directory_is_held_in_a_writable_home),
        cmocka_unit_test(symlinks_of_a_restriction_are_pinned_where_writable),
        cmocka_unit_test(planted_symlink_does_not_widen_a_grant),
        cmocka_unit_test(symlink_counts_where_no_run_could_have_planted_it),
        cmocka_unit_test(writable_root_directory_becomes_writable_entries),
        cmocka_unit_test(root_directory_cannot_be_excluded),
        cmocka_unit_test(places_that_are_made_anew_take_no_rules),
        cmocka_unit_test(below_run_and_shm_grants_are_possible),
        cmocka_unit_test(needed_entries_of_run_are_kept),
        cmocka_unit_test(user_may_replace_private_tmp_and_show_sys),
        cmocka_unit_test(host_tmp_is_a_writable_root),
        cmocka_unit_test(special_working_directories_are_not_made_writable),
        cmocka_unit_test(hidden_working_directory_is_refused),
        cmocka_unit_test(nested_namespaces_get_a_whole_proc),
        cmocka_unit_test(landlock_writes_only_what_is_mounted_writable),
        cmocka_unit_test(ten_thousand_rules_take_less_than_a_second),
        cmocka_unit_test(too_many_mounts_and_holds_are_refused),
        cmocka_unit_test(running_out_of_memory_is_reported_at_any_point),
    };

    return cmocka_run_group_tests_name("mounts", tests, NULL, NULL);
}
