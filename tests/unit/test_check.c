/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts through the library: whose rules count, and what the caller's classifier may say. */
#include "lib/api_case.h"

#include <pthread.h>

static abx_check *check_text(abx_manager *m, const char *text)
{
    abx_command *c = NULL;
    abx_check *check = NULL;
    abx_error *e = NULL;

    api_ok(abx_command_new_shell(text, &c, &e), &e);
    api_ok(abx_manager_check(m, c, &check, &e), &e);
    abx_command_free(c);
    return check;
}

static int32_t decide(abx_manager *m, const char *text)
{
    abx_check *check = check_text(m, text);
    int32_t decision = abx_check_decision(check);

    abx_check_free(check);
    return decision;
}

static abx_manager *make_manager(const char *config_text, const abx_hooks *hooks)
{
    abx_config *config = NULL;
    abx_manager *m = NULL;
    abx_error *e = NULL;

    api_ok(abx_config_new(&config, &e), &e);
    api_ok(abx_config_parse(config, "test", config_text, strlen(config_text), "json", &e), &e);
    api_ok(abx_manager_new(config, hooks, &m, &e), &e);
    abx_config_free(config);
    return m;
}

static void a_verdict_names_decision_rule_reason_and_part(void **state)
{
    (void)state;
    abx_check *check = NULL;
    abx_error *e = NULL;
    char *text = NULL;

    api_ok(abx_check_shell("cd /tmp && rm -rf / && ls", &check, &e), &e);
    assert_int_equal(abx_check_decision(check), ABX_DECISION_FORBIDDEN);
    assert_string_equal(abx_check_rule(check), "recursive-delete-root");
    assert_string_equal(abx_check_part(check), "rm -rf /");
    assert_true(abx_check_reason(check)[0] != '\0');
    api_ok(abx_check_json(check, &text, &e), &e);
    assert_ptr_equal(strstr(text, "{\"decision\":\"forbidden\",\"rule\":\"recursive-delete-root\","
                                  "\"reason\":\""),
                     text);
    assert_non_null(strstr(text, "\"part\":\"rm -rf /\"}\n"));
    abx_free(text);
    abx_check_free(check);
    abx_check_free(NULL);
    assert_int_equal(abx_check_decision(NULL), ABX_DECISION_FORBIDDEN);
}

static void the_four_decisions_have_names(void **state)
{
    (void)state;
    assert_string_equal(abx_decision_name(ABX_DECISION_ALLOW), "allow");
    assert_string_equal(abx_decision_name(ABX_DECISION_SANDBOXED), "sandboxed");
    assert_string_equal(abx_decision_name(ABX_DECISION_ESCALATED), "escalated");
    assert_string_equal(abx_decision_name(ABX_DECISION_FORBIDDEN), "forbidden");
    assert_string_equal(abx_decision_name(-1), "?");
    assert_string_equal(abx_decision_name(4), "?");
    assert_int_equal(decide(NULL, "ls -l"), ABX_DECISION_ALLOW);
    assert_int_equal(decide(NULL, "./unknown-program"), ABX_DECISION_SANDBOXED);
    assert_int_equal(decide(NULL, "git push"), ABX_DECISION_ESCALATED);
    assert_int_equal(decide(NULL, "rm -rf /"), ABX_DECISION_FORBIDDEN);
}

static void an_argument_is_not_read_as_shell(void **state)
{
    (void)state;
    const char *quoted[] = { "echo", "; rm -rf /", NULL };
    const char *plain[] = { "rm", "-rf", "/", NULL };
    abx_command *c = NULL;
    abx_check *check = NULL;
    abx_error *e = NULL;

    api_ok(abx_command_new(quoted, &c, &e), &e);
    api_ok(abx_manager_check(NULL, c, &check, &e), &e);
    assert_int_equal(abx_check_decision(check), ABX_DECISION_ALLOW);
    abx_check_free(check);
    abx_command_free(c);
    api_ok(abx_command_new(plain, &c, &e), &e);
    api_ok(abx_manager_check(NULL, c, &check, &e), &e);
    assert_int_equal(abx_check_decision(check), ABX_DECISION_FORBIDDEN);
    abx_check_free(check);
    abx_command_free(c);
}

static void relative_paths_are_judged_where_the_command_starts(void **state)
{
    (void)state;
    abx_command *c = NULL;
    abx_check *check = NULL;
    abx_error *e = NULL;

    api_ok(abx_command_new_shell("rm -rf ./*", &c, &e), &e);
    api_ok(abx_command_set_cwd(c, "/usr/../", &e), &e);
    api_ok(abx_manager_check(NULL, c, &check, &e), &e);
    assert_int_equal(abx_check_decision(check), ABX_DECISION_FORBIDDEN);
    abx_check_free(check);
    abx_command_free(c);
}

static void the_rules_are_listed(void **state)
{
    (void)state;
    size_t n = 0;

    for (; abx_rule_name(n); n++) {
        assert_true(abx_rule_decision(n) >= 0 && abx_rule_decision(n) <= 3);
        assert_true(abx_rule_reason(n)[0] != '\0');
        assert_true(abx_rule_example(n)[0] != '\0');
    }
    assert_true(n >= 63);
    assert_int_equal(abx_rule_decision(n), -1);
    assert_null(abx_rule_reason(n));
    assert_null(abx_rule_example(n));
}

/* ---- configuration ---- */

static void the_users_rules_and_overrides_count(void **state)
{
    (void)state;
    abx_manager *m = make_manager(
        "{\"classifier\":{\"rules\":[{\"pattern\":\"git push origin *\",\"decision\":\"allow\"},"
        "{\"pattern\":\"frobnicate *\",\"decision\":\"forbidden\",\"description\":\"no\"}],"
        "\"overrides\":{\"process-kill\":\"sandboxed\"}}}",
        NULL);

    assert_int_equal(decide(m, "git push origin main"), ABX_DECISION_ALLOW);
    assert_int_equal(decide(m, "git push"), ABX_DECISION_ESCALATED);
    assert_int_equal(decide(m, "frobnicate it"), ABX_DECISION_FORBIDDEN);
    assert_int_equal(decide(m, "kill 1"), ABX_DECISION_SANDBOXED);
    assert_int_equal(decide(m, "rm -rf /"), ABX_DECISION_FORBIDDEN);
    abx_manager_free(m);
}

static void an_update_brings_its_rules(void **state)
{
    (void)state;
    abx_manager *m = make_manager("{\"classifier\":{\"overrides\":{\"git-write\":\"forbidden\"}}}",
                                  NULL);
    abx_config *config = NULL;
    abx_error *e = NULL;

    assert_int_equal(decide(m, "git push"), ABX_DECISION_FORBIDDEN);
    api_ok(abx_config_new(&config, &e), &e);
    api_ok(abx_manager_update(m, config, &e), &e);
    assert_int_equal(decide(m, "git push"), ABX_DECISION_ESCALATED);
    api_ok(abx_config_append(config, "classifier.overrides", "no-such-rule=allow", &e), &e);
    api_fails(abx_manager_update(m, config, &e), ABX_E_CONFIG, &e);
    assert_int_equal(decide(m, "git push"), ABX_DECISION_ESCALATED);
    abx_config_free(config);
    abx_manager_free(m);
}

static void a_rule_that_does_not_exist_is_found_at_once(void **state)
{
    (void)state;
    abx_config *config = NULL;
    abx_manager *m = NULL;
    abx_error *e = NULL;

    api_ok(abx_config_new(&config, &e), &e);
    api_ok(abx_config_append(config, "classifier.overrides", "git-wriet=allow", &e), &e);
    api_fails(abx_manager_new(config, NULL, &m, &e), ABX_E_CONFIG, &e);
    abx_config_free(config);
}

static void only_the_users_own_configuration_opens_what_is_forbidden(void **state)
{
    (void)state;
    abx_manager *m = make_manager(
        "{\"classifier\":{\"overrides\":{\"recursive-delete-root\":\"escalated\"}}}", NULL);
    abx_command *c = NULL;
    abx_check *check = NULL;
    abx_error *e = NULL;

    assert_int_equal(decide(m, "rm -rf /"), ABX_DECISION_ESCALATED);
    api_ok(abx_command_new_shell("rm -rf /", &c, &e), &e);
    api_ok(abx_command_append(c, "classifier.overrides", "recursive-delete-root=allow", &e), &e);
    api_fails(abx_manager_check(m, c, &check, &e), ABX_E_CONFIG, &e);
    api_fails(abx_manager_wrap(m, c, &e), ABX_E_CONFIG, &e);
    abx_command_free(c);
    abx_manager_free(m);
}

static void a_rule_that_allows_does_not_open_what_is_forbidden(void **state)
{
    (void)state;
    abx_manager *m = make_manager(
        "{\"classifier\":{\"rules\":[{\"pattern\":\"rm *\",\"decision\":\"allow\"}]}}", NULL);

    assert_int_equal(decide(m, "rm -rf /"), ABX_DECISION_FORBIDDEN);
    abx_manager_free(m);
}

static void a_call_has_rules_of_its_own(void **state)
{
    (void)state;
    abx_manager *m = make_manager("{}", NULL);
    abx_command *c = NULL;
    abx_check *check = NULL;
    abx_error *e = NULL;

    api_ok(abx_command_new_shell("git push", &c, &e), &e);
    api_ok(abx_command_append(c, "classifier.overrides", "git-write=allow", &e), &e);
    api_ok(abx_manager_check(m, c, &check, &e), &e);
    assert_int_equal(abx_check_decision(check), ABX_DECISION_ALLOW);
    abx_check_free(check);
    api_ok(abx_manager_wrap(m, c, &e), &e);
    abx_command_free(c);
    assert_int_equal(decide(m, "git push"), ABX_DECISION_ESCALATED);
    abx_manager_free(m);
}

static void protected_paths_can_be_switched_off(void **state)
{
    (void)state;
    abx_manager *m = make_manager("{\"classifier\":{\"protectedPaths\":false}}", NULL);
    const char *text = "echo x > .git/hooks/pre-commit";

    assert_int_equal(decide(NULL, text), ABX_DECISION_FORBIDDEN);
    assert_true(decide(m, text) < ABX_DECISION_FORBIDDEN);
    abx_manager_free(m);
}

/* ---- a classifier of the caller's ---- */

struct opinion {
    int asked;
    int32_t decision; /* -1: none */
    int32_t result, set;
    int32_t seen;
};

static int32_t classify(void *user, const abx_command *command, abx_check *check)
{
    struct opinion *o = user;

    o->asked++;
    o->seen = abx_check_decision(check);
    if (!abx_command_text(command) || abx_command_argv(command) || abx_command_cwd(command))
        return 1;
    if (o->decision >= 0)
        o->set = abx_check_set(check, o->decision, "mine", "I say so.", NULL);
    return o->result;
}

static abx_manager *make_opinionated(struct opinion *o)
{
    abx_hooks hooks;

    abx_hooks_init(&hooks, sizeof hooks);
    hooks.classify = classify;
    hooks.user = o;
    return make_manager("{}", &hooks);
}

static void the_callers_classifier_decides_about_the_rest(void **state)
{
    (void)state;
    struct opinion o = { .decision = ABX_DECISION_FORBIDDEN };
    abx_manager *m = make_opinionated(&o);
    abx_command *c = NULL;
    abx_error *e = NULL;

    abx_check *check = check_text(m, "ls");
    assert_int_equal(o.seen, ABX_DECISION_ALLOW);
    assert_int_equal(abx_check_decision(check), ABX_DECISION_FORBIDDEN);
    assert_string_equal(abx_check_rule(check), "mine");
    assert_string_equal(abx_check_reason(check), "I say so.");
    assert_string_equal(abx_check_part(check), "ls");
    abx_check_free(check);
    api_ok(abx_command_new_shell("ls", &c, &e), &e);
    api_fails(abx_manager_wrap(m, c, &e), ABX_E_FORBIDDEN, &e);
    abx_command_free(c);
    o.decision = ABX_DECISION_ALLOW;
    assert_int_equal(decide(m, "git push"), ABX_DECISION_ALLOW);
    o.decision = ABX_DECISION_ESCALATED;
    api_ok(abx_command_new_shell("ls", &c, &e), &e);
    api_fails(abx_manager_wrap(m, c, &e), ABX_E_ESCALATED, &e);
    abx_command_free(c);
    o.decision = -1;
    assert_int_equal(decide(m, "git push"), ABX_DECISION_ESCALATED);
    abx_manager_free(m);
}

static void the_callers_classifier_does_not_open_what_is_forbidden(void **state)
{
    (void)state;
    struct opinion o = { .decision = ABX_DECISION_ALLOW };
    abx_manager *m = make_opinionated(&o);
    abx_error *e = NULL;

    assert_int_equal(decide(m, "rm -rf /"), ABX_DECISION_FORBIDDEN);
    assert_int_equal(o.asked, 0);
    abx_check *check = check_text(m, "rm -rf /");
    api_fails(abx_check_set(check, ABX_DECISION_ALLOW, NULL, NULL, &e), ABX_E_FORBIDDEN, &e);
    api_fails(abx_check_set(check, 4, NULL, NULL, &e), ABX_E_INVALID, &e);
    api_fails(abx_check_set(check, -1, NULL, NULL, &e), ABX_E_INVALID, &e);
    api_fails(abx_check_set(NULL, 0, NULL, NULL, &e), ABX_E_INVALID, &e);
    api_ok(abx_check_set(check, ABX_DECISION_FORBIDDEN, NULL, NULL, &e), &e);
    assert_string_equal(abx_check_rule(check), "");
    abx_check_free(check);
    abx_manager_free(m);
}

static void a_classifier_that_fails_stops_the_command(void **state)
{
    (void)state;
    struct opinion o = { .decision = ABX_DECISION_ALLOW, .result = 7 };
    abx_manager *m = make_opinionated(&o);
    abx_command *c = NULL;
    abx_check *check = NULL;
    abx_error *e = NULL;

    api_ok(abx_command_new_shell("ls", &c, &e), &e);
    api_fails(abx_manager_wrap(m, c, &e), ABX_E_CALLBACK, &e);
    api_fails(abx_manager_check(m, c, &check, &e), ABX_E_CALLBACK, &e);
    abx_command_free(c);
    abx_manager_free(m);
}

/* ---- misuse, threads ---- */

static void misuse_is_said(void **state)
{
    (void)state;
    abx_command *c = NULL;
    abx_check *check = NULL;
    abx_error *e = NULL;
    char *text = NULL;
    abx_manager *m = make_manager("{}", NULL);

    api_fails(abx_manager_check(m, NULL, &check, &e), ABX_E_INVALID, &e);
    api_fails(abx_check_shell(NULL, &check, &e), ABX_E_INVALID, &e);
    api_fails(abx_check_shell("", &check, &e), ABX_E_INVALID, &e);
    api_fails(abx_check_json(NULL, &text, &e), ABX_E_INVALID, &e);
    api_ok(abx_command_new_shell("ls", &c, &e), &e);
    api_fails(abx_manager_check(m, c, NULL, &e), ABX_E_INVALID, &e);
    api_ok(abx_manager_close(m, 1000, &e), &e);
    api_fails(abx_manager_check(m, c, &check, &e), ABX_E_CLOSED, &e);
    abx_command_free(c);
    abx_manager_free(m);
}

#define THREADS 8

static void *check_many(void *arg)
{
    abx_manager *m = arg;
    size_t wrong = 0;

    for (int i = 0; i < 200; i++) {
        abx_command *c = NULL;
        abx_check *check = NULL;
        if (abx_command_new_shell("git status && git push", &c, NULL) != ABX_OK ||
            abx_manager_check(m, c, &check, NULL) != ABX_OK)
            wrong++;
        int32_t decision = abx_check_decision(check);
        wrong += decision != ABX_DECISION_ESCALATED && decision != ABX_DECISION_SANDBOXED;
        abx_check_free(check);
        abx_command_free(c);
    }
    return (void *)wrong;
}

static void many_threads_check_while_the_rules_change(void **state)
{
    (void)state;
    abx_manager *m = make_manager("{}", NULL);
    abx_config *plain = NULL, *loose = NULL;
    abx_error *e = NULL;
    pthread_t threads[THREADS];
    void *wrong = NULL;

    api_ok(abx_config_new(&plain, &e), &e);
    api_ok(abx_config_new(&loose, &e), &e);
    api_ok(abx_config_append(loose, "classifier.overrides", "git-write=sandboxed", &e), &e);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, check_many, m), 0);
    for (int i = 0; i < 100; i++)
        api_ok(abx_manager_update(m, i % 2 ? plain : loose, &e), &e);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    abx_config_free(plain);
    abx_config_free(loose);
    abx_manager_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_names_decision_rule_reason_and_part),
        cmocka_unit_test(the_four_decisions_have_names),
        cmocka_unit_test(an_argument_is_not_read_as_shell),
        cmocka_unit_test(relative_paths_are_judged_where_the_command_starts),
        cmocka_unit_test(the_rules_are_listed),
        cmocka_unit_test(the_users_rules_and_overrides_count),
        cmocka_unit_test(an_update_brings_its_rules),
        cmocka_unit_test(a_rule_that_does_not_exist_is_found_at_once),
        cmocka_unit_test(only_the_users_own_configuration_opens_what_is_forbidden),
        cmocka_unit_test(a_rule_that_allows_does_not_open_what_is_forbidden),
        cmocka_unit_test(a_call_has_rules_of_its_own),
        cmocka_unit_test(protected_paths_can_be_switched_off),
        cmocka_unit_test(the_callers_classifier_decides_about_the_rest),
        cmocka_unit_test(the_callers_classifier_does_not_open_what_is_forbidden),
        cmocka_unit_test(a_classifier_that_fails_stops_the_command),
        cmocka_unit_test(misuse_is_said),
        cmocka_unit_test(many_threads_check_while_the_rules_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
