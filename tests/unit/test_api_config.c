/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers and updates through the public header: what a manager was given stays what it was, an
 * update reaches the next command and no other, and whatever fails changes nothing.
 */
#include "lib/tree.h"

#include <pthread.h>

static const char *const argv_true[] = { "true", NULL };

static abx_config *loaded(uint32_t flags, const char *file)
{
    abx_config *config = NULL;
    abx_error *err = NULL;

    if (abx_config_new(&config, &err) != ABX_OK ||
        abx_config_load_layers(config, NULL, file, flags, &err) != ABX_OK)
        fail_msg("%s", abx_error_message(err));
    return config;
}

static abx_command *command(void)
{
    abx_command *c = NULL;

    assert_int_equal(abx_command_new(argv_true, &c, NULL), ABX_OK);
    return c;
}

static bool plan_has(abx_command *c, const char *text)
{
    char *plan = NULL;

    assert_int_equal(abx_command_plan(c, "json", &plan, NULL), ABX_OK);
    bool found = strstr(plan, text);
    abx_free(plan);
    return found;
}

static void files_are_told_with_their_state(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/.agentbox.yaml", "graceSeconds: 3\n");
    abx_config *config = loaded(0, NULL);
    assert_int_equal(abx_config_files(config), 3);
    assert_string_equal(abx_config_file_origin(config, 0), "system");
    assert_string_equal(abx_config_file_origin(config, 1), "global");
    assert_int_equal(abx_config_file_state(config, 1), ABX_FILE_ABSENT);
    assert_string_equal(abx_config_file_path(config, 2), at(t, "/home/w/.agentbox.yaml"));
    assert_int_equal(abx_config_file_state(config, 2), ABX_FILE_LOADED);
    assert_int_equal(abx_config_trust(config, NULL), ABX_OK);
    assert_int_equal(abx_config_file_state(config, 2), ABX_FILE_TRUSTED);
    assert_null(abx_config_file_path(config, 3));
    abx_config_free(config);
    config = loaded(0, NULL);
    assert_int_equal(abx_config_file_state(config, 2), ABX_FILE_TRUSTED);
    abx_config_free(config);
    int32_t was = 0;
    assert_int_equal(abx_config_untrust(NULL, ".agentbox.yaml", &was, NULL), ABX_OK);
    assert_int_equal(was, 1);
    config = loaded(ABX_LOAD_SYSTEM_ONLY, NULL);
    assert_int_equal(abx_config_file_state(config, 2), ABX_FILE_ABSENT);
    abx_config_free(config);
}

static void misuse_is_refused_and_changes_nothing(void **state)
{
    struct tree *t = *state;
    abx_config *config = loaded(0, NULL);
    char *text = NULL;
    int32_t was;

    assert_int_equal(abx_config_load_layers(config, NULL, NULL, 0, NULL), ABX_E_STATE);
    assert_int_equal(abx_config_load_layers(NULL, NULL, NULL, 0, NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_trust(config, NULL), ABX_E_STATE);
    assert_int_equal(abx_config_trust(NULL, NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_untrust(NULL, "", &was, NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_show(config, "xml", &text, NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_grants(config, NULL, NULL, &text, NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_presets(NULL, NULL, "text", &text, NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_template("x", &text, NULL), ABX_E_INVALID);
    assert_null(text);
    abx_config_free(config);

    make_file(t, "/home/w/.agentbox.json", "{ \"graceSeconds\": 3, \"no\": 1 }");
    assert_int_equal(abx_config_new(&config, NULL), ABX_OK);
    assert_int_equal(abx_config_set_string(config, "shell", "/bin/kept", NULL), ABX_OK);
    assert_int_equal(abx_config_load_layers(config, NULL, NULL, 8, NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_load_layers(config, NULL, NULL, ABX_LOAD_FILE_ONLY, NULL),
                     ABX_E_INVALID);
    assert_int_equal(abx_config_load_layers(config, NULL, "f", ABX_LOAD_SYSTEM_ONLY, NULL),
                     ABX_E_INVALID);
    assert_int_equal(abx_config_load_layers(config, NULL, NULL, 0, NULL), ABX_E_CONFIG);
    assert_int_equal(abx_config_files(config), 0);
    assert_int_equal(abx_config_show(config, "text", &text, NULL), ABX_OK);
    assert_non_null(strstr(text, "/bin/kept"));
    assert_null(strstr(text, "project"));
    abx_free(text);
    abx_config_free(config);
}

static void what_calls_set_is_weaker_than_the_projects_file(void **state)
{
    struct tree *t = *state;
    abx_config *config = NULL;
    abx_manager *m = NULL;
    abx_command *c = command();

    make_file(t, "/home/w/.agentbox.json", "{ \"graceSeconds\": 3 }");
    assert_int_equal(abx_config_new(&config, NULL), ABX_OK);
    assert_int_equal(abx_config_set_string(config, "graceSeconds", "7", NULL), ABX_OK);
    assert_int_equal(abx_config_load_layers(config, NULL, NULL, 0, NULL), ABX_OK);
    assert_int_equal(abx_manager_new(config, NULL, &m, NULL), ABX_OK);
    abx_config_free(config);
    assert_int_equal(abx_manager_wrap(m, c, NULL), ABX_OK);
    assert_true(plan_has(c, "\"graceNs\":3000000000"));
    abx_command_free(c);
    abx_manager_free(m);
}

static void an_update_reaches_the_next_command_only(void **state)
{
    abx_config *config = NULL;
    abx_manager *m = NULL;
    abx_command *before = command(), *after = command();

    (void)state;
    assert_int_equal(abx_manager_new(NULL, NULL, &m, NULL), ABX_OK);
    assert_int_equal(abx_manager_wrap(m, before, NULL), ABX_OK);
    assert_int_equal(abx_config_new(&config, NULL), ABX_OK);
    assert_int_equal(abx_config_set_string(config, "graceSeconds", "77", NULL), ABX_OK);
    assert_int_equal(abx_manager_update(m, config, NULL), ABX_OK);
    /* A copy was taken. */
    assert_int_equal(abx_config_set_string(config, "graceSeconds", "88", NULL), ABX_OK);
    assert_int_equal(abx_manager_wrap(m, after, NULL), ABX_OK);
    assert_true(plan_has(before, "\"graceNs\":10000000000"));
    assert_true(plan_has(after, "\"graceNs\":77000000000"));
    abx_config_free(config);
    abx_command_free(before);
    abx_command_free(after);
    abx_manager_free(m);
}

static void a_failed_update_leaves_the_old_configuration(void **state)
{
    abx_config *config = NULL;
    abx_manager *m = NULL;
    abx_command *c = command();
    abx_error *err = NULL;

    (void)state;
    assert_int_equal(abx_config_new(&config, NULL), ABX_OK);
    assert_int_equal(abx_config_set_string(config, "graceSeconds", "77", NULL), ABX_OK);
    assert_int_equal(abx_manager_new(config, NULL, &m, NULL), ABX_OK);
    assert_int_equal(abx_config_append(config, "network.mitmProxy.domains", "x.org", NULL), ABX_OK);
    assert_int_equal(abx_config_set_string(config, "graceSeconds", "88", NULL), ABX_OK);
    assert_int_equal(abx_manager_update(m, config, &err), ABX_E_CONFIG);
    assert_non_null(strstr(abx_error_message(err), "network.mitmProxy.domains"));
    abx_error_free(err);
    assert_int_equal(abx_manager_update(m, NULL, NULL), ABX_E_CONFIG);
    assert_int_equal(abx_manager_update(NULL, config, NULL), ABX_E_INVALID);
    assert_int_equal(abx_manager_wrap(m, c, NULL), ABX_OK);
    assert_true(plan_has(c, "\"graceNs\":77"));
    assert_int_equal(abx_manager_close(m, 1000, NULL), ABX_OK);
    abx_config_free(config);
    assert_int_equal(abx_config_new(&config, NULL), ABX_OK);
    assert_int_equal(abx_manager_update(m, config, NULL), ABX_E_CLOSED);
    abx_config_free(config);
    abx_command_free(c);
    abx_manager_free(m);
}

static void *update_often(void *m)
{
    for (int i = 0; i < 200; i++) {
        abx_config *config = NULL;
        if (abx_config_new(&config, NULL) != ABX_OK ||
            abx_config_set_string(config, "graceSeconds", i % 2 ? "1" : "2", NULL) != ABX_OK ||
            abx_manager_update(m, config, NULL) != ABX_OK)
            abort();
        abx_config_free(config);
    }
    return NULL;
}

static void updates_and_commands_may_come_from_different_threads(void **state)
{
    abx_manager *m = NULL;
    pthread_t thread;

    (void)state;
    assert_int_equal(abx_manager_new(NULL, NULL, &m, NULL), ABX_OK);
    assert_int_equal(pthread_create(&thread, NULL, update_often, m), 0);
    for (int i = 0; i < 100; i++) {
        abx_command *c = command();
        assert_int_equal(abx_manager_wrap(m, c, NULL), ABX_OK);
        abx_command_free(c);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    abx_manager_free(m);
}

static void collect(void *user, int32_t level, const char *module, const char *text)
{
    struct buf *b = user;

    (void)module;
    if (level == ABX_NOTICE_DEBUG)
        (void)buf_printf(b, "%s\n", text);
}

static void a_trace_is_for_those_who_asked(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/.agentbox.json",
              "{ \"environment\": { \"set\": { \"K\": \"s3cret\" } } }");
    for (uint32_t flags = 0; flags <= ABX_TRACE; flags += ABX_TRACE) {
        _buf_ struct buf b = { .limit = 1 << 20 };
        abx_config *config = loaded(0, NULL);
        abx_command *c = command();
        abx_manager *m = NULL;
        abx_hooks hooks;

        (void)buf_puts(&b, "");
        abx_hooks_init(&hooks, sizeof hooks);
        hooks.flags = flags;
        hooks.notice = collect;
        hooks.user = &b;
        assert_int_equal(abx_manager_new(config, &hooks, &m, NULL), ABX_OK);
        assert_int_equal(abx_manager_wrap(m, c, NULL), ABX_OK);
        assert_int_equal(strstr(b.data, "merge: environment.set += K=") != NULL, flags != 0);
        assert_null(strstr(b.data, "s3cret"));
        abx_command_free(c);
        abx_manager_free(m);
        abx_config_free(config);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_are_told_with_their_state),
        TEST(misuse_is_refused_and_changes_nothing),
        TEST(what_calls_set_is_weaker_than_the_projects_file),
        TEST(an_update_reaches_the_next_command_only),
        TEST(a_failed_update_leaves_the_old_configuration),
        TEST(updates_and_commands_may_come_from_different_threads),
        TEST(a_trace_is_for_those_who_asked),
    };

    return cmocka_run_group_tests_name("api_config", tests, NULL, NULL);
}
