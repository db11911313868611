/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: what is taken, what is refused, and in which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "policy/settings.h"

static struct settings *new_settings(void)
{
    struct settings *s = NULL;

    assert_int_equal(settings_new(ORIGIN_CALL, &s, NULL), ABX_OK);
    return s;
}

static void expect_refused(struct settings *s, bool list, const char *key, const char *value,
                           const char *message, const char *hint)
{
    abx_error *err = NULL;
    size_t before = s->count;
    int32_t r = list ? settings_append(s, key, value, NULL, &err)
                     : settings_set(s, key, value, NULL, &err);

    assert_int_equal(r, strstr(message, "it is a") ? ABX_E_INVALID : ABX_E_CONFIG);
    if (!strstr(abx_error_message(err), message) || !strstr(abx_error_hint(err), hint))
        fail_msg("'%s' / '%s'", abx_error_message(err), abx_error_hint(err));
    assert_string_equal(abx_error_subject(err), key);
    assert_int_equal(s->count, before);
    abx_error_free(err);
}

static void unknown_keys_are_refused_with_the_nearest_name(void **state)
{
    _settings_ struct settings *s = new_settings();

    (void)state;
    expect_refused(s, true, "filesystem.rv", "x", "unknown key 'filesystem.rv'",
                   "did you mean 'filesystem.r");
    expect_refused(s, false, "network.mod", "x", "unknown key", "did you mean 'network.mode'?");
    expect_refused(s, false, "filesystem.tmpBites", "1", "unknown key",
                   "did you mean 'filesystem.tmpBytes'?");
    expect_refused(s, false, "nothing like it", "1", "unknown key", "lists all keys");
    expect_refused(s, false, "", "1", "unknown key ''", "");
    expect_refused(s, false, "Network.mode", "1", "unknown key", "did you mean 'network.mode'?");
}

static void wrong_values_are_refused_with_what_is_right(void **state)
{
    static const struct {
        bool list;
        const char *key, *value, *message, *hint;
    } table[] = {
        { false, "network.mode", "open", "set 'network.mode' to 'open'",
          "use filtered, blocked or allowed" },
        { false, "network.mode", "block", "not one of its words", "filtered, blocked or allowed" },
        { false, "profile", "cluade", "not one of its words", "did you mean claude?" },
        { false, "network.mode", "", "not one of its words", "use filtered, blocked or allowed" },
        { false, "network.mode", "filtered|blocked", "not one of its words", "use filtered" },
        { false, "allowNestedNamespaces", "yes", "not true or false", "" },
        { false, "filesystem.tmp", "shared", "not one of its words", "use private or host" },
        { false, "resourceLimits.maxMemoryBytes", "-1", "not a size such as", "no limit" },
        { false, "resourceLimits.maxMemoryBytes", "2X", "not a size such as", "" },
        { false, "resourceLimits.maxProcesses", "1e3", "not a whole number", "" },
        { false, "resourceLimits.maxMemoryBytes", "2", "less than 1M", "such as 512M or 2G" },
        { false, "resourceLimits.maxMemoryBytes", "1023K", "less than 1M", "such as 512M or 2G" },
        { false, "resourceLimits.maxProcesses", "99999999999", "from 0 to 2147483647", "" },
        { false, "graceSeconds", "soon", "not a time such as", "" },
        { false, "shell", "bash", "not an absolute path", "" },
        { false, "preset", "production", "not one of its words", "use default, development or ci" },
        { false, "fallbackPolicy", "open", "not one of its words", "use strict or warn" },
        { true, "filesystem.rw", "", "not a path or a pattern", "'.' is the working directory" },
        { true, "filesystem.exclude", "$HOME/.ssh", "not a path", "variables are not expanded" },
        { true, "filesystem.ro", "src/[a", "the pattern is not valid", "must end" },
        { true, "filesystem.presets", "@gti", "not a preset's name", "@git-strict" },
        { true, "filesystem.presets", "!!@git", "not a preset's name", "" },
        { true, "filesystem.presets", "git", "not a preset's name", "" },
        { true, "environment.set", "NAME", "not NAME=VALUE", "" },
        { true, "environment.set", "=x", "not NAME=VALUE", "" },
        { true, "environment.pass", "A=B", "not a variable's name", "" },
        { true, "environment.unset", "", "not a variable's name", "" },
        { false, "filesystem.rw", "/x", "it is a list", "append" },
        { true, "network.mode", "blocked", "it is a single value", "set it" },
    };
    _settings_ struct settings *s = new_settings();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        expect_refused(s, table[i].list, table[i].key, table[i].value, table[i].message,
                       table[i].hint);
}

static void every_spelling_of_a_right_value_is_taken(void **state)
{
    static const struct {
        bool list;
        const char *key, *value;
    } table[] = {
        { false, "network.mode", "filtered" },
        { false, "resourceLimits.maxMemoryBytes", "1.5G" },
        { false, "resourceLimits.maxMemoryBytes", "0" },
        { false, "graceSeconds", "500ms" },
        { false, "graceSeconds", "3" },
        { true, "filesystem.rw", "~/x" },
        { true, "filesystem.rw", "./$x" },
        { true, "filesystem.exclude", "**/.env" },
        { true, "filesystem.exclude", "a\nb\xff" },
        { true, "filesystem.presets", "!@lint/all" },
        { true, "environment.set", "A=" },
        { true, "environment.set", "A=b=c" },
    };
    _settings_ struct settings *s = new_settings();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        assert_int_equal(table[i].list
                             ? settings_append(s, table[i].key, table[i].value, NULL, NULL)
                             : settings_set(s, table[i].key, table[i].value, NULL, NULL),
                         ABX_OK);
    assert_int_equal(s->count, ARRAY_LEN(table));
}

static void last_set_value_counts_and_lists_keep_their_order(void **state)
{
    _settings_ struct settings *s = new_settings();

    (void)state;
    assert_null(settings_get(s, KEY_NETWORK));
    assert_int_equal(settings_set(s, "network.mode", "blocked", "--network", NULL), ABX_OK);
    assert_int_equal(settings_set(s, "network.mode", "allowed", NULL, NULL), ABX_OK);
    assert_string_equal(settings_get(s, KEY_NETWORK), "allowed");
    assert_string_equal(s->entries[0].source, "--network");
    assert_string_equal(s->entries[1].source, "network.mode");
    assert_int_equal(settings_append(s, "filesystem.rw", "a", "--rw", NULL), ABX_OK);
    assert_int_equal(settings_append(s, "filesystem.rw", "b", "--rw", NULL), ABX_OK);
    assert_string_equal(s->entries[2].value, "a");
    assert_string_equal(s->entries[3].value, "b");
}

static void the_other_ancestors_words_mean_the_same(void **state)
{
    _settings_ struct settings *s = new_settings();

    (void)state;
    assert_int_equal(settings_append(s, "filesystem.writableRoots", "a", NULL, NULL), ABX_OK);
    assert_int_equal(settings_append(s, "filesystem.denyWrite", "b", NULL, NULL), ABX_OK);
    assert_int_equal(settings_append(s, "filesystem.denyRead", "c", NULL, NULL), ABX_OK);
    assert_int_equal(s->entries[0].key, KEY_RW);
    assert_int_equal(s->entries[1].key, KEY_RO);
    assert_int_equal(s->entries[2].key, KEY_EXCLUDE);
    assert_string_equal(s->entries[2].source, "filesystem.denyRead");
}

static void copies_share_nothing(void **state)
{
    _settings_ struct settings *s = new_settings();
    _settings_ struct settings *copy = NULL;

    (void)state;
    assert_int_equal(settings_append(s, "filesystem.rw", "a", "--rw", NULL), ABX_OK);
    assert_int_equal(settings_copy(s, &copy, NULL), ABX_OK);
    s->entries[0].value[0] = 'z';
    assert_int_equal(settings_append(s, "filesystem.rw", "b", "--rw", NULL), ABX_OK);
    assert_int_equal(copy->count, 1);
    assert_string_equal(copy->entries[0].value, "a");
    assert_string_equal(copy->entries[0].source, "--rw");
    assert_int_equal(copy->origin, ORIGIN_CALL);
}

static void limits_on_length_and_number_hold(void **state)
{
    _settings_ struct settings *s = new_settings();
    char *value = malloc(SETTINGS_MAX_VALUE + 2);

    (void)state;
    assert_non_null(value);
    memset(value, 'a', SETTINGS_MAX_VALUE + 1);
    value[SETTINGS_MAX_VALUE + 1] = '\0';
    expect_refused(s, true, "filesystem.rw", value, "the value is longer than", "");
    value[SETTINGS_MAX_VALUE] = '\0';
    assert_int_equal(settings_append(s, "filesystem.rw", value, NULL, NULL), ABX_OK);
    free(value);
    while (s->count < SETTINGS_MAX_ENTRIES)
        assert_int_equal(settings_append(s, "filesystem.rw", "x", NULL, NULL), ABX_OK);
    assert_int_equal(settings_append(s, "filesystem.rw", "x", NULL, NULL), ABX_E_CONFIG);
}

static void null_is_misuse_not_a_crash(void **state)
{
    _settings_ struct settings *s = new_settings();

    (void)state;
    assert_int_equal(settings_set(s, NULL, "x", NULL, NULL), ABX_E_INVALID);
    assert_int_equal(settings_set(s, "shell", NULL, NULL, NULL), ABX_E_INVALID);
    settings_free(NULL);
}

static void schema_is_sorted_and_its_defaults_are_valid(void **state)
{
    _settings_ struct settings *s = new_settings();

    (void)state;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const struct schema_row *row = schema_row(i);
        assert_true(i == 0 || strcmp(schema_row(i - 1)->name, row->name) < 0);
        assert_true(row->help[0] != '\0');
        if (row->fallback[0])
            assert_int_equal(settings_set(s, row->name, row->fallback, NULL, NULL), ABX_OK);
    }
    assert_null(schema_row(KEY_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_keys_are_refused_with_the_nearest_name),
        cmocka_unit_test(wrong_values_are_refused_with_what_is_right),
        cmocka_unit_test(every_spelling_of_a_right_value_is_taken),
        cmocka_unit_test(last_set_value_counts_and_lists_keep_their_order),
        cmocka_unit_test(the_other_ancestors_words_mean_the_same),
        cmocka_unit_test(copies_share_nothing),
        cmocka_unit_test(limits_on_length_and_number_hold),
        cmocka_unit_test(null_is_misuse_not_a_crash),
        cmocka_unit_test(schema_is_sorted_and_its_defaults_are_valid),
    };

    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
