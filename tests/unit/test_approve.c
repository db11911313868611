/* SPDX-License-Identifier: Apache-2.0 */
/* Approvals: who is asked, how often, what an answer is worth, and for how long. */
#include "lib/approve_case.h"

/* ---- answers ---- */

static void forbidden_is_refused_without_a_question(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_ALWAYS);
    abx_hooks hooks = make_hooks(&s->desk);
    abx_error *e = NULL;

    hooks.approval_lookup = lookup;
    hooks.approval_store = store;
    s->desk.found = 1;
    start(s, NULL, &hooks);
    abx_command *c = api_shell(&s->api, "echo\x1b[2J; rm -rf /");
    assert_int_equal(abx_manager_wrap(s->api.manager, c, &e), ABX_E_FORBIDDEN);
    assert_string_equal(abx_error_subject(e), "recursive-delete-root");
    assert_non_null(strstr(abx_error_message(e), "'rm -rf /'"));
    assert_non_null(strstr(abx_error_message(e), "recursive-delete-root"));
    assert_true(abx_error_hint(e)[0] != '\0');
    abx_error_free(e);
    abx_command_free(c);
    abx_result *r = NULL;
    c = api_shell(&s->api, "rm -rf /");
    assert_int_equal(abx_manager_run(s->api.manager, c, &r, NULL), ABX_E_FORBIDDEN);
    abx_command_free(c);
    abx_process *p = NULL;
    c = api_shell(&s->api, "rm -rf /");
    assert_int_equal(abx_manager_spawn(s->api.manager, c, &p, NULL), ABX_E_FORBIDDEN);
    abx_command_free(c);
    assert_int_equal(s->desk.asked + s->desk.looked_up + s->desk.stored, 0);
}

static void without_an_approver_nothing_escalated_runs(void **state)
{
    struct case_state *s = *state;
    abx_error *e = NULL;

    start(s, NULL, NULL);
    abx_command *c = api_shell(&s->api, "true; " ESCALATED);
    assert_int_equal(abx_manager_wrap(s->api.manager, c, &e), ABX_E_ESCALATED);
    assert_non_null(strstr(abx_error_message(e), "'" ESCALATED "'"));
    assert_non_null(strstr(abx_error_message(e), "process-kill"));
    assert_non_null(strstr(abx_error_hint(e), "hooks.approve"));
    abx_error_free(e);
    abx_command_free(c);
    assert_int_equal(wrap_text(s, "echo hello"), ABX_OK);
    assert_int_equal(wrap_text(s, "./unknown-program"), ABX_OK);
}

static void once_is_once(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_ONCE);

    for (int i = 1; i <= 3; i++) {
        assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
        assert_int_equal(s->desk.asked, i);
    }
}

static void an_approved_command_runs_in_the_sandbox(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_ONCE);
    abx_result *r = api_run(&s->api, api_shell(&s->api, "kill -0 $$ && echo alive"));

    assert_int_equal(abx_result_exit_code(r), 0);
    assert_string_equal(abx_result_stdout(r, NULL), "alive\n");
    assert_int_equal(abx_result_sandboxed(r), 1);
    assert_int_equal(s->desk.asked, 1);
    abx_result_free(r);
}

static void who_was_asked_at_wrap_is_not_asked_at_spawn(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_ONCE);
    abx_command *c = api_shell(&s->api, "kill -0 $$");
    abx_process *p = NULL;
    abx_error *e = NULL;

    api_ok(abx_manager_wrap(s->api.manager, c, &e), &e);
    s->desk.answer = ABX_APPROVE_NO;
    api_ok(abx_command_spawn(c, &p, &e), &e);
    abx_result_free(api_wait(p, 10000));
    abx_process_free(p);
    abx_command_free(c);
    assert_int_equal(s->desk.asked, 1);
}

static void a_session_answer_is_for_exactly_this_command(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_SESSION);
    const char *argv[] = { "kill", "-0", "12345", NULL };
    abx_command *c = NULL;
    abx_error *e = NULL;

    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(s->desk.asked, 1);
    assert_int_equal(wrap_text(s, "kill -0  12345"), ABX_OK); /* a blank more */
    assert_int_equal(s->desk.asked, 2);
    assert_int_equal(wrap_text(s, "kill\n-0 12345"), ABX_OK); /* another kind of blank */
    assert_int_equal(s->desk.asked, 3);
    api_ok(abx_command_new(argv, &c, &e), &e); /* not a shell's */
    api_ok(abx_command_set_cwd(c, s->api.dir, &e), &e);
    assert_int_equal(wrap(s, c), ABX_OK);
    assert_int_equal(s->desk.asked, 4);
    c = api_shell(&s->api, ESCALATED);
    api_ok(abx_command_set_cwd(c, "/", &e), &e); /* elsewhere */
    assert_int_equal(wrap(s, c), ABX_OK);
    assert_int_equal(s->desk.asked, 5);
    c = api_shell(&s->api, ESCALATED);
    api_ok(abx_command_append(c, "filesystem.rw", "/var/tmp", &e), &e); /* with more rights */
    assert_int_equal(wrap(s, c), ABX_OK);
    assert_int_equal(s->desk.asked, 6);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(s->desk.asked, 6);
}

static void another_configuration_asks_again(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_SESSION);
    abx_config *config = NULL;
    abx_error *e = NULL;

    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    api_ok(abx_config_new(&config, &e), &e);
    api_ok(abx_config_set_string(config, "network.mode", "allowed", &e), &e);
    api_ok(abx_manager_update(s->api.manager, config, &e), &e);
    abx_config_free(config);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(s->desk.asked, 2);
}

static void a_no_is_not_kept(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_NO);

    assert_int_equal(wrap_text(s, ESCALATED), ABX_E_ESCALATED);
    s->desk.answer = ABX_APPROVE_ONCE;
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(s->desk.asked, 2);
}

static void what_is_not_a_clear_yes_is_a_no(void **state)
{
    static const int32_t answers[] = { ABX_APPROVE_FAILED, -2, 4, 100, INT32_MIN, INT32_MAX };
    struct case_state *s = start_with(state, ABX_APPROVE_NO);

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        s->desk.answer = answers[i];
        assert_int_equal(wrap_text(s, ESCALATED), ABX_E_ESCALATED);
    }
}

static void a_failed_approver_is_named_as_the_cause(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_FAILED);
    abx_command *c = api_shell(&s->api, ESCALATED);
    abx_error *e = NULL;

    assert_int_equal(abx_manager_wrap(s->api.manager, c, &e), ABX_E_ESCALATED);
    assert_int_equal(abx_error_code(abx_error_next(e)), ABX_E_CALLBACK);
    abx_error_free(e);
    abx_command_free(c);
}

static void a_question_shows_what_would_run(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_ONCE);
    const char *argv[] = { "kill",
                           "-0",
                           "it's",
                           "two words",
                           "\x1b[2J",
                           "\xe2\x80\xae"
                           "x",
                           NULL };
    abx_command *c = NULL;
    abx_error *e = NULL;

    assert_int_equal(wrap_text(s, "echo \xe2\x80\x8b;\n" ESCALATED), ABX_OK);
    assert_string_equal(s->desk.command, "echo \\u{200b};\\x0a" ESCALATED);
    assert_string_equal(s->desk.part, ESCALATED);
    assert_string_equal(s->desk.cwd, s->api.dir);
    assert_string_equal(s->desk.rule, "process-kill");
    assert_int_equal(s->desk.can_keep, 1);
    api_ok(abx_command_new(argv, &c, &e), &e);
    assert_int_equal(wrap(s, c), ABX_OK);
    assert_string_equal(s->desk.command, "kill -0 'it'\\''s' 'two words' '\\x1b[2J' '\\u{202e}x'");
}

/* ---- files that a command names ---- */

static void a_changed_script_is_asked_about_again(void **state)
{
    static const char *const texts[] = { ESCALATED "; sh run.sh",
                                         ESCALATED "; cd sub && sh ./in.sh",
                                         ESCALATED "; sh 'run.sh'" };
    struct case_state *s = start_with(state, ABX_APPROVE_SESSION);
    char path[128], inner[128];

    (void)snprintf(path, sizeof path, "%s/run.sh", s->api.dir);
    (void)snprintf(inner, sizeof inner, "%s/sub", s->api.dir);
    assert_int_equal(mkdir(inner, 0755), 0);
    (void)snprintf(inner, sizeof inner, "%s/sub/in.sh", s->api.dir);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        s->desk.asked = 0;
        write_file(path, "echo 1\n");
        write_file(inner, "echo 1\n");
        assert_int_equal(wrap_text(s, texts[i]), ABX_OK);
        assert_int_equal(wrap_text(s, texts[i]), ABX_OK);
        assert_int_equal(s->desk.asked, 1);
        write_file(path, "echo 2\n");
        write_file(inner, "echo 2\n");
        assert_int_equal(wrap_text(s, texts[i]), ABX_OK);
        assert_int_equal(s->desk.asked, 2);
    }
}

/* Its old content is found elsewhere, and what is read is no file at all. */
static void a_pipe_in_the_place_of_a_script_is_asked_about_again(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_SESSION);
    char path[128], inner[128];

    (void)snprintf(path, sizeof path, "%s/run.sh", s->api.dir);
    (void)snprintf(inner, sizeof inner, "%s/sub", s->api.dir);
    assert_int_equal(mkdir(inner, 0755), 0);
    (void)snprintf(inner, sizeof inner, "%s/sub/run.sh", s->api.dir);
    write_file(inner, "echo 1\n");
    assert_int_equal(wrap_text(s, ESCALATED "; cd sub && sh run.sh"), ABX_OK);
    assert_int_equal(rename(inner, path), 0);
    assert_int_equal(mkfifo(inner, 0644), 0);
    assert_int_equal(wrap_text(s, ESCALATED "; cd sub && sh run.sh"), ABX_OK);
    assert_int_equal(s->desk.asked, 2);
}

static void a_script_that_changes_during_the_question_does_not_run(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_SESSION);
    char path[128];
    abx_error *e = NULL;

    (void)snprintf(path, sizeof path, "%s/run.sh", s->api.dir);
    write_file(path, "echo 1\n");
    s->desk.rewrites = path;
    abx_command *c = api_shell(&s->api, ESCALATED "; sh run.sh");
    assert_int_equal(abx_manager_wrap(s->api.manager, c, &e), ABX_E_ESCALATED);
    assert_non_null(strstr(abx_error_message(e), "changed"));
    abx_error_free(e);
    abx_command_free(c);
}

static void too_many_names_cannot_be_kept(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_SESSION);
    char *text = malloc(65536), *at = text;

    assert_non_null(text);
    at += sprintf(at, ESCALATED "; echo");
    for (int i = 0; i < 5000; i++)
        at += sprintf(at, " n%d", i);
    assert_int_equal(wrap_text(s, text), ABX_OK);
    assert_int_equal(s->desk.can_keep, 0);
    assert_int_equal(wrap_text(s, text), ABX_OK);
    assert_int_equal(s->desk.asked, 2);
    free(text);
}

/* ---- caches ---- */

static void always_goes_to_the_cache_and_comes_back(void **state)
{
    struct case_state *s = *state;
    abx_hooks hooks = make_hooks(&s->desk);

    hooks.approval_lookup = lookup;
    hooks.approval_store = store;
    s->desk.answer = ABX_APPROVE_ALWAYS;
    start(s, NULL, &hooks);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(s->desk.asked, 1);
    assert_int_equal(s->desk.stored, 1);
    assert_int_equal(strspn(s->desk.key, "0123456789abcdef"), 64);
    s->desk.found = 1;
    start(s, NULL, &hooks);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(wrap_text(s, "kill -0 12346"), ABX_OK);
    assert_int_equal(s->desk.asked, 2);
    s->desk.answer = ABX_APPROVE_ONCE;
    start(s, NULL, &hooks);
    s->desk.found = 0; /* taken back */
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(s->desk.asked, 3);
    assert_int_equal(s->desk.stored, 2);
}

/* The one record in the built-in cache. */
static void find_record(const struct case_state *s, char path[512])
{
    char dir[256];
    struct dirent *entry;

    (void)snprintf(dir, sizeof dir, "%s/agentbox/approvals", s->api.dir);
    assert_int_equal(api_entries(dir), 1);
    DIR *d = opendir(dir);
    assert_non_null(d);
    while ((entry = readdir(d)))
        if (entry->d_name[0] != '.')
            (void)snprintf(path, 512, "%s/%s", dir, entry->d_name);
    (void)closedir(d);
}

static void the_file_cache_keeps_always_answers_only(void **state)
{
    static const int32_t fleeting[] = { ABX_APPROVE_NO, ABX_APPROVE_ONCE, ABX_APPROVE_SESSION };
    struct case_state *s = *state;
    abx_hooks hooks = make_hooks(&s->desk);
    char path[512];
    struct stat st;

    hooks.flags = ABX_KEEP_APPROVALS;
    for (size_t i = 0; i < 3; i++) {
        start(s, NULL, &hooks);
        s->desk.answer = fleeting[i];
        (void)wrap_text(s, ESCALATED);
        assert_int_equal(s->desk.asked, (int)i + 1);
    }
    start(s, NULL, &hooks);
    s->desk.answer = ABX_APPROVE_ALWAYS;
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(s->desk.asked, 4);
    find_record(s, path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    start(s, NULL, &hooks);
    s->desk.answer = ABX_APPROVE_NO;
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(wrap_text(s, "kill -0 12346"), ABX_E_ESCALATED);
    assert_int_equal(s->desk.asked, 5);
    assert_int_equal(unlink(path), 0); /* taken back, also for a manager that lives */
    assert_int_equal(wrap_text(s, ESCALATED), ABX_E_ESCALATED);
}

static void a_record_that_is_not_ours_alone_does_not_count(void **state)
{
    struct case_state *s = *state;
    abx_hooks hooks = make_hooks(&s->desk);
    char path[512], dir[256], link_name[600];

    hooks.flags = ABX_KEEP_APPROVALS;
    s->desk.answer = ABX_APPROVE_ALWAYS;
    start(s, NULL, &hooks);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    find_record(s, path);
    s->desk.answer = ABX_APPROVE_NO;
    start(s, NULL, &hooks);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    (void)snprintf(dir, sizeof dir, "%s/agentbox/approvals", s->api.dir);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_E_ESCALATED);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_E_ESCALATED);
    assert_int_equal(chmod(dir, 0700), 0);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    (void)snprintf(link_name, sizeof link_name, "%s.moved", path);
    assert_int_equal(rename(path, link_name), 0);
    assert_int_equal(symlink(link_name, path), 0);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_E_ESCALATED);
    assert_int_equal(unlink(path), 0);
    write_file(path, "agentbox-approval-1\n");
    assert_int_equal(wrap_text(s, ESCALATED), ABX_E_ESCALATED);
}

static void half_a_cache_is_refused(void **state)
{
    struct case_state *s = *state;
    abx_hooks hooks = make_hooks(&s->desk);
    abx_manager *m = NULL;
    abx_error *e = NULL;

    hooks.approval_lookup = lookup;
    api_fails(abx_manager_new(NULL, &hooks, &m, &e), ABX_E_INVALID, &e);
    hooks.approval_store = store;
    hooks.flags = ABX_KEEP_APPROVALS;
    api_fails(abx_manager_new(NULL, &hooks, &m, &e), ABX_E_INVALID, &e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(forbidden_is_refused_without_a_question),
        TEST(without_an_approver_nothing_escalated_runs),
        TEST(once_is_once),
        TEST(an_approved_command_runs_in_the_sandbox),
        TEST(who_was_asked_at_wrap_is_not_asked_at_spawn),
        TEST(a_session_answer_is_for_exactly_this_command),
        TEST(another_configuration_asks_again),
        TEST(a_no_is_not_kept),
        TEST(what_is_not_a_clear_yes_is_a_no),
        TEST(a_failed_approver_is_named_as_the_cause),
        TEST(a_question_shows_what_would_run),
        TEST(a_changed_script_is_asked_about_again),
        TEST(a_pipe_in_the_place_of_a_script_is_asked_about_again),
        TEST(a_script_that_changes_during_the_question_does_not_run),
        TEST(too_many_names_cannot_be_kept),
        TEST(always_goes_to_the_cache_and_comes_back),
        TEST(the_file_cache_keeps_always_answers_only),
        TEST(a_record_that_is_not_ours_alone_does_not_count),
        TEST(half_a_cache_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
